// tunnel_path.cc - TunnelPath: ESP headers, SPIs to SAs, bursts to the crypto engines.
#include "vswitch/datapath/tunnels/tunnel_path.h"

#include <rte_ether.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/byte_order.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/frame_word.h"
#include "vswitch/esp/key_agreement.h"

namespace weir {
namespace {

constexpr std::uint8_t kEsp = 50;
constexpr std::uint32_t kLeast4 = kEspFrontBytes + 20 + kEspHeaderBytes;
constexpr std::uint32_t kLeast6 = kEspFrontBytes + 40 + kEspHeaderBytes;

/// 4, 6, or 0 when the frame is no ESP.
unsigned family(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < kLeast4)
        return 0;
    if (bytes[12] == 0x08 && bytes[13] == 0x00)
        return bytes[14] >> 4 == 4 && bytes[23] == kEsp ? 4 : 0;
    if (bytes[12] == 0x86 && bytes[13] == 0xDD)
        return bytes.size() >= kLeast6 && bytes[14] >> 4 == 6 && bytes[20] == kEsp ? 6 : 0;
    return 0;
}

/// The frames of a burst by SA: chains of indices, in the order of their first frames. A table twice as large
/// as the burst finds the chain of an SA, so that 32 frames of 32 SAs cost 32 look-ups, not 32 walks over the
/// burst.
struct SaChains {
    static constexpr std::uint16_t kNone = UINT16_MAX;
    static constexpr unsigned kPlaceBits = 6;
    static_assert((1U << kPlaceBits) >= 2 * limits::kBurst);

    SaChains() { chain_at.fill(kNone); }

    void add(std::uint16_t index, const EspSa* sa) {
        next[index] = kNone;
        constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;
        std::size_t place = reinterpret_cast<std::uintptr_t>(sa) * kGolden >> (64 - kPlaceBits);
        while (chain_at[place] != kNone && owner[chain_at[place]] != sa)
            place = (place + 1) % chain_at.size();
        if (const std::uint16_t chain = chain_at[place]; chain != kNone) {
            next[last[chain]] = index;
            last[chain] = index;
            return;
        }
        chain_at[place] = count;
        owner[count] = sa;
        first[count] = index;
        last[count++] = index;
    }

    std::uint16_t count = 0;
    std::array<const EspSa*, limits::kBurst> owner;
    std::array<std::uint16_t, limits::kBurst> first;
    std::array<std::uint16_t, limits::kBurst> last;
    std::array<std::uint16_t, limits::kBurst> next;
    std::array<std::uint16_t, 1U << kPlaceBits> chain_at;
};

}  // namespace

TunnelPath::TunnelPath(Setup setup)
    : stats(setup.tunnels.size()), setup_(std::move(setup)), sides_(setup_.tunnels.size()) {
    for (std::size_t i = 0; i < setup_.tunnels.size(); ++i) {
        for (const IpNetwork& network : setup_.tunnels[i].networks)
            routes_.add(network, static_cast<TunnelId>(i));
        least_tokens_ = std::min(least_tokens_, tokens(static_cast<TunnelId>(i), RTE_ETHER_MIN_LEN));
    }
    least_tokens_ = std::max(least_tokens_, 1U);
}

void TunnelPath::receive_with(TunnelId tunnel, const EspSession* session) {
    auto& in = sides_[tunnel].in;
    std::shift_right(in.begin(), in.end(), 1);
    in[0] = session;
}

TunnelId TunnelPath::route(const rte_mbuf* frame) {
    return routes_.find(read_destination(first_buffer(frame)));
}

bool TunnelPath::source_fits(TunnelId tunnel, const rte_mbuf* frame) {
    const TunnelId found = routes_.find(read_source(first_buffer(frame)));
    return found == tunnel || found == kAllTunnels;
}

void TunnelPath::encrypt(TunnelId tunnel, std::span<rte_mbuf*> frames, EspOutcomes& outcomes) {
    setup_.engines[tunnel]->encrypt(*sides_[tunnel].out->out[setup_.worker], frames, outcomes);
}

bool TunnelPath::claims(const rte_mbuf* frame) const {
    const std::span<const std::uint8_t> bytes = first_buffer(frame);
    const unsigned version = family(bytes);
    if (version == 0) [[likely]]
        return false;
    const std::uint8_t* to = bytes.data() + (version == 4 ? 30 : 38);
    const std::size_t length = version == 4 ? 4 : 16;
    return std::ranges::any_of(setup_.tunnels, [&](const TunnelEnd& end) {
        return end.v6 == (version == 6) && std::memcmp(end.local.data(), to, length) == 0;
    });
}

