// top_sample.cc - two snapshots in, rates out.
#include <algorithm>
#include <cmath>

#include "ctrl/cli/sample.h"
#include "ctrl/cli/top_view.h"

namespace weir::cli {
namespace {

// Delivered over what the vNIC wanted of its reservation. While it is held back it wants all of it.
double fulfillment(double delivered, double offered, double reservation, double held_back_percent) {
    constexpr double kHeldBack = 1;  // percent of the time
    const double wanted = held_back_percent > kHeldBack ? reservation : std::min(reservation, offered);
    if (!(reservation > 0) || !(wanted > 0))
        return std::numeric_limits<double>::quiet_NaN();
    return std::min(delivered / wanted, 1.0);
}

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
    const double offered = 8 * rate("/from_vm/offered/bytes");
    const double delivered = 8 * rate("/from_vm/delivered/bytes");
    const double held_back = std::min(rate("/held_back_ns/total") / 1e7, 100.0);
    const double reservation = number_at(after, "/reservation_bps");
    return {{"name", at(after, "/name")},
            {"state", at(after, "/state")},
            {"offered_bps", number_or_null(offered)},
            {"delivered_bps", number_or_null(delivered)},
            {"received_bps", number_or_null(8 * rate("/to_vm/delivered/bytes"))},
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

}  // namespace

json top_sample(const Snapshot& before, const Snapshot& after, double seconds) {
    json sample{{"host", at(after.status, "/host")},
                {"seconds", seconds},
                {"accounting", at(after.status, "/accounting")},
                {"isolation", at(after.status, "/isolation")},
                {"uplink", nullptr},
                {"workers", json::array()},
                {"vnics", json::array()}};
    if (const json& uplink = at(after.status, "/uplink"); uplink.is_object())
        sample["uplink"] = {
            {"sent_bps",
             number_or_null(8 * growth(at(before.status, "/uplink"), uplink, "/tx/bytes") / seconds)},
            {"received_bps",
             number_or_null(8 * growth(at(before.status, "/uplink"), uplink, "/rx/bytes") / seconds)},
            {"capacity_bps", at(uplink, "/capacity_bps")}};
    for (const json& worker : list_at(after.status, "/workers"))
        sample["workers"].push_back(
            worker_sample(named(list_at(before.status, "/workers"), "/id", at(worker, "/id")), worker));
    const double tsc_hz = number_at(after.status, "/tsc_hz");
    for (const json& vnic : list_at(after.vnics, "/vnics"))
        sample["vnics"].push_back(vnic_sample(
            named(list_at(before.vnics, "/vnics"), "/name", at(vnic, "/name")), vnic, seconds, tsc_hz));
    return sample;
}

}  // namespace weir::cli
