// flow_setup_switch.cc - a whole worker on a NIC of rings: from a feedback frame to its limiter. Threads:
// one.
#include <rte_mbuf.h>

#include <stdexcept>

#include "bench/control/flow_setup.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

namespace weir::bench {
namespace {

using namespace weir::testing;

constexpr std::uint64_t kRateBps = 100'000'000;
constexpr Nanos kTurn = 20'000;

SwitchConfig config_with_feedback() {
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    config.feedback.enabled = true;
    return config;
}

/// A destination's address, different for each number.
std::uint64_t address(unsigned number) {
    return 0x06U | static_cast<std::uint64_t>(number) << 8;
}

class Sender {
  public:
    Sender() : nic_(1, 1024), host_(config_with_feedback(), &nic_), vm_(host_.add(vm(1))) {}

    /// A destination's first feedback frame for the VM comes from the wire.
    void arrive(unsigned number) {
        const FrameBytes answered = ethernet(address(number), mac(1), kIpv4, ipv4(kUdp, udp(pattern(64))));
        FeedbackBuffer buffer;
        const std::size_t bytes =
            write_feedback({mac(1), address(number), 0, kRateBps / 8, 1}, answered, {}, buffer);
        nic_.arrive(
            to_mbuf(buffer_pool(), {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes)}));
        host_.now += kTurn;
    }
    void turn() { host_.turn(); }
    [[nodiscard]] std::uint64_t limiters() { return host_.snapshot_worker(0).feedback.limiters; }

  private:
    RingNic nic_;
    SwitchHarness host_;
    VnicId vm_;
};

Spans limiters_beside(unsigned existing, unsigned times) {
    Sender sender;
    for (unsigned i = 0; i < existing; ++i) {
        sender.arrive(i);
        sender.turn();
    }
    Spans spans;
    for (unsigned i = 0; i < times; ++i) {
        sender.arrive(existing + i);
        spans.time([&] { sender.turn(); });
    }
    if (sender.limiters() != existing + times)
        throw std::runtime_error("a destination has no limiter");
    return spans;
}

VnicConfig with_appliance(std::uint64_t tokens) {
    VnicConfig config = vm(1);
    VnicApplianceConfig& part = config.appliances.emplace_back();
    part.name = "disk";
    part.limit_tokens = tokens;
    return config;
}

/// Times of the agent, which computes the buckets of a new rate, and of the worker, which installs them.
std::pair<Spans, Spans> rates_of_requests(unsigned times) {
    SwitchConfig config;
    config.appliances.emplace_back().name = "disk";
    std::vector<Appliance> appliances(1);
    appliances[0].cost = std::make_shared<CostTable>();
    appliances[0].port = 10809;
    SwitchHarness host(config, nullptr, appliances);
    const VnicId id = host.add(with_appliance(1000));
    std::pair<Spans, Spans> spans;
    for (unsigned i = 0; i < times; ++i) {
        VnicProfile profile;
        spans.first.time([&] { profile = make_vnic_profile(with_appliance(2000 + i), config); });
        host.now += kTurn;
        host.worker().housekeeping_next();
        if (host.worker().control().post(command::ChangeVnic{id, &profile}) == 0)
            throw std::runtime_error("the worker's ring is full");
        spans.second.time([&] { host.turn(); });
    }
    return spans;
}

}  // namespace

nlohmann::json measure_switch(unsigned times) {
    nlohmann::json out;
    for (const unsigned existing : {0U, 1'000U, 10'000U})
        out["limiter"][std::to_string(existing)] = limiters_beside(existing, times).summary();
    const auto [profile, command] = rates_of_requests(times);
    out["profile"] = profile.summary();
    out["command"] = command.summary();
    return out;
}

}  // namespace weir::bench
