// fake_control.h - a switch that records the calls of the agent. Threads: tests only.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/stepped_clock.h"
#include "vswitch/agent/switch_control.h"

namespace weir::testing {

inline VnicConfig vnic(const char* name, std::uint64_t mac) {
    VnicConfig config;
    config.name = name;
    config.socket = std::string("/run/weir/vm/") + name + ".sock";
    config.mac = MacAddress{mac};
    config.mtu = 1500;
    return config;
}

class FakeControl final : public SwitchControl {
  public:
    /// When the clock has its first value: 2026-11-27 10:00:00 UTC, in ns.
    static constexpr std::uint64_t kUnixStart = 1'795'773'600'000'000'000;

    FakeControl() {
        state.host = "h1";
        state.uplink.device = "net_null0";
        state.vnics = {vnic("vm1", 0x010000005452), vnic("vm2", 0x020000005452)};
    }

    SwitchReport report() override {
        ++reports;
        complain();
        SwitchReport report;
        report.config = &state;
        report.workers = workers;
        report.controller = controller;
        for (const VnicConfig& config : state.vnics) {
            VnicReport& one = report.vnics.emplace_back();
            one.id = static_cast<VnicId>(report.vnics.size() - 1);
            one.config = config;
            one.stats.from_vm.offered.add(12, 1200);
            one.stats.from_vm.delivered.add(9, 900);
            one.stats.from_vm.queued.add(1, 100);
            one.stats.from_vm.drop(DropReason::kMacSpoof, 2, 200);
            one.stats.uplink_bytes = 300;
            one.stats.bursts = 3;
            one.stats.held_ns = {5, 6, 7};
            one.learned = learned;
            one.promise = promise;
            one.front_end_fault = front_end_fault;
            if (const auto refused = refusals.find(config.name); refused != refusals.end())
                one.refusal = refused->second;
            for (const VnicApplianceConfig& part : config.appliances)
                one.request_flows.push_back({index_of(part.name), requests});
        }
        return report;
    }
    SwitchConfig config() const override { return state; }
    void add_vnic(const VnicConfig& added) override {
        complain();
        state.vnics.push_back(added);
    }
    void change_vnic(const VnicConfig& changed) override {
        complain();
        *find(changed.name) = changed;
    }
    void remove_vnic(const std::string& name) override {
        complain();
        state.vnics.erase(find(name));
    }
    std::vector<FlowSample> sample_flows() override { return {}; }
    void set_rates(const FlowRates& given) override {
        if (!rates_complaint.empty())
            throw HostError(rates_complaint);
        rates = given;
    }
    void set_refusals(const Refusals& given) override { refusals = given; }
    void set_promises(const VnicPromises& given) override { promised = given; }
    VnicPromises promises() const override { return promised; }
    std::vector<UsageReport> take_usage() override { return {}; }
    std::uint64_t start_capture(const CaptureOrder& order) override {
        complain();
        captures.push_back(order);
        return captures.size();
    }
    CapturedFrames take_captured(std::uint64_t capture) override {
        if (capture > captures.size())
            throw HostError("there is no capture " + std::to_string(capture));
        return std::exchange(captured, {});
    }
    void stop_capture(std::uint64_t capture) override { stopped_captures.push_back(capture); }
    void note_controller(const ControllerReport& report) override { controller = report; }
    void tick() override { ++ticks; }
    void sample() override { ++samples; }
    const SwitchHistory& history() const override { return past; }
    Moment moment() const override { return {clock.now(), kUnixStart - SteppedClock::kStart + clock.now()}; }
    void turns(std::uint64_t count, Nanos span) override {
        turns_made += count;
        clock.advance(count * span);
    }

    SwitchConfig state;
    std::vector<WorkerReport> workers;
    RequestFlowStats requests;  ///< of every flow
    std::string front_end_fault;
    std::vector<LearnedReport> learned;  ///< of every vNIC
    std::string complaint;               ///< the reason with which the host refuses; empty: it does not
    std::string rates_complaint;         ///< likewise, of rates alone
    FlowRates rates;
    Refusals refusals;
    VnicPromises promised;
    std::optional<VnicPromiseReport> promise;  ///< of every vNIC
    std::optional<ControllerReport> controller;
    std::atomic<unsigned> reports{0};  ///< asked for so far
    std::atomic<unsigned> ticks{0};
    std::vector<CaptureOrder> captures;  ///< by number, from 1
    CapturedFrames captured;             ///< the next that are taken
    std::vector<std::uint64_t> stopped_captures;
    std::uint64_t turns_made = 0;
    std::atomic<unsigned> samples{0};
    SwitchHistory past{kUnixStart - SteppedClock::kStart};
    SteppedClock clock;  ///< that turns() moves

  private:
    std::uint16_t index_of(const std::string& appliance) const {
        const auto found =
            std::find_if(state.appliances.begin(), state.appliances.end(),
                         [&](const ApplianceConfig& config) { return config.name == appliance; });
        return static_cast<std::uint16_t>(found - state.appliances.begin());
    }
    void complain() const {
        if (!complaint.empty())
            throw HostError(complaint);
    }
    std::vector<VnicConfig>::iterator find(const std::string& name) {
        return std::find_if(state.vnics.begin(), state.vnics.end(),
                            [&](const VnicConfig& config) { return config.name == name; });
    }
};

}  // namespace weir::testing
