// frame.cc - a whole frame of the generator, built once per buffer.
#include "bench/load/virtio/frame.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <algorithm>

namespace weir::load {

namespace {

constexpr std::uint16_t kDiscardPort = 9;
constexpr std::uint8_t kDestinationOptions = 60;  // an extension header that every host passes over

void write_type(std::uint8_t* at, std::uint16_t type) {
    const std::uint16_t big = rte_cpu_to_be_16(type);
    std::memcpy(at, &big, sizeof big);
}

/// UDP of `bytes`, header included, with ports that can be changed in a finished frame: checksum 0 is none.
void build_udp(std::uint8_t* at, std::uint16_t bytes) {
    rte_udp_hdr udp{};
    udp.src_port = rte_cpu_to_be_16(kUdpPortFirst);
    udp.dst_port = rte_cpu_to_be_16(kDiscardPort);
    udp.dgram_len = rte_cpu_to_be_16(bytes);
    std::memcpy(at, &udp, sizeof udp);
}

void build_ip4_udp(std::uint8_t* at, std::uint16_t ip_bytes, std::uint32_t source) {
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = rte_cpu_to_be_16(ip_bytes);
    ip.time_to_live = 64;
    ip.next_proto_id = IPPROTO_UDP;
    ip.dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 2));
    std::memcpy(at, &ip, sizeof ip);
    write_source(at, source);
    build_udp(at + sizeof ip, static_cast<std::uint16_t>(ip_bytes - sizeof ip));
}

/// Extension headers of equal length, as long as the frame allows, then UDP over the rest.
void build_ip6_extensions(std::uint8_t* at, std::uint16_t ip_bytes, const StreamSpec& spec) {
    constexpr std::uint16_t kLongest = 256 * kExtensionUnit;
    const auto payload = static_cast<std::uint16_t>(ip_bytes - kIp6Bytes);
    const auto each =
        std::min<std::uint16_t>(kLongest, static_cast<std::uint16_t>((payload - kUdpBytes) / spec.extensions /
                                                                     kExtensionUnit * kExtensionUnit));
    rte_ipv6_hdr ip{};
    ip.vtc_flow = rte_cpu_to_be_32(6U << 28);
    ip.payload_len = rte_cpu_to_be_16(payload);
    ip.proto = kDestinationOptions;
    ip.hop_limits = 64;
    const std::uint8_t network[4] = {0x20, 0x01, 0x0D, 0xB8};  // 2001:db8::/32
    const std::uint32_t source = rte_cpu_to_be_32(spec.src_ip);
    auto* const from = reinterpret_cast<std::uint8_t*>(&ip.src_addr);
    auto* const to = reinterpret_cast<std::uint8_t*>(&ip.dst_addr);
    std::memcpy(from, network, sizeof network);
    std::memcpy(from + 12, &source, sizeof source);
    std::memcpy(to, network, sizeof network);
    std::memcpy(at, &ip, sizeof ip);
    at += sizeof ip;
    for (std::uint16_t number = 1; number <= spec.extensions; ++number, at += each) {
        at[0] = number < spec.extensions ? kDestinationOptions : std::uint8_t{IPPROTO_UDP};
        at[1] = static_cast<std::uint8_t>(each / kExtensionUnit -
                                          1);  // its options are zeros: one byte of padding each
    }
    build_udp(at, static_cast<std::uint16_t>(payload - spec.extensions * each));
}

}  // namespace

void write_source(std::uint8_t* ip, std::uint32_t address) {
    rte_ipv4_hdr header;
    std::memcpy(&header, ip, sizeof header);
    header.src_addr = rte_cpu_to_be_32(address);
    header.hdr_checksum = 0;
    header.hdr_checksum = rte_ipv4_cksum(&header);
    std::memcpy(ip, &header, sizeof header);
}

void build_frame(std::uint8_t* frame, const StreamSpec& spec, std::uint32_t stream_id, const Mac& from,
                 const Mac& to) {
    const bool tagged = spec.vlan != 0;
    std::memset(frame, 0, spec.size);
    write_mac(frame, to, 0);
    write_mac(frame + kMacBytes, from, 0);
    std::uint8_t* type = frame + 2 * kMacBytes;
    if (tagged) {
        const std::uint16_t tag[2] = {rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(spec.vlan)};
        std::memcpy(type, tag, sizeof tag);
        type += sizeof tag;
    }
    write_type(type, spec.extensions != 0 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
    std::uint8_t* const ip = frame + l2_bytes(tagged);
    const auto ip_bytes = static_cast<std::uint16_t>(spec.size - l2_bytes(tagged));
    if (spec.extensions != 0)
        return build_ip6_extensions(ip, ip_bytes, spec);
    build_ip4_udp(ip, ip_bytes, spec.src_ip);
    const Stamp stamp{kStampMagic, stream_id, 0};
    std::memcpy(frame + stamp_offset(tagged), &stamp, sizeof stamp);
}

}  // namespace weir::load