TunnelPath::Found TunnelPath::find(const rte_mbuf* frame) const {
    const std::span<const std::uint8_t> bytes = first_buffer(frame);
    const bool v6 = family(bytes) == 6;
    const std::uint8_t* at = bytes.data() + (v6 ? kLeast6 : kLeast4) - kEspHeaderBytes;
    const std::uint32_t spi = be32(at);
    const auto mine = std::ranges::find_if(setup_.tunnels, [&](const TunnelEnd& end) {
        return end.v6 == v6 && end.spi_in == (spi & ~kSpiLowMask);
    });
    if (mine == setup_.tunnels.end())
        return {};
    Found found;
    const auto tunnel = static_cast<TunnelId>(mine - setup_.tunnels.begin());
    if ((spi & kSpiMessage) == kSpiMessage) {
        found.tunnel = tunnel;
        found.message = true;
        return found;
    }
    const std::uint32_t sender = spi & kSpiWorkerMask;
    const std::uint32_t tag = (spi & kSpiLowMask) >> kSpiTagShift;
    const auto& in = sides_[tunnel].in;
    const auto session = std::ranges::find_if(
        in, [tag](const EspSession* each) { return each != nullptr && each->tag == tag; });
    if (session == in.end() || sender >= (*session)->in.size())
        return found;
    found.tunnel = tunnel;
    found.sa = (*session)->in[sender].get();
    found.owner = static_cast<WorkerId>(sender % setup_.inboxes.size());
    return found;
}

void TunnelPath::receive(const EspBurst& burst, DirectionStats& rx, ClearBurst& clear) {
    EspBurst own;
    std::array<Found, limits::kBurst> own_found;
    for (std::uint16_t i = 0; i < burst.count; ++i) {
        rte_mbuf* frame = burst.frames[i];
        const std::uint32_t bytes = burst.bytes[i];
        const Found found = find(frame);
        DropReason refused = DropReason::kCount;
        if (found.tunnel == kNoTunnel) {
            refused = DropReason::kEspUnknownSpi;
        } else if (found.message) {
            if (key_messages.push({frame, found.tunnel}))
                ++stats[found.tunnel].key_messages;
            else
                refused = DropReason::kQueueFull;
        } else if (found.owner == setup_.worker) {
            own_found[own.count] = found;
            own.add(frame, bytes);
        } else {
            FrameWord{.destination = found.tunnel, .origin = FrameOrigin::kTunnel}.write_to(frame);
            if (setup_.inboxes[found.owner]->post(&frame, 1) != 1)
                refused = DropReason::kWorkerRingFull;
        }
        if (refused == DropReason::kCount) {
            rx.delivered.add(1, bytes);
        } else {
            setup_.tap.drop(rx, CapturePoint::from_wire(), frame, bytes, refused);
        }
    }
    decrypt(own, own_found.data(), clear);
}

unsigned TunnelPath::decrypt(const EspBurst& burst, ClearBurst& clear) {
    EspBurst own;
    std::array<Found, limits::kBurst> own_found;
    for (std::uint16_t i = 0; i < burst.count; ++i) {
        const Found found = find(burst.frames[i]);
        if (found.sa == nullptr) {
            rte_pktmbuf_free(burst.frames[i]);
            continue;
        }
        own_found[own.count] = found;
        own.add(burst.frames[i], burst.bytes[i]);
    }
    const unsigned lost = burst.count - own.count;
    decrypt(own, own_found.data(), clear);
    return lost;
}

/// One call to the engine for all frames of an SA. @param found one for each frame, each with an SA
void TunnelPath::decrypt(const EspBurst& burst, const Found* found, ClearBurst& clear) {
    SaChains chains;
    for (std::uint16_t i = 0; i < burst.count; ++i)
        chains.add(i, found[i].sa);
    for (std::uint16_t chain = 0; chain < chains.count; ++chain) {
        const Found& one = found[chains.first[chain]];
        std::array<rte_mbuf*, kCryptoBurst> frames;
        std::array<std::uint32_t, kCryptoBurst> bytes;
        std::uint16_t count = 0;
        for (std::uint16_t i = chains.first[chain]; i != SaChains::kNone; i = chains.next[i]) {
            bytes[count] = burst.bytes[i];
            frames[count++] = burst.frames[i];
        }
        EspOutcomes outcomes;
        setup_.engines[one.tunnel]->decrypt(*one.sa, std::span(frames).first(count), outcomes);
        DirectionStats& in = stats[one.tunnel].in;
        for (std::uint16_t i = 0; i < count; ++i) {
            in.offered.add(1, bytes[i]);
            if (outcomes[i] == EspOutcome::kDone) {
                clear.add(frames[i], bytes[i], one.tunnel);
            } else {
                setup_.tap.drop(in, CapturePoint::from_wire(), frames[i], bytes[i], reason_of(outcomes[i]));
            }
        }
    }
}

DropReason reason_of(EspOutcome outcome) {
    switch (outcome) {
        case EspOutcome::kMalformed:
            return DropReason::kEspMalformed;
        case EspOutcome::kReplayed:
            return DropReason::kEspReplayed;
        case EspOutcome::kBadTag:
            return DropReason::kEspBadTag;
        case EspOutcome::kNoBuffer:
            return DropReason::kNoBuffer;
        case EspOutcome::kTooLong:
            return DropReason::kMtuExceeded;
        case EspOutcome::kDone:
        case EspOutcome::kFailed:
            break;
    }
    return DropReason::kEspFailed;
}

}  // namespace weir
