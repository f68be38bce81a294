// device.cc - bursts: simple chains are looked up and prefetched together and then copied, others one by one.
#include "vswitch/ports/virtio/device.h"

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>
#include <rte_vhost.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "vswitch/ports/virtio/checksum.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace weir::virtio {
namespace {

/// The longest frame that receive buffers of any driver have to hold: a ring whose buffers cannot is stopped.
/// A longer frame that they cannot hold is lost alone.
constexpr std::uint32_t kPlainFrameBytes = 1514;

/// Descriptors of frames in several parts that one call looks at, and those of one frame more: all that 32
/// super-frames of 20 parts have. The other frames are for the next call.
constexpr std::size_t kWalkMost = 640;

/// A chain whose buffer is one piece, prefetched.
struct Found {
    Chain chain;
    std::uint8_t* at;
};

/// One burst on one ring of one device.
template <typename R>
class Burst {
  public:
    Burst(R& ring, const Lane& lane, const Terms& terms, const GuestMemory& memory)
        : ring_(ring), lane_(lane), terms_(terms), memory_(memory) {}

    BurstResult take(rte_mempool* pool, rte_mbuf** frames, std::uint16_t most);
    BurstResult put(std::span<rte_mbuf*> frames);
    std::optional<std::uint64_t> peek_destination();

  private:
    enum class Outcome : std::uint8_t { kDone, kRefused, kNoRoom, kTooLong };

    Outcome take_one(Chain& chain, rte_mempool* pool, rte_mbuf* frame);
    Outcome put_one(rte_mbuf* frame);
    /// Chains that one frame may take at most.
    [[nodiscard]] std::size_t most_that_help() const {
        return terms_.mergeable ? RTE_MIN(Pieces::kMost, std::size_t{ring_.size()}) : 1;
    }
    std::uint16_t find_run(std::span<rte_mbuf* const> frames, Found* found);
    void write(const Found& to, rte_mbuf* frame);
    void write_offloads(std::uint8_t* to, rte_mbuf* frame);
    void write_left(std::uint8_t* to, const rte_mbuf* frame);
    void leave_payloads(std::span<const Found> found, rte_mbuf** frames);

    void use(const Chain& chain, std::uint32_t bytes) {
        const std::uint16_t position = ring_.used();
        ring_.use(chain, bytes);
        if (terms_.logs) [[unlikely]]
            log_used(position);
        used_ = true;
    }
    /// Logs, after the write, the used chain as the driver reads it. The library knows where a used ring is;
    /// of a packed ring a front-end states another page there.
    void log_used(std::uint16_t position) const {
        if constexpr (std::is_same_v<R, SplitRing>)
            rte_vhost_log_used_vring(terms_.vid, lane_.number, ring_.used_offset(position),
                                     sizeof(UsedElement));
        else
            rte_vhost_log_write(terms_.vid, ring_.guest_address(position), sizeof(PackedDescriptor));
    }
    /// Shows the driver the used chains, and logs the written bytes. @return whether it wants a notification
    bool publish() {
        const std::uint16_t first = ring_.shown();
        const bool notify = ring_.publish();
        used_ = false;
        if (terms_.logs) [[unlikely]] {
            if constexpr (std::is_same_v<R, SplitRing>)
                rte_vhost_log_used_vring(terms_.vid, lane_.number, SplitRing::kIndexOffset,
                                         sizeof(std::uint16_t));
            else
                log_used(first);
        }
        return notify;
    }
    /// Before each run of plain frames and before each other frame: all used chains can be noted then.
    void publish_if_due() {
        if (ring_.has_to_publish()) [[unlikely]]
            result_.notify |= publish();
    }
    void log(const Piece& piece, std::uint32_t bytes) const {
        if (terms_.logs) [[unlikely]]
            rte_vhost_log_write(terms_.vid, piece.address, bytes);
    }
    void finish() {
        result_.fault = ring_.fault();
        if (!used_ || result_.owes)
            return;
        result_.notify |= publish();
    }

