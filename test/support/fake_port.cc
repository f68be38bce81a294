// fake_port.cc - two containers that behave like the rings of a VM.
#include "test/support/fake_port.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "vswitch/ports/virtio/left_payload.h"

namespace weir::testing {
namespace {

constexpr std::uint8_t kScribble = 0xDD;
constexpr std::uint64_t kOffloads = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM;

}  // namespace

FakePort::~FakePort() {
    drain();
    for (rte_mbuf* frame : offered)
        rte_pktmbuf_free(frame);
}

std::optional<std::size_t> FakePort::watch(std::span<virtio::RingWatch> words) {
    if (!watched)
        return std::nullopt;
    words[0] = {&word, UINT16_MAX, word};
    return attached ? 1 : 0;
}

std::uint16_t FakePort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    ++rx_calls;
    std::uint16_t count = 0;
    while (attached && count < max) {
        if (!offered.empty()) {
            frames[count++] = offered.front();
            offered.pop_front();
        } else if (rte_mbuf* frame = source ? source() : nullptr) {
            frames[count++] = frame;
        } else {
            break;
        }
    }
    wasted_ |= ring_is_disabled_ && count != 0;
    for (std::uint16_t i = 0; leaves && i < count; ++i)
        leave_payload_of(frames[i]);
    return count;
}

/// Of one segment that asks for no offload, as in a guest's ring.
void FakePort::leave_payload_of(rte_mbuf* frame) {
    if (frame->nb_segs != 1 || frame->pkt_len < kLeftFromBytes || (frame->ol_flags & kOffloads) != 0)
        return;
    auto* rest = rte_pktmbuf_mtod_offset(frame, std::uint8_t*, kHeadBytes);
    std::vector<std::uint8_t>& payload = left_.emplace_back(rest, rest + frame->pkt_len - kHeadBytes);
    std::memset(rest, kScribble, payload.size());
    frame->data_len = kHeadBytes;
    leave_payload(frame, payload.data());
    owes_chains_ = true;
}

/// The VM writes over them: a frame that still needs one shows it.
void FakePort::return_chains() {
    for (std::vector<std::uint8_t>& payload : left_) {
        std::ranges::fill(payload, kScribble);
        returned_.push_back(std::move(payload));
    }
    left_.clear();
    owes_chains_ = false;
}

bool is_scribbled(const rte_mbuf* frame) {
    constexpr std::uint32_t kLast = 16;
    std::array<std::uint8_t, kLast> room;
    const void* last = frame->pkt_len < kLast
                           ? nullptr
                           : rte_pktmbuf_read(frame, frame->pkt_len - kLast, kLast, room.data());
    const auto* bytes = static_cast<const std::uint8_t*>(last);
    return bytes != nullptr &&
           std::all_of(bytes, bytes + kLast, [](std::uint8_t each) { return each == kScribble; });
}

std::optional<std::uint64_t> FakePort::peek_destination() {
    if (!peeks || offered.empty())
        return std::nullopt;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, rte_pktmbuf_mtod(offered.front(), const void*), 6);
    return bytes;
}

std::uint16_t FakePort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    ++tx_calls;
    std::uint16_t taken_now = 0;
    const bool takes = attached && !(full && full());
    std::uint16_t offered_now = count;
    while (takes && taken_now < offered_now && received.size() < ring_frames) {
        rte_mbuf* frame = frames[taken_now];
        if (frame->pkt_len > buffer_bytes) {
            std::rotate(frames + taken_now, frames + taken_now + 1, frames + offered_now--);
            ++too_long_;
            continue;
        }
        ++taken_now;
        straight += payload_is_left(frame);
        fetch_payload(frame);
        if (sink) {
            sink(frame);
            rte_pktmbuf_free(frame);
        } else {
            received.push_back(frame);
        }
    }
    if (taken_now < offered_now && when_full)
        when_full();
    return taken_now;
}

std::size_t FakePort::drain() {
    const std::size_t count = received.size();
    for (rte_mbuf* frame : received)
        rte_pktmbuf_free(frame);
    received.clear();
    return count;
}

}  // namespace weir::testing
