// top_sample.cc - two snapshots to rates, the rates of the last samples, and the order of the vNICs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"

namespace weir::cli {
namespace {

/// Delivered rate divided by the part of the reservation that the VM wanted: the rate that it offered, or the
/// whole reservation while its ring was held back, when the VM could not offer more. At most 1.
double fulfillment(double delivered, double offered, double reservation, double held_back_percent) {
    constexpr double kHeldBack = 1;  // percent of the time
    const double wanted = held_back_percent > kHeldBack ? reservation : std::min(reservation, offered);
    if (!(reservation > 0) || !(wanted > 0))
        return std::numeric_limits<double>::quiet_NaN();
    return std::min(delivered / wanted, 1.0);
}

/// Drops per second by reason, both directions added up.
json drop_rates(const json& before, const json& after, double seconds) {
    json rates = json::object();
    for (const char* direction : {"/from_vm/drops", "/to_vm/drops"}) {
        const json& then = list_at(before, direction);
        for (const auto& [reason, count] : list_at(after, direction).items()) {
            if (!count.is_number())
                continue;
            const auto old = then.find(reason);
            const double was = old != then.end() && old->is_number() ? old->get<double>() : 0;
            const double rate = growth(was, count.get<double>()) / seconds;
            if (rate > 0)
                rates[reason] = rates.value(reason, 0.0) + rate;
        }
    }
    return rates;
}

json vnic_sample(const json& before, const json& after, double seconds, double tsc_hz) {
    const auto rate = [&](const char* pointer) { return growth(before, after, pointer) / seconds; };
    const double offered = kBitsPerByte * rate("/from_vm/offered/bytes");
    const double delivered = kBitsPerByte * rate("/from_vm/delivered/bytes");
    const double held_back = std::min(rate("/held_back_ns/total") / kNanosPerPercent, 100.0);
    const double reservation = number_at(after, "/reservation_bps");
    return {{"name", at(after, "/name")},
            {"tenant", at(after, "/tenant")},
            {"state", at(after, "/state")},
            {"offered_bps", number_or_null(offered)},
            {"delivered_bps", number_or_null(delivered)},
            {"received_bps", number_or_null(kBitsPerByte * rate("/to_vm/delivered/bytes"))},
            {"offered_pps", number_or_null(rate("/from_vm/offered/packets"))},
            {"delivered_pps", number_or_null(rate("/from_vm/delivered/packets"))},
            {"reservation_bps", at(after, "/reservation_bps")},
            {"limit_bps", at(after, "/limit_bps")},
            {"limit_pps", at(after, "/limit_pps")},
            {"fulfillment", number_or_null(fulfillment(delivered, offered, reservation, held_back))},
            {"held_back_percent", number_or_null(held_back)},
            {"queue_delay_ns", at(after, "/queue_delay_ns")},
            {"cpu_percent", number_or_null(100 * rate("/cycles") / tsc_hz)},
            {"drops_per_second", drop_rates(before, after, seconds)}};
}

json worker_sample(const json& before, const json& after) {
    const auto grown = [&](const char* pointer) { return growth(before, after, pointer); };
    const double busy = grown("/busy_cycles");
    const double packets = grown("/packets");
    return {{"id", at(after, "/id")},
            {"core", at(after, "/core")},
            {"busy_percent", number_or_null(100 * busy / (busy + grown("/idle_cycles")))},
            {"mean_burst", number_or_null(packets / grown("/bursts"))},
            {"cycles_per_packet", number_or_null(busy / packets)}};
}

json uplink_sample(const json& before, const json& after, double seconds) {
    if (!after.is_object())
        return nullptr;
    const auto bits = [&](const char* pointer) {
        return number_or_null(kBitsPerByte * growth(before, after, pointer) / seconds);
    };
    return {{"sent_bps", bits("/tx/bytes")},
            {"received_bps", bits("/rx/bytes")},
            {"capacity_bps", at(after, "/capacity_bps")}};
}

/// The value of a key of kTopKeys that the vNICs are sorted by, the largest first.
double sort_value(const json& vnic, const std::string& key) {
    constexpr double kLast = -std::numeric_limits<double>::infinity();
    static const std::map<std::string, const char*> kMembers{
        {"offered", "/offered_bps"},      {"delivered", "/delivered_bps"},
        {"received", "/received_bps"},    {"reservation", "/reservation_bps"},
        {"fulfillment", "/fulfillment"},  {"held-back", "/held_back_percent"},
        {"delay", "/queue_delay_ns/p99"}, {"cpu", "/cpu_percent"}};
    double value = 0;
    if (const auto member = kMembers.find(key); member != kMembers.end())
        value = number_at(vnic, member->second);
    else
        for (const auto& [reason, rate] : list_at(vnic, "/drops_per_second").items())
            value += number_at(rate, "");
    if (!std::isfinite(value))
        return kLast;
    return key == "fulfillment" ? -value : value;
}

}  // namespace

json top_sample(const Snapshot& before, const Snapshot& after, double seconds) {
    json sample{{"host", at(after.status, "/host")},
                {"seconds", seconds},
                {"accounting", at(after.status, "/accounting")},
                {"isolation", at(after.status, "/isolation")},
                {"uplink", uplink_sample(at(before.status, "/uplink"), at(after.status, "/uplink"), seconds)},
                {"workers", json::array()},
                {"vnics", json::array()}};
    for (const json& worker : list_at(after.status, "/workers"))
        sample["workers"].push_back(
            worker_sample(entry_with(list_at(before.status, "/workers"), "/id", at(worker, "/id")), worker));
    const double tsc_hz = number_at(after.status, "/tsc_hz");
    for (const json& vnic : list_at(after.vnics, "/vnics"))
        sample["vnics"].push_back(vnic_sample(
            entry_with(list_at(before.vnics, "/vnics"), "/name", at(vnic, "/name")), vnic, seconds, tsc_hz));
    return sample;
}

void top_select(json& sample, const std::string& filter, const std::string& key) {
    json& vnics = sample["vnics"];
    if (!filter.empty()) {
        json left = json::array();
        for (json& vnic : vnics)
            if (text_at(vnic, "/name").find(filter) != std::string::npos ||
                text_at(vnic, "/tenant").find(filter) != std::string::npos)
                left.push_back(std::move(vnic));
        vnics = std::move(left);
    }
    const auto& list = vnics.get_ref<const json::array_t&>();
    if (key.empty())
        return;
    if (key == "name") {
        std::ranges::stable_sort(vnics.get_ref<json::array_t&>(), {},
                                 [](const json& vnic) { return text_at(vnic, "/name"); });
        return;
    }
    std::vector<std::pair<double, std::size_t>>
        order;  // descending by value; values that cannot be computed are last
    for (std::size_t i = 0; i < list.size(); ++i)
        order.emplace_back(sort_value(list[i], key), i);
    std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<double, std::size_t>::first);
    json sorted = json::array();
    for (const auto& [value, i] : order)
        sorted.push_back(list[i]);
    vnics = std::move(sorted);
}

void TopHistory::note(json& sample) {
    std::map<std::string, std::deque<double>> now;
    for (json& vnic : sample["vnics"]) {
        std::deque<double> rates = std::move(rates_[text_at(vnic, "/name")]);
        const double rate = number_at(vnic, "/delivered_bps");
        rates.push_back(std::isfinite(rate) ? rate : 0);
        if (rates.size() > kSamples)
            rates.pop_front();
        vnic["recent_bps"] = rates;
        now[text_at(vnic, "/name")] = std::move(rates);
    }
    rates_ = std::move(now);  // without the vNICs that are gone
}

}  // namespace weir::cli
