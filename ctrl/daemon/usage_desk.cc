// usage_desk.cc - which periods count, with whose promise, and how far a message is acknowledged.
#include "ctrl/daemon/usage_desk.h"

#include <algorithm>
#include <utility>

#include "common/units.h"

namespace weir {
namespace {

constexpr double kNanosOfSecond = 1e9;

bool is_impossible(const wire::Usage& period) {
    const double seconds = static_cast<double>(period.ended - period.began) / kNanosOfSecond;
    return static_cast<double>(period.delivered) > UsageDesk::kBytesPerSecondMax * seconds ||
           static_cast<double>(period.promised) > UsageDesk::kBytesPerSecondMax;
}

}  // namespace

UsageDesk::UsageDesk(const Cluster& cluster, BillWriter& bill, billing::UseTable& use, Note note)
    : cluster_(&cluster), bill_(bill), use_(use), note_(std::move(note)) {
    (void)bill_.take_outcomes();  // of an earlier controller of this process, whose keys were others
}

void UsageDesk::adopt(const Cluster& cluster, const Renumbering& places) {
    const auto moved = [&places](HostIndex host) { return host == kNowhere ? kNowhere : places.hosts[host]; };
    for (auto& [id, origin] : origins_) {
        origin.host = moved(origin.host);
        origin.host_before = moved(origin.host_before);
    }
    for (auto& [key, billed] : waiting_)
        billed.host = moved(billed.host);
    for (Billed& billed : billed_)
        billed.host = moved(billed.host);
    std::map<HostIndex, std::uint64_t> in_flight;
    for (const auto& [host, key] : in_flight_)
        if (moved(host) != kNowhere)
            in_flight.emplace(moved(host), key);
    in_flight_ = std::move(in_flight);
    cluster_ = &cluster;
}

/// The host that has the vNIC, or had it when the period began: its last periods come after it has left. A
/// controller that has just begun does not know which host had a vNIC that is on none now: it believes the
/// first that may have it and reports it.
bool UsageDesk::may_report(HostIndex host, const ClusterEnd& end, const wire::Usage& period,
                           std::int64_t now) {
    Origin& origin = origins_[end.id];
    const std::string& wanted = cluster_->config().tenants[end.tenant].vnics[end.index].host;
    const bool has_left = end.host == kNowhere && origin.host == kNowhere &&
                          (wanted.empty() || wanted == cluster_->config().hosts[host].name);
    if (end.host == host || has_left) {
        if (origin.host != host)
            origin = {.host = host, .host_before = origin.host, .changed = now};
        return true;
    }
    return origin.host == host ||
           (origin.host_before == host && static_cast<std::int64_t>(period.began) < origin.changed);
}

void UsageDesk::set_removed(std::map<std::uint32_t, RemovedVnic> removed) {
    removed_ = std::move(removed);
    removed_by_name_.clear();
    for (const auto& [id, vnic] : removed_)
        removed_by_name_.emplace(vnic.name, &vnic);
}

std::int64_t UsageDesk::nanos_of(const RemovedVnic& vnic) {
    return vnic.unix_time * static_cast<std::int64_t>(kNanosPerSec);
}

/// Of those that had a vNIC of this name, the one that had it at this time; null: the present one.
const RemovedVnic* UsageDesk::owner_at(const std::string& vnic, std::int64_t began) const {
    const RemovedVnic* owner = nullptr;
    const auto [first, last] = removed_by_name_.equal_range(vnic);
    for (auto each = first; each != last; ++each)
        if (began < nanos_of(*each->second) &&
            (owner == nullptr || each->second->unix_time < owner->unix_time))
            owner = each->second;
    return owner;
}

/// A vNIC that moves to another tenant gets another id, by which its switch sends periods from before, too;
/// and periods with the old one may still be under way.
std::optional<UsageDesk::Payer> UsageDesk::payer_of(const Sender& sender, const wire::Usage& period,
                                                    std::int64_t began, std::int64_t now) {
    const auto removed = removed_.find(period.vnic);
    const bool is_removed = removed != removed_.end();
    const ClusterEnd* const end =
        is_removed ? cluster_->find_vnic(removed->second.name) : cluster_->find_end(period.vnic);
    if ((end == nullptr || end->is_appliance) && !is_removed)
        return std::nullopt;
    const bool has_it = end != nullptr && may_report(sender.host, *end, period, now);
    if (!has_it && !(is_removed && sender.has_removed && sender.has_removed(removed->second.name)))
        return std::nullopt;
    const std::string& name =
        is_removed ? removed->second.name : cluster_->config().tenants[end->tenant].vnics[end->index].name;
    if (const RemovedVnic* const owner = owner_at(name, began))
        return Payer{.vnic = &owner->name,
                     .tenant = &owner->tenant,
                     .reservation_bps = owner->reservation_bps,
                     .until = end == nullptr ? INT64_MAX : nanos_of(*owner)};
    if (end == nullptr)
        return std::nullopt;
    const TenantConfig& tenant = cluster_->config().tenants[end->tenant];
    const TenantVnicConfig& vnic = tenant.vnics[end->index];
    return Payer{.vnic = &vnic.name,
                 .tenant = &tenant.name,
                 .reservation_bps = vnic.reservation_bps,
                 .is_dynamic = vnic.guarantee == GuaranteeKind::kDynamic};
}

/// Bytes are divided as the time is.
bool UsageDesk::add_records(const Sender& sender, const wire::Usage& period, std::int64_t now,
                            std::vector<billing::Record>& records) {
    const auto whole_began = static_cast<std::int64_t>(period.began);
    const auto ended = static_cast<std::int64_t>(period.ended);
    std::uint64_t left = period.delivered;
    for (std::int64_t began = whole_began; began < ended;) {
        const std::optional<Payer> payer = payer_of(sender, period, began, now);
        if (!payer)
            return began != whole_began;
        const std::int64_t until = std::min(ended, payer->until);
        const double part = static_cast<double>(until - began) / static_cast<double>(ended - began);
        const std::uint64_t delivered =
            until == ended ? left : static_cast<std::uint64_t>(static_cast<double>(left) * part);
        records.push_back({.vnic = *payer->vnic,
                           .tenant = *payer->tenant,
                           .guarantee_kind = period.guarantee,
                           .began = began,
                           .ended = until,
                           .promised = promise_of(cluster_->config().hosts[sender.host].name, *payer, period),
                           .delivered = delivered});
        left -= delivered;
        began = until;
    }
    return true;
}

bool UsageDesk::is_clock_shared(const Sender& sender, std::span<const wire::Usage> periods,
                                std::int64_t now) {
    std::int64_t last = INT64_MIN;
    for (const wire::Usage& period : periods)
        last = std::max(last, static_cast<std::int64_t>(period.ended) - now);
    clocks_[sender.host] = {.at = now, .is_ahead = last > kEarlyMax};
    std::erase_if(clocks_, [now](const auto& each) { return each.second.at + kClockLife < now; });
    const auto ahead = static_cast<std::size_t>(
        std::ranges::count_if(clocks_, [](const auto& each) { return each.second.is_ahead; }));
    const bool is_shared = 2 * ahead < clocks_.size();
    if (!is_shared)
        note_("clock",
              std::to_string(ahead) + " of " + std::to_string(clocks_.size()) +
                  " hosts that report are more than " +
                  std::to_string(kEarlyMax / static_cast<std::int64_t>(kNanosPerSec)) +
                  " s ahead of the controller's clock: set the controller's clock; their periods wait "
                  "at their switches until then",
              {});
    return is_shared;
}

/// The controller's own promise counts. A dynamic guarantee that the cluster file does not have is the
/// switch's alone: of a switch that does not know promises.
std::uint64_t UsageDesk::promise_of(const std::string& host, const Payer& payer, const wire::Usage& period) {
    const bool is_dynamic = period.guarantee == GuaranteeKind::kDynamic;
    if (is_dynamic && !payer.is_dynamic)
        return period.promised;
    const bool has_rate = is_dynamic || period.guarantee == GuaranteeKind::kStrict;
    const std::uint64_t own = has_rate ? payer.reservation_bps / kBitsPerByte : 0;
    if (own != period.promised) {
        ++counters_.promises;
        note_("promise",
              "vNIC " + *payer.vnic + " of host " + host + " reports a guarantee of " +
                  std::to_string(period.promised * kBitsPerByte) + " bit/s, the cluster file has " +
                  std::to_string(own * kBitsPerByte) +
                  ", which is billed; give both files the same reservation",
              host);
    }
    return own;
}

void UsageDesk::on_usage(const Sender& sender, std::span<const wire::Usage> periods, std::int64_t now) {
    if (in_flight_.contains(sender.host)) {  // its switch sent the message again before it was stored
        ++counters_.deferred;
        return;
    }
    const ClusterConfig& config = cluster_->config();
    const std::string& host = config.hosts[sender.host].name;
    Billed billed{.host = sender.host, .session = sender.session};
    std::uint64_t first = UINT64_MAX;
    std::uint64_t early = UINT64_MAX;
    Refused refused;
    BillWriter::Periods accepted;
    const bool is_shared = is_clock_shared(sender, periods, now);
    for (const wire::Usage& period : periods) {
        first = std::min(first, period.ended);
        billed.through = std::max(billed.through, period.ended);
        const std::int64_t ahead = static_cast<std::int64_t>(period.ended) - now;
        if (ahead > kEarlyMax && is_shared) {
            ++refused.future;
        } else if (is_impossible(period)) {
            ++refused.impossible;
        } else if (ahead > kAheadMax) {
            ++counters_.early;
            early = std::min(early, period.ended);
        } else if (!add_records(sender, period, now, accepted.records)) {
            ++refused.foreign;
        }
    }
    note_refused(host, refused);
    billed.through = std::min(billed.through, early - 1);
    for (const billing::Record& record : accepted.records)
        use_.add(record, sender.since);
    if (billed.through < first)  // nothing is stored or refused: the switch waits before it sends again
        return;
    if (!config.prices || accepted.records.empty()) {
        billed_.push_back(billed);
        return;
    }
    accepted.key = ++last_key_;
    waiting_.emplace(last_key_, billed);
    in_flight_.emplace(sender.host, last_key_);
    if (!bill_.post(std::move(accepted), *config.prices, now / static_cast<std::int64_t>(kNanosPerSec))) {
        ++counters_.deferred;
        waiting_.erase(last_key_);
        in_flight_.erase(sender.host);
    }
}

void UsageDesk::note_refused(const std::string& host, const Refused& refused) {
    counters_.future += refused.future;
    counters_.foreign += refused.foreign;
    counters_.impossible += refused.impossible;
    if (refused.future != 0)
        note_("refused",
              "billing periods of host " + host + " that end more than " +
                  std::to_string(kEarlyMax / static_cast<std::int64_t>(kNanosPerSec)) +
                  " s after the controller's clock; set the host's clock, and restart its weir-switch, "
                  "which reads it at its start",
              host);
    if (refused.foreign != 0)
        note_("refused", "billing periods of host " + host + " for vNICs that it does not have", host);
    if (refused.impossible != 0)
        note_("refused", "billing periods of host " + host + " with more than 1 Tbit/s", host);
}

std::vector<UsageDesk::Billed> UsageDesk::take_billed() {
    for (const BillWriter::Outcome& outcome : bill_.take_outcomes())
        on_outcome(outcome);
    std::erase_if(billed_, [](const Billed& billed) { return billed.host == kNowhere; });
    return std::exchange(billed_, {});
}

/// Without an answer the switch sends the periods again, so nothing is lost while the bill cannot be written.
void UsageDesk::on_outcome(const BillWriter::Outcome& outcome) {
    const auto found = waiting_.find(outcome.key);
    if (found == waiting_.end())
        return;
    const Billed billed = found->second;
    waiting_.erase(found);
    in_flight_.erase(billed.host);
    if (!outcome.is_stored)
        return;
    counters_.stored += outcome.appended.added;
    counters_.repeated += outcome.appended.repeated;
    counters_.clipped += outcome.appended.clipped;
    if (billed.host == kNowhere)  // the host was removed meanwhile
        return;
    if (outcome.appended.clipped != 0)
        note_("clipped",
              "billing periods of host " + cluster_->config().hosts[billed.host].name +
                  " that overlap others of the same vNIC; the part that is new is on the bill",
              cluster_->config().hosts[billed.host].name);
    billed_.push_back(billed);
}

}  // namespace weir
