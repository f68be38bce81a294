// fleet_server.cc - FleetServer: its events, which are intervals, beginnings and ends of transmissions.
#include "bench/sim/fleet/fleet_server.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"

namespace weir::sim {
namespace {

constexpr double kBitsPerMbit = 1e6;
/// A transmission with fewer bytes left has ended: they are rounding.
constexpr double kBytesOver = 0.01;
/// Part of the guaranteed bytes of an interval; a smaller shortfall is rounding, not a failure.
constexpr double kFailed = 1e-6;

std::uint64_t bytes_per_second(std::uint64_t bps) {
    return bps / kBitsPerByte;
}

Promise promise_of(const FleetScenario& scenario, const FleetVm& vm) {
    if (vm.dynamic)
        return {};
    return {.kind = GuaranteeKind::kStrict, .rate = bytes_per_second(scenario.guarantee_bps)};
}

}  // namespace

FleetServer::Vm::Vm(const FleetScenario& scenario, const FleetVm& vm)
    : spec(vm), meter(promise_of(scenario, vm), 0, 0), random(scenario.seed, vm.stream) {}

FleetServer::FleetServer(const FleetScenario& scenario, const std::vector<FleetVm>& vms)
    : scenario_(scenario),
      prices_{.p0 = 1, .beta = scenario.beta, .link = static_cast<double>(scenario.link_bps) / kBitsPerMbit},
      capacity_(static_cast<double>(bytes_per_second(scenario.link_bps))),
      guarantee_(static_cast<double>(bytes_per_second(scenario.guarantee_bps))),
      classes_(vms.size()),
      rates_(vms.size()) {
    vms_.reserve(vms.size());
    for (const FleetVm& vm : vms)
        vms_.emplace_back(scenario, vm);
}

Nanos FleetServer::nanos() const {
    return static_cast<Nanos>(std::llround(now_ * static_cast<double>(kNanosPerSec)));
}

void FleetServer::run(FleetTally& tally) {
    const double length = to_seconds(scenario_.interval);
    const std::size_t intervals = tally.sent.size();
    for (interval_ = 0; interval_ < intervals; ++interval_) {
        const double end = static_cast<double>(interval_ + 1) * length;
        begin_interval(tally);
        while (now_ < end) {
            start(tally);
            divide(tally);
            advance(next_event(end), tally);
        }
        end_interval(tally);
    }
    for (const Vm& vm : vms_) {
        if (!vm.spec.dynamic)
            ++tally.failed[vm.failed];
        tally.left += vm.left;
        if (vm.busy && relative_time(vm) > 1)
            tally.relative.push_back(relative_time(vm));
        else
            tally.running += vm.busy ? 1 : 0;
    }
}

void FleetServer::begin_interval(FleetTally& tally) {
    double together = 0;
    for (Vm& vm : vms_) {
        if (vm.spec.dynamic)
            continue;
        vm.demand = vm.random.exponential(scenario_.utilization * guarantee_);
        vm.short_of = 0;
        together += vm.demand;
        tally.wanted += vm.demand * to_seconds(scenario_.interval);
    }
    tally.overloaded += together > capacity_ ? 1 : 0;
}

void FleetServer::end_interval(FleetTally& tally) {
    GuaranteeRound round(static_cast<std::uint64_t>(capacity_));
    for (Vm& vm : vms_) {
        if (vm.short_of > kFailed * guarantee_ * to_seconds(scenario_.interval))
            ++vm.failed;
        const auto period = vm.meter.end_period(static_cast<std::uint64_t>(vm.sent), nanos(),
                                                scenario_.by_deadline && vm.busy);
        bill(period, tally);
        if (period)
            round.add(vm.meter, *period);
    }
    if (scenario_.by_deadline)
        round.settle();
}

void FleetServer::start(FleetTally& tally) {
    for (Vm& vm : vms_) {
        if (vm.busy || vm.next == vm.spec.starts.size() || vm.spec.starts[vm.next].at > now_)
            continue;
        const std::uint64_t bytes = vm.spec.starts[vm.next++].bytes;
        vm.busy = true;
        vm.began = now_;
        vm.left = static_cast<double>(bytes);
        const auto time =
            static_cast<Nanos>(std::ceil(vm.left / guarantee_ * static_cast<double>(kNanosPerSec)));
        const Promise promise{.kind = GuaranteeKind::kDynamic,
                              .rate = static_cast<std::uint64_t>(guarantee_),
                              .size = bytes,
                              .time = time};
        bill(vm.meter.change(promise, static_cast<std::uint64_t>(vm.sent), nanos()), tally);
        tally.begun += vm.left;
        ++tally.started;
    }
}

void FleetServer::divide(FleetTally& tally) {
    for (std::size_t i = 0; i < vms_.size(); ++i) {
        const Vm& vm = vms_[i];
        const double demand = vm.spec.dynamic ? (vm.busy ? capacity_ : 0) : vm.demand;
        classes_[i] = {.promised = static_cast<double>(vm.meter.rate()), .demand = demand};
    }
    shares_.divide(capacity_, classes_, rates_);
    ++tally.events;
}

double FleetServer::next_event(double end) const {
    double next = end;
    for (std::size_t i = 0; i < vms_.size(); ++i) {
        const Vm& vm = vms_[i];
        if (vm.busy && rates_[i] > 0)
            next = std::min(next, now_ + vm.left / rates_[i]);
        else if (!vm.busy && vm.next != vm.spec.starts.size())
            next = std::min(next, vm.spec.starts[vm.next].at);
    }
    return next;
}

void FleetServer::advance(double to, FleetTally& tally) {
    const double time = to - now_;
    double together = 0;
    now_ = to;
    for (std::size_t i = 0; i < vms_.size(); ++i) {
        Vm& vm = vms_[i];
        const double sent = vm.busy ? std::min(vm.left, rates_[i] * time) : rates_[i] * time;
        together += rates_[i];
        vm.sent += sent;
        tally.sent[interval_] += sent;
        if (!vm.spec.dynamic) {
            tally.lapsed += (vm.demand - rates_[i]) * time;
            vm.short_of += std::max(0.0, std::min(classes_[i].promised, vm.demand) - rates_[i]) * time;
        } else if (vm.busy) {
            vm.left -= sent;
            if (vm.left < kBytesOver)
                finish(vm, tally);
        }
    }
    tally.peak = std::max(tally.peak, together / capacity_);
}

void FleetServer::finish(Vm& vm, FleetTally& tally) {
    tally.relative.push_back(relative_time(vm));
    tally.begun -= vm.left;
    vm.left = 0;
    vm.busy = false;
}

double FleetServer::relative_time(const Vm& vm) const {
    return (now_ - vm.began) / to_seconds(vm.meter.promise().time);
}

void FleetServer::bill(const std::optional<GuaranteeMeter::Period>& period, FleetTally& tally) const {
    if (!period)
        return;
    const billing::Record record{.guarantee_kind = period->kind,
                                 .began = static_cast<std::int64_t>(period->began),
                                 .ended = static_cast<std::int64_t>(period->ended),
                                 .promised = period->promised,
                                 .delivered = period->delivered};
    double& money = period->kind == GuaranteeKind::kStrict    ? tally.strict_money
                    : period->kind == GuaranteeKind::kDynamic ? tally.dynamic_money
                                                              : tally.fair_money;
    money += billing::charge_of(prices_, record).money;
}

}  // namespace weir::sim