    R& ring_;
    const Lane& lane_;
    const Terms& terms_;
    const GuestMemory& memory_;
    BurstResult result_;
    std::uint16_t left_ = 0;  ///< chains that are ready
    std::size_t walked_ = 0;  ///< descriptors of frames in several parts
    bool used_ = false;
};

/// The header of a frame, whose last field the device does not read.
NetHeader read_header(const std::uint8_t* at) {
    before_read();
    NetHeader header{};
    std::memcpy(&header, at, kShortNetHeaderBytes);
    asm volatile("" : "+m"(header));
    return header;
}

/// The header of a frame that is to be sent as it is.
constexpr NetHeader kPlainHeader{0, segmentation::kNone, 0, 0, 0, 0, 1};

/// Writes a header where other bytes stand. The same bytes are left alone: their line stays in the caches of
/// both cores. A driver that changes its buffer meanwhile finds its own bytes there.
template <std::uint32_t kBytes>
[[gnu::always_inline]] inline void write_header(std::uint8_t* at, const NetHeader& header) {
    before_read();
    if (std::memcmp(at, &header, kBytes) != 0) [[unlikely]]
        std::memcpy(at, &header, kBytes);
}

/// Goes along pieces from the front.
class Cursor {
  public:
    explicit Cursor(std::span<const Piece> pieces) : pieces_(pieces) {}

    /// Calls `move(piece, bytes)` for each part of the next `bytes` bytes, which are there.
    template <typename Move>
    void next(std::uint32_t bytes, Move move) {
        while (bytes != 0) {
            const Piece& piece = pieces_.front();
            const std::uint32_t part = RTE_MIN(bytes, piece.bytes - done_);
            move(Piece{piece.at + done_, part, piece.address + done_});
            bytes -= part;
            done_ += part;
            if (done_ == piece.bytes) {
                pieces_ = pieces_.subspan(1);
                done_ = 0;
            }
        }
    }

  private:
    std::span<const Piece> pieces_;
    std::uint32_t done_ = 0;
};

/// Chains buffers until there is room for `bytes`. @return false when the pool is empty
bool extend(rte_mbuf* frame, rte_mempool* pool, std::uint32_t bytes) {
    const std::uint32_t room = rte_pktmbuf_tailroom(frame);
    rte_mbuf* last = frame;
    for (; bytes > room; bytes -= room) {
        last->data_len = static_cast<std::uint16_t>(room);
        rte_mbuf* further = rte_pktmbuf_alloc(pool);
        if (further == nullptr)
            return false;
        last->next = further;
        last = further;
        ++frame->nb_segs;
    }
    last->data_len = static_cast<std::uint16_t>(bytes);
    return true;
}

/// Without buffers besides its own.
void shorten(rte_mbuf* frame) {
    rte_pktmbuf_free(frame->next);
    frame->next = nullptr;
    frame->nb_segs = 1;
}

template <typename R>
auto Burst<R>::take_one(Chain& chain, rte_mempool* pool, rte_mbuf* frame) -> Outcome {
    Pieces pieces;
    const bool whole = ring_.collect(chain, 0, memory_, pieces);
    walked_ += pieces.walked();
    if (!whole || pieces.bytes() <= terms_.header_bytes ||
        pieces.bytes() - terms_.header_bytes >
            std::uint64_t{limits::kFrameBuffersMax} * rte_pktmbuf_tailroom(frame))
        return Outcome::kRefused;
    const auto bytes = static_cast<std::uint32_t>(pieces.bytes() - terms_.header_bytes);
    if (!extend(frame, pool, bytes)) {
        shorten(frame);
        return Outcome::kNoRoom;
    }
    Cursor cursor(pieces.all());
    std::array<std::uint8_t, kNetHeaderBytes> head;
    std::uint8_t* to = head.data();
    const auto copy = [&to](const Piece& part) {
        rte_memcpy(to, part.at, part.bytes);
        to += part.bytes;
    };
    cursor.next(terms_.header_bytes, copy);
    for (rte_mbuf* part = frame; part != nullptr; part = part->next) {
        to = rte_pktmbuf_mtod(part, std::uint8_t*);
        cursor.next(part->data_len, copy);
    }
    frame->pkt_len = bytes;
    const NetHeader header = read_header(head.data());
    if (!is_plain(header))
        apply(header, terms_.rights, frame);
    return Outcome::kDone;
}

/// Moves the frames that have bytes to the front, in order. @return how many there are
std::uint16_t gather(rte_mbuf** frames, std::uint16_t count) {
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < count; ++i)
        if (frames[i]->pkt_len != 0)
            std::swap(frames[kept++], frames[i]);
    return kept;
}

