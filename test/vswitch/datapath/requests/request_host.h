// request_host.h - a host whose VMs talk to one appliance over the wire, frame by frame.
// Units: tokens are bytes of payload, both ways. Threads: tests only.
#pragma once

#include <rte_mbuf.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

namespace weir::testing {

inline constexpr std::uint32_t kClients = 0x0A00'0000;  // VM n is 10.0.0.n
inline constexpr std::uint32_t kService = 0x0A00'0009;
inline constexpr std::uint16_t kServicePort = 11211;
inline constexpr std::uint8_t kSyn = 0x02;
inline constexpr std::uint8_t kRst = 0x04;

/// An appliance at 10.0.0.9.
inline std::vector<Appliance> appliance_of(const char* protocol, std::uint64_t window) {
    Appliance appliance;
    appliance.window = window;
    appliance.window_share = std::make_shared<LinkShare>(1, window);
    appliance.address = {10, 0, 0, 9};
    appliance.port = kServicePort;
    appliance.protocol = protocol_index(protocol).value();
    appliance.cost = std::make_shared<CostTable>();
    return {appliance};
}

inline SwitchConfig config_with_appliance() {
    SwitchConfig config;
    config.uplink.headroom = 0;
    ApplianceConfig& appliance = config.appliances.emplace_back();
    appliance.name = "kv";
    appliance.address = "10.0.0.9";
    appliance.port = kServicePort;
    return config;
}

inline VnicConfig vm_with(std::optional<std::uint64_t> tokens, std::optional<std::uint64_t> downlink_bps = {},
                          unsigned number = 1) {
    VnicConfig config = vm(number);
    VnicApplianceConfig& appliance = config.appliances.emplace_back();
    appliance.name = "kv";
    appliance.limit_tokens = tokens;
    appliance.downlink_bps = downlink_bps;
    return config;
}

inline FrameBytes text(std::string_view words) {
    return {words.begin(), words.end()};
}

/// A segment between VM `number` and the appliance.
inline rte_mbuf* segment(bool to_service, std::uint16_t client_port, std::uint32_t seq,
                         const FrameBytes& payload, std::uint8_t flags = kAck, std::size_t piece = 0,
                         std::uint8_t number = 1) {
    FrameBytes frame = ethernet(to_service ? kFar : mac(number), to_service ? mac(number) : kFar,
                                weir::testing::kIpv4, ipv4(kTcp, tcp(payload, seq, flags)));
    write32(frame, 26, to_service ? kClients + number : kService);
    write32(frame, 30, to_service ? kService : kClients + number);
    write16(frame, 34, to_service ? client_port : kServicePort);
    write16(frame, 36, to_service ? kServicePort : client_port);
    write32(frame, 42, 1);  // acknowledges a SYN of sequence number 0
    return to_mbuf(buffer_pool(), frame, piece);
}

/// A host with one VM that talks to the appliance over the wire; others may be added.
struct RequestHost {
    explicit RequestHost(const VnicConfig& config, std::uint64_t window = UINT64_MAX,
                         const char* protocol = "memcached")
        : host(config_with_appliance(), &nic, appliance_of(protocol, window)), vm(host.add(config)) {}

    void send(std::uint16_t client_port, std::uint32_t seq, const FrameBytes& payload,
              std::uint8_t flags = kAck) {
        host.port(vm).offered.push_back(segment(true, client_port, seq, payload, flags));
        host.settle();
    }
    void answer(std::uint16_t client_port, std::uint32_t seq, const FrameBytes& payload,
                std::uint8_t flags = kAck, std::uint8_t number = 1) {
        nic.arrive(segment(false, client_port, seq, payload, flags, 0, number));
        host.settle();
    }
    /// Sequence numbers of the segments that have left, in order.
    std::vector<std::uint32_t> left() {
        std::vector<std::uint32_t> seen;
        for (rte_mbuf* frame : nic.take()) {
            seen.push_back(read32(bytes_of(frame), 38));
            rte_pktmbuf_free(frame);
        }
        return seen;
    }
    RequestFlowStats flow() { return flow(vm); }
    RequestFlowStats flow(VnicId id) {
        std::vector<RequestPath::Reading> readings;
        readings.reserve(limits::kAppliancesPerVnic);
        host.post(0, command::ReadRequests{id, &readings});
        return readings.at(0).stats;
    }

    RingNic nic;
    SwitchHarness host;
    VnicId vm;
};

}  // namespace weir::testing
