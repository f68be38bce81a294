// random_plan.cc - RandomPlan: values at their bounds as often as between them.
#include "test/vswitch/datapath/loop/random_plan.h"

#include <rte_mbuf.h>

#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/offload.h"

namespace weir::testing {
namespace {

constexpr unsigned kTapAddresses = 0x20;   // behind vNICs that may use any address
constexpr unsigned kWireAddresses = 0x90;  // the same hosts in every VLAN
constexpr unsigned kUnknownAddress = 0x60;
constexpr std::uint64_t kMulticast = 0x0100'005E'0001;  // the low byte is the first: 01:00:5e:00:00:01
constexpr std::uint64_t kReserved = 0x0E00'00C2'8001;
constexpr std::uint64_t kPlanOffloads[]{RTE_MBUF_F_TX_TCP_SEG,   RTE_MBUF_F_TX_IP_CKSUM,
                                        RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM,
                                        RTE_MBUF_F_TX_IPV4,      RTE_MBUF_F_TX_IPV6};
constexpr std::size_t kPayloadMin = 6;
constexpr std::size_t kPayloadHeaders = 40;
constexpr std::size_t kBuffersMost = 32;
constexpr std::size_t kPieceMin = 20;  // an Ethernet header is in one buffer

}  // namespace

SwitchConfig RandomPlan::switch_config() {
    SwitchConfig config;
    config.workers = one_in(2) ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 2};
    config.isolation = !one_in(5);
    config.accounting = one_in(4) ? Accounting::kL2 : Accounting::kWire;
    config.uplink.rate_bps = of<std::uint64_t>({100'000'000, 1'000'000'000, 10'000'000'000});
    config.uplink.mtu = of<std::uint32_t>({1500, 1500, 9000});
    config.uplink.scheduler = &kSchedulers[pick(static_cast<unsigned>(kSchedulers.size()))];
    config.flood_limit_pps = of<std::uint64_t>({200, 20'000, 1'000'000});
    config.feedback.enabled = one_in(2);
    if (one_in(2)) {
        ApplianceConfig& appliance = config.appliances.emplace_back();
        appliance.name = kPlanAppliance;
        appliance.address = "10.9.9.9";
        appliance.port = 11211;
    }
    if (one_in(4))
        config.uplink.best_effort_dscp = static_cast<std::uint8_t>(pick(64));
    if (one_in(4))
        config.uplink.best_effort_pcp = static_cast<std::uint8_t>(pick(8));
    return config;
}

VnicConfig RandomPlan::vnic(unsigned n, const SwitchConfig& config, bool tunnels) {
    VnicConfig vnic = vm(n);
    vnic.vlan = kPlanVlans[one_in(3) ? pick(3) : 0];
    vnic.worker = static_cast<std::uint16_t>(pick(static_cast<unsigned>(config.workers.size())));
    vnic.anti_spoofing = !one_in(4);
    vnic.mtu = of<std::uint32_t>({0, 1500, 1500, 600, 9000});
    vnic.tso = one_in(2);
    vnic.checksum = vnic.tso || one_in(2);
    vnic.encrypt = tunnels && one_in(3);
    if (one_in(3))
        vnic.addresses.push_back(*IpNetwork::parse(RandomOracle::kSources));
    if (!vnic.addresses.empty() && one_in(3))
        vnic.dhcp = one_in(2) ? DhcpRole::kClient : DhcpRole::kServer;
    change_promises(vnic, config);
    return vnic;
}

void RandomPlan::change_promises(VnicConfig& vnic, const SwitchConfig& config) {
    vnic.reservation_bps = pick(3) * 100'000'000;
    vnic.reservation_pps = one_in(4) ? 10'000 : 0;
    vnic.shares = 1 + pick(1000);
    vnic.cycle_shares = 1 + pick(1000);
    vnic.buffers = of<std::uint32_t>({0, 64, limits::kVnicBuffersMin, 1000, limits::kVnicBuffers});
    vnic.limit_bps = std::nullopt;
    vnic.limit_pps = std::nullopt;
    vnic.receive_limit_bps = std::nullopt;
    if (one_in(2))
        vnic.limit_bps = std::uint64_t{10'000'000} << pick(9);
    if (one_in(4))
        vnic.limit_pps = std::uint64_t{10'000} << pick(6);
    if (one_in(4))
        vnic.receive_limit_bps = std::uint64_t{10'000'000} << pick(9);
    vnic.encrypt_limit = vnic.encrypt && one_in(3) ? std::optional(std::uint64_t{1'000'000}) : std::nullopt;
    vnic.appliances.clear();
    if (config.appliances.empty() || one_in(3))
        return;
    VnicApplianceConfig& requests = vnic.appliances.emplace_back();
    requests.name = kPlanAppliance;
    if (one_in(2))
        requests.limit_tokens = std::uint64_t{10'000} << pick(8);
    if (one_in(4))
        requests.downlink_bps = std::uint64_t{1'000'000} << pick(8);
    requests.reservation_tokens = one_in(3) ? 10'000 : 0;
    requests.shares = 1 + pick(1000);
}

/// Half of the frames go to few addresses, so that much happens to one flow.
std::uint64_t RandomPlan::address() {
    if (favourites_.empty())
        while (favourites_.size() < 2)
            favourites_.push_back(any_address());
    return one_in(2) ? favourites_[pick(2)] : any_address();
}

std::uint64_t RandomPlan::any_address() {
    switch (pick(8)) {
        case 0:
            return one_in(2) ? kBroadcast : kMulticast;
        case 1:
            return mac(kTapAddresses + 1 + pick(kPlanVnics));
        case 2:
            return mac(kWireAddresses + pick(2));
        case 3:
            return mac(kUnknownAddress);
        default:
            return mac(1 + pick(kPlanVnics));
    }
}

std::uint64_t RandomPlan::source_of(const Sender& from) {
    const auto own = static_cast<unsigned>(from.facts->mac >> 40);
    return from.facts->pinned || one_in(2) ? from.facts->mac : mac(kTapAddresses + own);
}

RandomOracle::To RandomPlan::any_network() {
    using To = RandomOracle::To;
    return one_in(8) ? (one_in(4) ? To::kNowhere : To::kGroup) : To::kHosts;
}

rte_mbuf* RandomPlan::super_frame(RandomOracle& oracle, const Sender& from, std::uint64_t to) {
    const std::size_t payload = 1000 + pick(one_in(3) ? 64'000 : 8'000);
    const std::size_t least = payload / offload::kSegmentsMax + 1;
    const auto segment = static_cast<std::uint16_t>(std::max<std::size_t>(least, 100 + pick(1300)));
    return ask_segments(to_mbuf(buffer_pool(), oracle.stamped(from.party, to, source_of(from), payload,
                                                              RandomOracle::kNothing, any_network())),
                        segment);
}

std::vector<rte_mbuf*> RandomPlan::burst(RandomOracle& oracle, const Sender& from) {
    std::vector<rte_mbuf*> frames;
    const std::uint64_t to[]{address(), address()};
    const bool super_frames = from.offloads && one_in(4);
    const bool priority_tags = !super_frames && one_in(8);
    const unsigned count = 1 + pick(super_frames ? of({3U, 3U, 20U}) : 48);
    const bool in_pieces = one_in(6);
    const unsigned longest = one_in(10) ? 9100 : one_in(3) ? 1600 : 200;
    for (unsigned i = 0; i < count && buffers_in_use() < kBuffers / 2; ++i) {
        const std::uint64_t next = to[one_in(4) ? 1 : 0];
        if (super_frames) {
            frames.push_back(super_frame(oracle, from, next));
            continue;
        }
        FrameBytes bytes = oracle.stamped(from.party, next, source_of(from), kPayloadMin + pick(longest),
                                          RandomOracle::kNothing, any_network());
        if (priority_tags)
            bytes = tagged(bytes, static_cast<std::uint16_t>(pick(8) << 13));
        const std::size_t piece = in_pieces ? std::max(bytes.size() / kBuffersMost + 1, kPieceMin) : 0;
        frames.push_back(to_mbuf(buffer_pool(), bytes, piece));
        if (from.offloads && !priority_tags && !in_pieces && one_in(4))
            ask_checksum(frames.back());
    }
    return frames;
}

rte_mbuf* RandomPlan::torn() {
    FrameBytes bytes = pattern(1 + pick(one_in(8) ? 20'000 : 200));
    if (!one_in(3))
        bytes = ethernet(mac(1 + pick(kPlanVnics)), mac(1 + pick(kPlanVnics)), one_in(2) ? kIpv4 : kIpv6,
                         ipv4(kTcp, tcp(bytes)));
    for (unsigned i = pick(4); i > 0; --i)
        bytes[pick(static_cast<unsigned>(bytes.size()))] = static_cast<std::uint8_t>(random_());
    rte_mbuf* frame = to_mbuf(buffer_pool(), bytes, bytes.size() > 2000 || one_in(2) ? 0 : 20 + pick(500));
    for (const std::uint64_t flag : kPlanOffloads)
        frame->ol_flags |= one_in(2) ? flag : 0;
    frame->l2_len = one_in(4) ? random_() & 0x7F : 14;
    frame->l3_len = one_in(4) ? random_() & 0x1FF : 20;
    frame->l4_len = one_in(4) ? random_() & 0xFF : 20;
    frame->tso_segsz = static_cast<std::uint16_t>(one_in(2) ? random_() : 1000);
    return frame;
}

rte_mbuf* RandomPlan::hostile(RandomOracle& oracle, const Sender& from) {
    const std::size_t payload = kPayloadMin + pick(200);
    const std::uint32_t unless_trusted = from.facts->pinned ? RandomOracle::kForbidden : 0U;
    switch (pick(6)) {
        case 5: {  // of another's IP address
            FrameBytes bytes = oracle.stamped(from.party, address(), from.facts->mac, payload,
                                              from.facts->guarded ? RandomOracle::kForbidden : 0U);
            write16(bytes, 26, 0x0A41);
            return to_mbuf(buffer_pool(), bytes);
        }
        case 0:  // of another's address; a guest that may use any may also use that
            return to_mbuf(buffer_pool(),
                           oracle.stamped(from.party, address(), mac(0x70), payload, unless_trusted));
        case 1:
            return to_mbuf(buffer_pool(),
                           tagged(oracle.stamped(from.party, address(), from.facts->mac, payload,
                                                 unless_trusted | RandomOracle::kOwnTag),
                                  kPlanVlans[1 + pick(2)]));
        case 2:
            return to_mbuf(buffer_pool(), oracle.stamped(from.party, kReserved, from.facts->mac, payload,
                                                         RandomOracle::kForbidden));
        default:
            return torn();
    }
}

rte_mbuf* RandomPlan::from_wire(RandomOracle& oracle, PartyId party, std::uint64_t& to) {
    const std::uint16_t vlan = oracle.party(party).vlan;
    to = address();
    FrameBytes bytes =
        oracle.stamped(party, to, mac(kWireAddresses + pick(2)), kPayloadMin + pick(one_in(3) ? 1455 : 100));
    if (vlan != 0 || one_in(4))
        bytes = tagged(bytes, static_cast<std::uint16_t>(vlan | pick(8) << 13));
    return to_mbuf(buffer_pool(), bytes, one_in(10) ? 300 : 0);
}

}  // namespace weir::testing