/// Notes where the payloads of frames are of which the head alone was copied.
template <typename R>
[[gnu::noinline]] void Burst<R>::leave_payloads(std::span<const Found> found, rte_mbuf** frames) {
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].at != nullptr && payload_is_left(frames[i]))
            leave_payload(frames[i], found[i].at + terms_.header_bytes + kHeadBytes);
    result_.owes = true;
}

template <typename R>
BurstResult Burst<R>::take(rte_mempool* pool, rte_mbuf** frames, std::uint16_t most) {
    const std::uint16_t ready = ring_.bound(ring_.ready(most));
    if (ready == 0 || rte_pktmbuf_alloc_bulk(pool, frames, ready) != 0) {
        result_.fault = ring_.fault();
        return result_;
    }
    if constexpr (R::kCountsReady)
        ring_.prefetch_chains(ready);
    const std::uint32_t header = terms_.header_bytes;
    const std::uint32_t room = rte_pktmbuf_tailroom(frames[0]);
    std::array<Found, limits::kBurst> found;
    const std::uint32_t left_from = terms_.logs || terms_.copies_payloads ? UINT32_MAX : kLeftFromBytes;
    bool any_left = false;
    std::uint16_t count = 0;
    for (; count < ready && walked_ < kWalkMost; ++count) {
        Found& one = found[count];
        if (!ring_.peek(one.chain))
            break;
        one.at = one.chain.simple(0) && one.chain.bytes > header && one.chain.bytes - header <= room
                     ? memory_.find(one.chain.address, one.chain.bytes)
                     : nullptr;
        if (one.at != nullptr) [[likely]] {
            rte_prefetch0(one.at);
            rte_prefetch0(one.at + header);  // drivers end the header at a cache line's end
        } else {
            const Outcome outcome = take_one(one.chain, pool, frames[count]);
            if (outcome == Outcome::kNoRoom)
                break;
            result_.refused = static_cast<std::uint16_t>(result_.refused + (outcome == Outcome::kRefused));
        }
        ring_.advance(one.chain);
    }
    for (std::uint16_t i = 0; i < count; ++i) {
        const Found& one = found[i];
        rte_mbuf* frame = frames[i];
        if (one.at != nullptr) [[likely]] {
            const std::uint32_t bytes = one.chain.bytes - header;
            std::uint32_t copied = bytes >= left_from ? kHeadBytes : bytes;
            rte_memcpy(rte_pktmbuf_mtod(frame, void*), one.at + header, copied);
            const NetHeader wishes = read_header(one.at);
            if (!is_plain(wishes) && copied != bytes) {
                rte_memcpy(rte_pktmbuf_mtod(frame, void*), one.at + header, bytes);
                copied = bytes;
            }
            frame->pkt_len = bytes;
            frame->data_len = static_cast<std::uint16_t>(copied);
            any_left |= copied != bytes;
            if (!is_plain(wishes))
                apply(wishes, terms_.rights, frame);
        }
        use(one.chain, 0);
    }
    if (any_left)
        leave_payloads(std::span(found).first(count), frames);
    result_.frames = count;
    if (result_.refused != 0) [[unlikely]]
        result_.frames = gather(frames, count);
    if (result_.frames != ready)
        rte_pktmbuf_free_bulk(frames + result_.frames, static_cast<unsigned>(ready - result_.frames));
    finish();
    return result_;
}

/// Simple chains for as many frames of one buffer as follow each other, at most.
template <typename R>
std::uint16_t Burst<R>::find_run(std::span<rte_mbuf* const> frames, Found* found) {
    const auto most = static_cast<std::uint16_t>(RTE_MIN(frames.size(), std::size_t{left_}));
    std::uint16_t count = 0;
    for (; count < most; ++count) {
        Found& one = found[count];
        const rte_mbuf* frame = frames[count];
        const std::uint32_t bytes = frame->pkt_len + terms_.header_bytes;
        if (frame->nb_segs != 1 || !ring_.peek(one.chain) || !one.chain.simple(descriptor_flag::kWrite) ||
            one.chain.bytes < bytes)
            break;
        one.at = memory_.find(one.chain.address, bytes);
        if (one.at == nullptr)
            break;
        prefetch_receive_buffer(one.at, terms_.header_bytes);
        ring_.advance(one.chain);
    }
    left_ = static_cast<std::uint16_t>(left_ - count);
    return count;
}

