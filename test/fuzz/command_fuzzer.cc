// command_fuzzer.cc - any bytes as a request of the operator's socket: one well-formed reply, and the state
// stays valid.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "test/fuzz/checks.h"
#include "vswitch/agent/commands.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using nlohmann::json;

// A switch that only remembers its configuration.
class FakeControl : public SwitchControl {
  public:
    FakeControl() {
        config_.uplink.device = "net_tap0";
        ApplianceConfig& disk = config_.appliances.emplace_back();
        disk.name = "disk";
        disk.address = "10.0.0.5";
        disk.port = 10'809;
        disk.protocol = "nbd";
        disk.cost = "ssd_file_store";
        const auto vnic = parse_vnic({{"name", "vm1"},
                                      {"socket", "/run/vm1"},
                                      {"mac", "52:54:00:00:00:01"},
                                      {"limit", "2Gbit"},
                                      {"appliances", {{{"name", "disk"}, {"limit", "800tokens"}}}}},
                                     "vnic", config_, {});
        config_.vnics.push_back(std::get<VnicConfig>(vnic));
        VnicTrack& track = history_.begin("vm1", kNanosPerSec);
        for (Nanos at = kNanosPerSec; at <= 2 * kNanosPerSec; at += 100'000'000)
            history_.add(track, {.sent_bytes = at / 1'000}, at);
        history_.events.add_of_vnic(kNanosPerSec, "vm1", EventKind::kUp);
    }

    SwitchReport report() override {
        SwitchReport report;
        report.config = &config_;
        for (const VnicConfig& vnic : config_.vnics) {
            report.vnics.emplace_back().config = vnic;
            report.vnics.back().request_flows.resize(vnic.appliances.size());
        }
        return report;
    }
    SwitchConfig config() const override { return config_; }
    void add_vnic(const VnicConfig& vnic) override { config_.vnics.push_back(vnic); }
    void change_vnic(const VnicConfig& vnic) override { *find(vnic.name) = vnic; }
    void remove_vnic(const std::string& name) override { config_.vnics.erase(find(name)); }
    std::vector<FlowSample> sample_flows() override { return {}; }
    void set_rates(const FlowRates&) override {}
    std::vector<UsageReport> take_usage() override { return {}; }
    std::uint64_t start_capture(const CaptureOrder& order) override {
        require(order.filter.size() <= kFilterInstructionsMax && order.snap <= CaptureOrder::kSnapMax,
                "a capture is bounded");
        return 1;
    }
    CapturedFrames take_captured(std::uint64_t) override { return {}; }
    void stop_capture(std::uint64_t) override {}
    void note_controller(const ControllerReport&) override {}
    void tick() override {}
    const SwitchHistory& history() const override { return history_; }
    Moment moment() const override { return {2 * kNanosPerSec, kNow}; }

  private:
    static constexpr std::uint64_t kNow = 1'795'773'600'000'000'000;

    std::vector<VnicConfig>::iterator find(const std::string& name) {
        const auto it = std::find_if(config_.vnics.begin(), config_.vnics.end(),
                                     [&](const VnicConfig& vnic) { return vnic.name == name; });
        require(it != config_.vnics.end(), "only vNICs that exist are changed");
        return it;
    }

    SwitchConfig config_;
    SwitchHistory history_{kNow - 2 * kNanosPerSec};
};

void check_state(const SwitchConfig& config) {
    std::vector<VnicConfig> before;
    for (const VnicConfig& vnic : config.vnics) {
        const auto again = parse_vnic(vnic_to_json(vnic), "vnic", config, before);
        require(std::holds_alternative<VnicConfig>(again), "an accepted vNIC is valid");
        before.push_back(vnic);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FakeControl control;
    const json reply = json::parse(answer(control, {reinterpret_cast<const char*>(data), size}));
    require(reply.at("schema") == 1 && reply.at("ok").is_boolean(), "a reply has schema and ok");
    if (reply["ok"] == false)
        require(!reply.at("faults").empty(), "a refusal has faults");
    else
        require(reply.contains("data"), "an answer has data");
    check_state(control.config());
    return 0;
}
