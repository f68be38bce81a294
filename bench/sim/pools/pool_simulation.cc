// pool_simulation.cc - PoolSimulation: hosts, VMs and the controller on one engine; rows and summary.
#include "bench/sim/pools/pool_simulation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::uint32_t kTick = UINT32_MAX;
constexpr std::uint32_t kRow = UINT32_MAX - 1;
constexpr std::uint32_t kWarm = UINT32_MAX - 2;

double rate(std::uint64_t amount, Nanos time) {
    return static_cast<double>(amount) * static_cast<double>(kNanosPerSec) / static_cast<double>(time);
}

/// Hosts know their VMs before anything runs.
std::deque<PoolHost>& furnish(std::deque<PoolHost>& hosts, std::deque<PoolVm>& vms, Engine& engine,
                              RequestPool& pool, const Route& route, const PoolScenario& scenario) {
    for (std::uint32_t host = 0; host < scenario.hosts.size(); ++host) {
        const auto count = std::count_if(scenario.vms.begin(), scenario.vms.end(),
                                         [host](const PoolVmSpec& vm) { return vm.host == host; });
        hosts.emplace_back(engine, *scenario.scheduler, static_cast<std::uint32_t>(count));
    }
    for (const PoolVmSpec& vm : scenario.vms) {
        vms.emplace_back(engine, pool, route, *scenario.array.costs, hosts[vm.host], vm,
                         Random(scenario.seed, vms.size()));
        hosts[vm.host].add(vms.back());
    }
    return hosts;
}

}  // namespace

PoolSimulation::PoolSimulation(const PoolScenario& scenario)
    : scenario_(scenario),
      wire_(engine_, pool_, scenario.delay),
      array_(engine_, pool_, scenario.array, {}, Random(scenario.seed, UINT64_MAX)),
      route_{&wire_, &array_, &wire_},
      controller_(scenario, furnish(hosts_, vms_, engine_, pool_, route_, scenario)) {
    for (std::uint32_t i = 0; i < scenario.events.size(); ++i)
        engine_.at(scenario.events[i].at, *this, i);
    engine_.at(scenario.interval, *this, kTick);
    engine_.at(row_length(), *this, kRow);
    engine_.at(scenario.warmup, *this, kWarm);
}

void PoolSimulation::run() {
    engine_.run_until(scenario_.duration);
    for (PoolVm& vm : vms_)
        summary_.push_back(vm.take(2));
}

void PoolSimulation::fire(std::uint32_t what) {
    switch (what) {
        case kTick:
            controller_.tick();
            engine_.after(scenario_.interval, *this, kTick);
            break;
        case kRow:
            record();
            engine_.after(row_length(), *this, kRow);
            break;
        case kWarm:
            for (PoolVm& vm : vms_)
                (void)vm.take(2);
            break;
        default:
            controller_.apply(scenario_.events[what]);
    }
}

void PoolSimulation::record() {
    Row row{.at = engine_.now(),
            .served = {},
            .host_window = {},
            .host_served = std::vector<double>(hosts_.size()),
            .window = scenario_.control == PoolControl::kOff ? 0 : controller_.window()};
    double tokens = 0;
    for (PoolVm& vm : vms_) {
        const PoolTally tally = vm.take(1);
        row.served.push_back(rate(tally.tokens, row_length()));
        row.host_served[vm.spec().host] += row.served.back();
        tokens += static_cast<double>(tally.tokens);
        row.latency_us += tally.array_latency / 1000;
    }
    row.latency_us = tokens > 0 ? row.latency_us / tokens : 0;
    for (const PoolHost& host : hosts_)
        row.host_window.push_back(host.window() == UINT64_MAX ? 0 : static_cast<double>(host.window()));
    rows_.push_back(std::move(row));
}

double PoolSimulation::served(std::size_t vm, Nanos from, Nanos to) const {
    double sum = 0;
    double count = 0;
    for (const Row& row : rows_)
        if (row.at > from && row.at <= to) {
            sum += row.served[vm];
            ++count;
        }
    return count > 0 ? sum / count : 0;
}

json PoolSimulation::series() const {
    json out{{"vms", json::object()},
             {"hosts", json::object()},
             {"window", json::array()},
             {"latency_us", json::array()}};
    for (const Row& row : rows_) {
        for (std::size_t i = 0; i < vms_.size(); ++i)
            out["vms"][scenario_.vms[i].name].push_back(row.served[i]);
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            out["hosts"][scenario_.hosts[i]]["window"].push_back(row.host_window[i]);
            out["hosts"][scenario_.hosts[i]]["served"].push_back(row.host_served[i]);
        }
        out["window"].push_back(row.window);
        out["latency_us"].push_back(row.latency_us);
    }
    return out;
}

json PoolSimulation::result() const {
    json vms = json::object();
    const Nanos length = scenario_.duration - scenario_.warmup;
    for (std::size_t i = 0; i < summary_.size(); ++i) {
        const PoolTally& tally = summary_[i];
        vms[scenario_.vms[i].name] = {
            {"requests_per_second", rate(tally.requests, length)},
            {"tokens_per_second", rate(tally.tokens, length)},
            {"latency_us",
             tally.requests == 0 ? 0 : tally.latency / 1000 / static_cast<double>(tally.requests)},
            {"waiting", tally.waiting},
            {"outstanding", tally.outstanding}};
    }
    return {{"title", scenario_.title},
            {"seed", scenario_.seed},
            {"interval_ns", scenario_.interval},
            {"row_ns", row_length()},
            {"events", events()},
            {"series", series()},
            {"summary", {{"vms", std::move(vms)}}}};
}

}  // namespace weir::sim