/// The payload of a frame, out of its sender's memory. The C library copies more than 16 bytes at once.
template <typename R>
[[gnu::noinline]] void Burst<R>::write_left(std::uint8_t* to, const rte_mbuf* frame) {
    std::memcpy(to, left_payload(frame), frame->pkt_len - frame->data_len);
    ++result_.straight;
}

template <typename R>
[[gnu::noinline]] void Burst<R>::write_offloads(std::uint8_t* to, rte_mbuf* frame) {
    const NetHeader header = header_of(frame);
    std::memcpy(to, &header, terms_.header_bytes);
}

template <typename R>
void Burst<R>::write(const Found& to, rte_mbuf* frame) {
    const std::uint32_t header_bytes = terms_.header_bytes;
    if ((frame->ol_flags & kOffloadFlags) != 0) [[unlikely]]
        write_offloads(to.at, frame);
    else if (header_bytes == kNetHeaderBytes) [[likely]]
        write_header<kNetHeaderBytes>(to.at, kPlainHeader);
    else
        write_header<kShortNetHeaderBytes>(to.at, kPlainHeader);
    rte_memcpy(to.at + header_bytes, rte_pktmbuf_mtod(frame, const void*), frame->data_len);
    if (frame->pkt_len != frame->data_len)
        write_left(to.at + header_bytes + frame->data_len, frame);
    log({to.at, 0, to.chain.address}, frame->pkt_len + header_bytes);
    use(to.chain, frame->pkt_len + header_bytes);
}

/// A frame, or a chain, of several parts. @return kDone; kNoRoom: more buffers may come; kTooLong: a chain
/// alone, or with mergeable buffers the whole ring, does not hold it
template <typename R>
auto Burst<R>::put_one(rte_mbuf* frame) -> Outcome {
    struct Taken {
        Chain chain;
        std::uint32_t bytes;
    };
    fetch_payload(frame);
    std::array<Taken, Pieces::kMost> chains;
    std::size_t count = 0;
    Pieces pieces;
    std::uint32_t left = frame->pkt_len + terms_.header_bytes;
    const std::size_t most = RTE_MIN(most_that_help(), std::size_t{left_});
    while (pieces.bytes() < left && count < most && ring_.peek(chains[count].chain)) {
        const std::uint64_t before = pieces.bytes();
        const bool whole = ring_.collect(chains[count].chain, descriptor_flag::kWrite, memory_, pieces);
        if (!whole || pieces.bytes() == before) {
            if (!pieces.full())
                ring_.stop(RingFault::kReceive);
            break;
        }
        chains[count].bytes =
            static_cast<std::uint32_t>(RTE_MIN(pieces.bytes() - before, std::uint64_t{UINT32_MAX}));
        ring_.advance(chains[count++].chain);
    }
    walked_ += pieces.walked();
    const std::size_t plain = 1 + frame->pkt_len / kPlainFrameBytes;
    result_.excess += static_cast<std::uint32_t>(pieces.walked() - RTE_MIN(plain, pieces.walked()));
    if (pieces.bytes() < left || ring_.fault() != RingFault::kNone) {
        const bool too_long =
            ring_.fault() == RingFault::kNone && (pieces.full() || count == most_that_help());
        if (too_long && frame->pkt_len <= kPlainFrameBytes)
            ring_.stop(RingFault::kShort);
        while (count != 0)
            ring_.retreat(chains[--count].chain);
        return too_long && ring_.fault() == RingFault::kNone ? Outcome::kTooLong : Outcome::kNoRoom;
    }
    NetHeader header = header_of(frame);
    header.buffers = static_cast<std::uint16_t>(count);
    Cursor cursor(pieces.all());
    const auto* from = reinterpret_cast<const std::uint8_t*>(&header);
    const auto copy = [&](const Piece& part) {
        rte_memcpy(part.at, from, part.bytes);
        log(part, part.bytes);
        from += part.bytes;
    };
    cursor.next(terms_.header_bytes, copy);
    for (const rte_mbuf* part = frame; part != nullptr; part = part->next) {
        from = rte_pktmbuf_mtod(part, const std::uint8_t*);
        cursor.next(part->data_len, copy);
    }
    for (std::size_t i = 0; i < count; ++i) {
        chains[i].bytes = RTE_MIN(chains[i].bytes, left);
        left -= chains[i].bytes;
        ring_.announce(chains[i].chain, chains[i].bytes);
    }
    ring_.commit();
    for (std::size_t i = 0; i < count; ++i)
        use(chains[i].chain, chains[i].bytes);
    left_ = static_cast<std::uint16_t>(left_ - count);
    return Outcome::kDone;
}

