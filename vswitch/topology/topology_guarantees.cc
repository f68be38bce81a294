// topology_guarantees.cc - periods of the vNICs' guarantees: what they got, and what varies with it.
#include "vswitch/topology/topology_guarantees.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/units.h"
#include "vswitch/qos/guarantees/guarantee_round.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

constexpr Nanos kPeriod = kNanosPerSec;
constexpr std::size_t kUsageMost = 4 * limits::kVnicsMax;

}  // namespace

Promise promise_of(const VnicConfig& config) {
    Promise promise;
    promise.kind = config.guarantee.value_or(config.reservation_bps != 0 ? GuaranteeKind::kStrict
                                                                         : GuaranteeKind::kFairness);
    promise.rate = config.reservation_bps / kBitsPerByte;
    promise.size = config.size_bytes;
    promise.time = config.time;
    return promise;
}

VnicConfig as_guaranteed_now(const VnicConfig& config, const GuaranteeMeter& meter) {
    VnicConfig now = config;
    if (config.guarantee != GuaranteeKind::kDynamic)
        return now;
    now.guarantee = meter.rate() == 0 ? GuaranteeKind::kFairness : meter.kind();
    now.reservation_bps = std::min(meter.rate() * kBitsPerByte, config.limit_bps.value_or(UINT64_MAX));
    return now;
}

GuaranteeReport guarantee_report(const GuaranteeMeter& meter) {
    return {.kind = meter.kind(),
            .rate_bps = meter.rate() * kBitsPerByte,
            .left_bytes = meter.left(),
            .time_left = meter.time_left()};
}

std::uint64_t Topology::post_profile(VnicId id, const VnicConfig& config) {
    Vnic& vnic = *vnics_[id];
    vnic.profile = profile_of(config, vnic);
    WorkerCommand command{WorkerCommand::Type::kChangeVnic};
    command.vnic = id;
    command.profile = &vnic.profile;
    return post(vnic.path->fixed.owner, command);
}

void Topology::note_usage(Vnic& vnic, const std::optional<GuaranteeMeter::Period>& period, bool ends) {
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
    if (usage_.size() == kUsageMost)
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

/// At whole multiples of it since 1970, so that the periods of all vNICs end together, and in order.
bool Topology::bill_ends(Nanos now) const {
    return billing_period_ <= kPeriod ||
           (unix_origin_ + now) / billing_period_ != (unix_origin_ + guarantees_turned_) / billing_period_;
}

std::vector<UsageReport> Topology::take_usage() {
    const std::scoped_lock lock(mutex_);
    std::vector<UsageReport> taken(usage_.begin(), usage_.end());
    usage_.clear();
    return taken;
}

/// A worker that does not answer is spoken of elsewhere: the period then lasts longer.
void Topology::turn_guarantees(Nanos now) {
    if (now - guarantees_turned_ < kPeriod)
        return;
    const bool ends = bill_ends(now);
    guarantees_turned_ = now;
    try {
        take_snapshots();
        GuaranteeRound round(config_.uplink.capacity_bps() / kBitsPerByte);
        std::array<std::uint64_t, limits::kVnicsMax> before{};
        for (VnicId id = 0; id < vnics_.size(); ++id) {
            if (!vnics_[id])
                continue;
            Vnic& vnic = *vnics_[id];
            before[id] = vnic.guarantee->rate();
            const DirectionStats& sent = vnic.snapshot.from_vm;
            const auto period =
                vnic.guarantee->end_period(sent.delivered.bytes, now, sent.queued.packets != 0);
            note_usage(vnic, period, ends || (period && period->kind != vnic.guarantee->kind()));
            if (period)
                round.add(*vnic.guarantee, *period);
        }
        round.settle();
        tell_owners([this, &before](VnicId id, Vnic& vnic) -> std::uint64_t {
            return vnic.guarantee->rate() == before[id] ? 0 : post_profile(id, vnic.config);
        });
    } catch (const HostError&) {
    }
}

}  // namespace weir
