// topology_guarantees.cc - each second: the vNICs' guarantees get their next rate, and usage reports are
// made of what was delivered.
// Source: SoftBW 4.1, 4.2; docs/algorithms.md 6.2. Units: bytes, bytes per second, Nanos.
#include <algorithm>
#include <array>
#include <utility>

#include "common/error.h"
#include "common/units.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

constexpr Nanos kPeriod = kNanosPerSec;
/// Reports that wait for the controller's session: four periods of all vNICs. Then the oldest are lost.
constexpr std::size_t kUsageMax = 4 * limits::kVnicsMax;

}  // namespace

void Topology::record_usage(Vnic& vnic, const std::optional<GuaranteeMeter::Period>& period, bool ends) {
    if (period && !(vnic.billed && vnic.billed->extend(*period))) {
        close_usage(vnic);
        vnic.billed = period;
    }
    if (ends)
        close_usage(vnic);
}

void Topology::close_usage(Vnic& vnic) {
    const auto period = std::exchange(vnic.billed, std::nullopt);
    if (!period || period->delivered == 0)
        return;
    if (usage_.size() == kUsageMax)
        usage_.pop_front();
    usage_.push_back({.vnic = vnic.config.name,
                      .usage = {.guarantee = period->kind,
                                .began = unix_origin_ + period->began,
                                .ended = unix_origin_ + period->ended,
                                .promised = period->promised,
                                .delivered = period->delivered}});
}

void Topology::set_billing_period(Nanos period) {
    const std::scoped_lock lock(mutex_);
    billing_period_ = period;
}

/// Billing periods end at whole multiples of their length since 1970, so that those of all vNICs end
/// together.
bool Topology::billing_period_ends(Nanos now) const {
    return billing_period_ <= kPeriod ||
           (unix_origin_ + now) / billing_period_ != (unix_origin_ + guarantees_ended_) / billing_period_;
}

std::vector<UsageReport> Topology::take_usage() {
    const std::scoped_lock lock(mutex_);
    std::vector<UsageReport> taken(usage_.begin(), usage_.end());
    usage_.clear();
    return taken;
}

/// While a worker does not answer, the period goes on: report() names the worker.
void Topology::end_guarantee_periods(Nanos now) {
    if (now - guarantees_ended_ < kPeriod)
        return;
    const bool bill_ends = billing_period_ends(now);
    guarantees_ended_ = now;
    try {
        take_snapshots();
        GuaranteeRound round(config_.uplink.capacity_bps() / kBitsPerByte);
        std::array<std::uint64_t, limits::kVnicsMax> rates_before{};
        for (VnicId id = 0; id < vnics_.size(); ++id) {
            if (!vnics_[id])
                continue;
            Vnic& vnic = *vnics_[id];
            rates_before[id] = vnic.guarantee->rate();
            const DirectionStats& from_vm = vnic.snapshot.from_vm;
            const auto period =
                vnic.guarantee->end_period(from_vm.delivered.bytes, now, from_vm.queued.packets != 0);
            record_usage(vnic, period, bill_ends || (period && period->kind != vnic.guarantee->kind()));
            if (period)
                round.add(*vnic.guarantee, *period);
        }
        round.settle();
        run_on_owners([this, &rates_before](VnicId id, Vnic& vnic) -> std::uint64_t {
            return vnic.guarantee->rate() == rates_before[id] ? 0 : post_profile(id, vnic.config);
        });
    } catch (const HostError&) {
    }
}

}  // namespace weir
