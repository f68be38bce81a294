// pool_control.cc - PoolControl: from the hosts' counts to windows and bounds.
#include "bench/sim/pools/pool_control.h"

#include <algorithm>
#include <cmath>

namespace weir::sim {
namespace {

using pools::NodeIndex;

/// The shares of all VMs together, as the gates count them.
constexpr double kShares = 10'000;

std::uint64_t at_least_one(double window) {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(window)));
}

}  // namespace

PoolController::PoolController(const PoolScenario& scenario, std::deque<PoolHost>& hosts)
    : scenario_(scenario),
      hosts_(hosts),
      layout_(scenario.pools, scenario.array.name, static_cast<double>(scenario.array.capacity_min)),
      parda_(hosts.size(), scenario.window / static_cast<double>(std::max<std::size_t>(1, hosts.size()))),
      window_({.threshold = to_seconds(scenario.latency), .gamma = scenario.gamma}, scenario.window) {
    for (const PoolHost& host : hosts) {
        nodes_.emplace_back();
        for (const PoolVm* vm : host.vms())
            nodes_.back().push_back(layout_.add_vnic(vm->spec().name));
    }
    host_of_.assign(layout_.tree().size(), UINT32_MAX);
    for (std::uint32_t host = 0; host < nodes_.size(); ++host)
        for (const NodeIndex node : nodes_[host])
            host_of_[node] = host;
    demands_.assign(layout_.tree().size(), pools::kAbsent);
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        if (scenario.control != PoolControl::kOff)
            hosts_[host].set_window(at_least_one(parda_[host]));
    }
}

double PoolController::window() const {
    double sum = 0;
    for (const double each : parda_)
        sum += each;
    return scenario_.control == PoolControl::kSrp ? window_.window() : sum;
}

void PoolController::apply(const PoolEvent& event) {
    auto node = layout_.find(event.name, false);
    if (!node)
        node = layout_.find(event.name, true);
    pools::Controls own = layout_.tree().controls(*node);
    if (event.reservation)
        own.reservation = static_cast<double>(*event.reservation);
    if (event.limit)
        own.limit = *event.limit ? static_cast<double>(**event.limit) : pools::kNoLimit;
    own.shares = event.shares.value_or(static_cast<std::uint32_t>(own.shares));
    (void)layout_.set(*node, own);
}

/// Eq. 1 and 2 of every VM, and the latency of all.
void PoolController::measure() {
    double tokens = 0;
    reading_ = {};
    for (std::size_t host = 0; host < hosts_.size(); ++host)
        for (std::size_t vm = 0; vm < nodes_[host].size(); ++vm) {
            const PoolTally tally = hosts_[host].vms()[vm]->take(0);
            demands_[nodes_[host][vm]] =
                pools::demand_rate(tally.waiting + tally.outstanding, to_seconds(scenario_.latency));
            tokens += static_cast<double>(tally.tokens);
            reading_.latency += tally.array_latency;
            reading_.outstanding += tally.outstanding;
        }
    reading_.latency = tokens > 0 ? reading_.latency / tokens / static_cast<double>(kNanosPerSec) : 0;
}

void PoolController::run_srp() {
    window_.update(reading_);
    divider_.divide(layout_.tree(), demands_, window_.rate(), division_);
    const std::vector<double> windows =
        pools::host_windows(division_, layout_.tree(), host_of_, static_cast<std::uint32_t>(hosts_.size()),
                            window_.window(), window_.rate());
    const double root = layout_.tree().controls(pools::kRoot).shares;
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        for (std::size_t vm = 0; vm < nodes_[host].size(); ++vm) {
            const NodeIndex node = nodes_[host][vm];
            hosts_[host].set_promise(vm, division_.reservation[node], division_.limit[node],
                                     division_.shares[node] / root * kShares);
        }
        hosts_[host].set_window(at_least_one(windows[host]));
    }
}

/// w <- (1 - g) w + g (Lc / L w + beta), beta by the shares of a host's VMs.
void PoolController::run_parda() {
    double all = 0;
    std::vector<double> shares(hosts_.size());
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        for (std::size_t vm = 0; vm < nodes_[host].size(); ++vm) {
            const pools::Controls& own = layout_.tree().controls(nodes_[host][vm]);
            hosts_[host].set_promise(vm, own.reservation, own.limit, own.shares);
            shares[host] += own.shares;
        }
        all += shares[host];
    }
    if (reading_.latency <= 0)
        return;
    const double ratio = to_seconds(scenario_.latency) / reading_.latency;
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        const double beta = scenario_.parda_beta * shares[host] / all;
        parda_[host] = (1 - scenario_.gamma) * parda_[host] + scenario_.gamma * (ratio * parda_[host] + beta);
        hosts_[host].set_window(at_least_one(parda_[host]));
    }
}

void PoolController::tick() {
    measure();
    if (scenario_.control == PoolControl::kSrp)
        run_srp();
    else if (scenario_.control == PoolControl::kParda)
        run_parda();
}

}  // namespace weir::sim