template <typename R>
BurstResult Burst<R>::put(std::span<rte_mbuf*> frames) {
    left_ = ring_.ready(ring_.size());
    ring_.prefetch_chains(static_cast<std::uint16_t>(RTE_MIN(frames.size(), std::size_t{left_})));
    std::array<Found, limits::kBurst> found;
    while (left_ != 0 && result_.frames < frames.size() && walked_ < kWalkMost) {
        publish_if_due();
        const auto rest = frames.subspan(result_.frames);
        const std::uint16_t run = find_run(rest, found.data());
        for (std::uint16_t i = 0; i < run; ++i)
            write(found[i], rest[i]);
        result_.frames = static_cast<std::uint16_t>(result_.frames + run);
        if (run == rest.size() || left_ == 0)
            break;
        publish_if_due();
        const Outcome outcome = put_one(rest[run]);
        if (outcome == Outcome::kNoRoom)
            break;
        if (outcome == Outcome::kDone) {
            ++result_.frames;
            continue;
        }
        const auto at = rest.begin() + run;
        std::rotate(at, at + 1, rest.end());
        frames = frames.first(frames.size() - 1);
        ++result_.too_long;
    }
    finish();
    return result_;
}

template <typename R>
std::optional<std::uint64_t> Burst<R>::peek_destination() {
    constexpr std::uint32_t kMacBytes = 6;
    Chain chain;
    Pieces pieces;
    if (ring_.ready(1) == 0 || !ring_.peek(chain) || !ring_.collect(chain, 0, memory_, pieces) ||
        pieces.bytes() < terms_.header_bytes + kMacBytes)
        return std::nullopt;
    Cursor cursor(pieces.all());
    cursor.next(terms_.header_bytes, [](const Piece&) {});
    std::array<std::uint8_t, sizeof(std::uint64_t)> mac{};
    std::uint8_t* to = mac.data();
    cursor.next(kMacBytes, [&to](const Piece& part) {
        std::memcpy(to, part.at, part.bytes);
        to += part.bytes;
    });
    std::uint64_t destination = 0;
    std::memcpy(&destination, mac.data(), sizeof(destination));
    return destination;
}

}  // namespace

std::optional<std::uint64_t> peek_destination(Lane& lane, const Terms& terms, const GuestMemory& memory) {
    if (auto* split = std::get_if<SplitRing>(&lane.ring)) [[likely]]
        return Burst(*split, lane, terms, memory).peek_destination();
    return Burst(*std::get_if<PackedRing>(&lane.ring), lane, terms, memory).peek_destination();
}

BurstResult take(Lane& lane, const Terms& terms, const GuestMemory& memory, rte_mempool* pool,
                 rte_mbuf** frames, std::uint16_t most) {
    if (auto* split = std::get_if<SplitRing>(&lane.ring)) [[likely]]
        return Burst(*split, lane, terms, memory).take(pool, frames, most);
    return Burst(*std::get_if<PackedRing>(&lane.ring), lane, terms, memory).take(pool, frames, most);
}

BurstResult show_used(Lane& lane) {
    return std::visit([](auto& ring) { return BurstResult{.notify = ring.publish(), .fault = ring.fault()}; },
                      lane.ring);
}

BurstResult put(Lane& lane, const Terms& terms, const GuestMemory& memory, std::span<rte_mbuf*> frames) {
    if (auto* split = std::get_if<SplitRing>(&lane.ring)) [[likely]]
        return Burst(*split, lane, terms, memory).put(frames);
    return Burst(*std::get_if<PackedRing>(&lane.ring), lane, terms, memory).put(frames);
}

}  // namespace weir::virtio
