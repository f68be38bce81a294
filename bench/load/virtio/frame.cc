// frame.cc - a whole frame of the generator, built once per buffer.
#include "bench/load/virtio/frame.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

namespace weir::load {

namespace {

void build_ip_udp(std::uint8_t* at, std::uint16_t ip_bytes) {
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = rte_cpu_to_be_16(ip_bytes);
    ip.time_to_live = 64;
    ip.next_proto_id = IPPROTO_UDP;
    ip.src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 1));
    ip.dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 2));
    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    std::memcpy(at, &ip, sizeof ip);

    rte_udp_hdr udp{};  // checksum 0 means none, so that ports can be changed in a finished frame
    udp.src_port = rte_cpu_to_be_16(kUdpPortFirst);
    udp.dst_port = rte_cpu_to_be_16(9);
    udp.dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(ip_bytes - sizeof ip));
    std::memcpy(at + sizeof ip, &udp, sizeof udp);
}

}  // namespace

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
    const std::uint16_t ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
    std::memcpy(type, &ether_type, sizeof ether_type);
    build_ip_udp(frame + l2_bytes(tagged), static_cast<std::uint16_t>(spec.size - l2_bytes(tagged)));
    const Stamp stamp{kStampMagic, stream_id, 0};
    std::memcpy(frame + stamp_offset(tagged), &stamp, sizeof stamp);
}

}  // namespace weir::load
