// fleet_simulation.cc - FleetSimulation: placement of VMs, their transmissions, and the result.
#include "bench/sim/fleet/fleet_simulation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/sim/samples.h"
#include "common/units.h"
#include "ctrl/billing/overcommit.h"
#include "ctrl/placement/placer.h"

namespace weir::sim {
namespace {

using nlohmann::json;

/// Streams of random numbers that are no VM's.
constexpr std::uint64_t kKinds = UINT64_MAX;
constexpr std::uint64_t kStartTimes = UINT64_MAX - 1;

/// A relative time that is late; as little as a millisecond in ten minutes is rounding.
constexpr double kLate = 1 + 1e-6;
constexpr double kPerMille = 1000;

}  // namespace

FleetSimulation::FleetSimulation(const FleetScenario& scenario)
    : scenario_(scenario), servers_(scenario.servers), tally_(scenario.duration / scenario.interval) {
    place();
    give_starts();
}

/// One VM after the other, of either kind by chance, each where the controller puts it: promises may add up
/// to the link as often as it is over-committed.
void FleetSimulation::place() {
    const std::uint32_t per_server = scenario_.vms_per_server();
    placement::Topology topology;
    for (std::uint32_t i = 0; i < scenario_.servers; ++i)
        topology.hosts.push_back(
            {.id = std::to_string(i), .uplink = per_server * (scenario_.guarantee_bps / 8)});
    placement::Placer placer(topology, placement::LinkNeed::kSum);
    placement::Tenant tenant{.id = "vm", .vnics = {{.id = "vm", .reservation = scenario_.guarantee_bps / 8}}};
    Random kinds(scenario_.seed, kKinds);
    const std::uint64_t vms = std::uint64_t{per_server} * scenario_.servers;
    for (std::uint64_t i = 0; i < vms; ++i) {
        const placement::Outcome outcome = placer.place(tenant);
        const std::uint32_t server = outcome.layout->hosts.front();  // they are as many as there is room for
        servers_[server].push_back({.dynamic = kinds.unit() < scenario_.dynamic, .stream = i, .starts = {}});
    }
}

/// A Poisson process; at each of its points a VM is drawn that sends.
void FleetSimulation::give_starts() {
    std::vector<FleetVm*> senders;
    for (std::vector<FleetVm>& server : servers_)
        for (FleetVm& vm : server)
            if (vm.dynamic)
                senders.push_back(&vm);
    if (senders.empty())
        return;
    const double duration = to_seconds(scenario_.duration);
    const double mean =
        scenario_.utilization * static_cast<double>(scenario_.guarantee_bps) / kBitsPerByte * duration;
    Random random(scenario_.seed, kStartTimes);
    const double gap = duration / static_cast<double>(senders.size());
    for (double at = random.exponential(gap); at < duration; at += random.exponential(gap)) {
        FleetVm& vm = *senders[random.below(senders.size())];
        const auto bytes = static_cast<std::uint64_t>(std::ceil(random.exponential(mean)));
        if (bytes != 0 && (scenario_.starts == FleetStarts::kAgain || vm.starts.empty()))
            vm.starts.push_back({at, bytes});
    }
}

void FleetSimulation::run() {
    for (const std::vector<FleetVm>& vms : servers_)
        FleetServer(scenario_, vms).run(tally_);
    std::sort(tally_.relative.begin(), tally_.relative.end());
}

double FleetSimulation::utilization() const {
    const double most = static_cast<double>(scenario_.link_bps) / kBitsPerByte *
                        static_cast<double>(scenario_.servers) * to_seconds(scenario_.duration);
    return std::accumulate(tally_.sent.begin(), tally_.sent.end(), 0.0) / most;
}

std::uint64_t FleetSimulation::strict_vms() const {
    return std::accumulate(tally_.failed.begin(), tally_.failed.end(), std::uint64_t{0});
}

double FleetSimulation::failed() const {
    const std::uint64_t vms = strict_vms();
    return vms == 0 ? 0 : static_cast<double>(vms - tally_.failed[0]) / static_cast<double>(vms);
}

double FleetSimulation::late() const {
    const auto first = std::upper_bound(tally_.relative.begin(), tally_.relative.end(), kLate);
    return tally_.relative.empty() ? 0
                                   : static_cast<double>(tally_.relative.end() - first) /
                                         static_cast<double>(tally_.relative.size());
}

json FleetSimulation::dynamic_json() const {
    Samples relative;
    for (const double each : tally_.relative)
        relative.add(static_cast<std::uint64_t>(std::llround(each * kPerMille)));
    const auto first = std::upper_bound(tally_.relative.begin(), tally_.relative.end(), kLate);
    return {{"started", tally_.started},
            {"running", tally_.running},
            {"late", late()},
            {"relative_permille", relative.to_json()},
            {"late_relative", std::vector<double>(first, tally_.relative.end())}};
}

json FleetSimulation::strict_json() const {
    std::vector<std::uint64_t> failed = tally_.failed;
    while (failed.size() > 1 && failed.back() == 0)
        failed.pop_back();
    const double server_intervals =
        static_cast<double>(scenario_.servers) * static_cast<double>(tally_.sent.size());
    return {{"vms", strict_vms()},
            {"failed", this->failed()},
            {"vms_by_failed_intervals", failed},
            {"overloaded", static_cast<double>(tally_.overloaded) / server_intervals}};
}

json FleetSimulation::result() const {
    json series = json::array();
    const double most = static_cast<double>(scenario_.link_bps) / kBitsPerByte * scenario_.servers *
                        to_seconds(scenario_.interval);
    for (const double sent : tally_.sent)
        series.push_back(sent / most);
    const std::uint32_t vms = scenario_.vms_per_server();
    return {{"title", scenario_.title},
            {"seed", scenario_.seed},
            {"interval_ns", scenario_.interval},
            {"servers", scenario_.servers},
            {"vms_per_server", vms},
            {"events", events()},
            {"model",
             {{"failure_probability",
               billing::failure_probability(vms, scenario_.utilization, scenario_.overcommit)}}},
            {"series", {{"utilization", std::move(series)}}},
            {"summary",
             {{"utilization", utilization()},
              {"peak", tally_.peak},
              {"bytes",
               {{"wanted", tally_.wanted + tally_.begun},
                {"sent", std::accumulate(tally_.sent.begin(), tally_.sent.end(), 0.0)},
                {"lapsed", tally_.lapsed},
                {"left", tally_.left}}},
              {"dynamic", dynamic_json()},
              {"strict", strict_json()},
              {"charges",
               {{"strict", tally_.strict_money},
                {"dynamic", tally_.dynamic_money},
                {"fairness", tally_.fair_money}}}}}};
}

}  // namespace weir::sim
