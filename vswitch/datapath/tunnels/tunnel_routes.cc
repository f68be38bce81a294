// tunnel_routes.cc - header fields with addresses, and TunnelRoutes: a list searched once per address.
#include "vswitch/datapath/tunnels/tunnel_routes.h"

#include <algorithm>

#include "common/byte_order.h"
#include "vswitch/base/limits.h"

namespace weir {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Kind = FrameEnd::Kind;
using limits::kEthernetHeaderBytes;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kArp = 0x0806;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint16_t kIpv6 = 0x86DD;

FrameEnd one4(const std::uint8_t* at) {
    return {Kind::kOne, false, std::uint64_t{be32(at)} << 32, 0};
}
FrameEnd one6(const std::uint8_t* at) {
    return {Kind::kOne, true, load_big<std::uint64_t>(at), load_big<std::uint64_t>(at + 8)};
}
constexpr FrameEnd kAll{Kind::kAll, false, 0, 0};

/// The bytes behind the Ethernet header and one tag at most, and their EtherType.
struct Packet {
    std::uint16_t type = 0;
    Bytes bytes;
};
Packet packet_in(Bytes frame) {
    if (frame.size() < kEthernetHeaderBytes)
        return {};
    std::size_t at = kEthernetHeaderBytes;
    std::uint16_t type = be16(frame.data() + 12);
    if (type == kVlan && frame.size() >= at + 4) {
        type = be16(frame.data() + at + 2);
        at += 4;
    }
    return {type, frame.subspan(at)};
}

bool is_link_local(const std::uint8_t* ip6) {
    return ip6[0] == 0xFE && (ip6[1] & 0xC0) == 0x80;
}

FrameEnd destination6(Bytes packet) {
    constexpr std::size_t kHeader = 40;
    constexpr std::size_t kTargetAt = kHeader + 8;
    constexpr std::uint8_t kIcmp6 = 58;
    constexpr std::uint8_t kSolicitation = 135;
    const std::uint8_t* to = packet.data() + 24;
    if (to[0] == 0xFF && packet.size() >= kTargetAt + 16 && packet[6] == kIcmp6 &&
        packet[kHeader] == kSolicitation && !is_link_local(packet.data() + kTargetAt))
        return one6(packet.data() + kTargetAt);
    return to[0] == 0xFF || is_link_local(to) ? kAll : one6(to);
}

}  // namespace

FrameEnd read_destination(Bytes frame) {
    const Packet packet = packet_in(frame);
    const Bytes bytes = packet.bytes;
    const bool group = !frame.empty() && (frame[0] & 1) != 0;
    if (packet.type == kIpv4 && bytes.size() >= 20 && bytes[0] >> 4 == 4)
        return group || bytes[16] >= 224 ? kAll : one4(bytes.data() + 16);
    if (packet.type == kIpv6 && bytes.size() >= 40 && bytes[0] >> 4 == 6)
        return destination6(bytes);
    if (packet.type == kArp && bytes.size() >= 28 && be16(bytes.data() + 2) == kIpv4) {
        // An announcement asks for its own address: it is for all.
        const bool announces = std::equal(bytes.begin() + 14, bytes.begin() + 18, bytes.begin() + 24);
        return announces ? kAll : one4(bytes.data() + 24);
    }
    return group && bytes.size() != 0 ? kAll : FrameEnd{};
}

FrameEnd read_source(Bytes frame) {
    const Packet packet = packet_in(frame);
    const Bytes bytes = packet.bytes;
    FrameEnd end = kAll;
    if (packet.type == kIpv4)
        end = bytes.size() >= 20 && bytes[0] >> 4 == 4 ? one4(bytes.data() + 12) : FrameEnd{};
    else if (packet.type == kArp)
        end = bytes.size() >= 28 ? one4(bytes.data() + 14) : FrameEnd{};
    else if (packet.type == kIpv6)
        end = bytes.size() < 40 || bytes[0] >> 4 != 6 ? FrameEnd{}
              : is_link_local(bytes.data() + 8)       ? kAll
                                                      : one6(bytes.data() + 8);
    return end.kind == Kind::kOne && end.high == 0 && end.low == 0 ? kAll : end;
}

void TunnelRoutes::add(const IpNetwork& network, TunnelId tunnel) {
    const auto& bytes = network.base.bytes;
    const unsigned bits = network.bits;
    const auto mask = [](unsigned set) {
        return set == 0 ? 0 : ~std::uint64_t{0} << (64 - std::min(set, 64U));
    };
    Route route{load_big<std::uint64_t>(bytes.data()),
                load_big<std::uint64_t>(bytes.data() + 8),
                mask(bits),
                mask(bits > 64 ? bits - 64 : 0),
                bits,
                network.base.v6,
                tunnel};
    const auto shorter = [&](const Route& other) { return other.bits < bits; };
    routes_.insert(std::ranges::find_if(routes_, shorter), route);
}

TunnelId TunnelRoutes::find(const FrameEnd& end) {
    if (end.kind != Kind::kOne)
        return end.kind == Kind::kAll ? kAllTunnels : kNoTunnel;
    const std::uint64_t mixed = (end.high ^ end.low * 3) * 0x9E37'79B9'7F4A'7C15;
    Cached& cached = cache_[mixed >> (64 - kCacheBits)];
    if (cached.used && cached.high == end.high && cached.low == end.low && cached.v6 == end.v6) [[likely]]
        return cached.tunnel;
    const auto holds = [&](const Route& route) {
        return route.v6 == end.v6 && ((route.high ^ end.high) & route.high_mask) == 0 &&
               ((route.low ^ end.low) & route.low_mask) == 0;
    };
    const auto found = std::ranges::find_if(routes_, holds);
    cached = {end.high, end.low, true, end.v6, found == routes_.end() ? kNoTunnel : found->tunnel};
    return cached.tunnel;
}

}  // namespace weir
