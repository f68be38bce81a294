// why_sample.cc - two answers to `why` in, buckets out.
#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "ctrl/cli/flow_view.h"
#include "ctrl/cli/sample.h"
#include "ctrl/cli/why_view.h"

namespace weir::cli {
namespace {

struct Readings {
    const json& before;
    const json& after;
    double seconds;

    [[nodiscard]] double rate(const char* pointer) const { return growth(before, after, pointer) / seconds; }
};

json bucket(const char* name, const json& appliance, double blocked_percent) {
    return {{"bucket", name},
            {"appliance", appliance},
            {"blocked_percent", number_or_null(blocked_percent)},
            {"unit", "bit/s"},
            {"used", nullptr},
            {"limit", nullptr},
            {"others", json::array()}};
}

double held_percent(const Readings& readings, const char* reason) {
    constexpr double kNanosPerPercent = 1e7;  // of a second
    const std::string pointer = std::string("/vnic/held_back_ns/") + reason;
    return std::min(readings.rate(pointer.c_str()) / kNanosPerPercent, 100.0);
}

// Only those who used something, most first.
void add_other(json& others, const json& vnic, double used) {
    if (used > 0)
        others.push_back({{"vnic", vnic}, {"used", used}});
}

void sort_others(json& others) {
    std::stable_sort(others.begin(), others.end(), [](const json& a, const json& b) {
        return a["used"].get<double>() > b["used"].get<double>();
    });
}

json limit_bucket(const Readings& readings) {
    json own = bucket("limit", nullptr, held_percent(readings, "limit"));
    const bool by_packets = !at(readings.after, "/vnic/limit_bps").is_number() &&
                            at(readings.after, "/vnic/limit_pps").is_number();
    own["unit"] = by_packets ? "packets/s" : "bit/s";
    own["used"] = number_or_null(by_packets ? readings.rate("/vnic/from_vm/admitted/packets")
                                            : kBitsPerByte * readings.rate("/vnic/from_vm/admitted/bytes"));
    own["limit"] = at(readings.after, by_packets ? "/vnic/limit_pps" : "/vnic/limit_bps");
    return own;
}

// Of the link what all have sent.
json uplink_bucket(const Readings& readings) {
    json link = bucket("uplink", nullptr, held_percent(readings, "uplink"));
    link["used"] = number_or_null(kBitsPerByte * readings.rate("/uplink/tx/bytes"));
    link["limit"] = at(readings.after, "/uplink/capacity_bps");
    for (const json& other : list_at(readings.after, "/others")) {
        const json& then = named(list_at(readings.before, "/others"), "/name", at(other, "/name"));
        add_other(link["others"], at(other, "/name"),
                  kBitsPerByte * growth(then, other, "/uplink_bytes") / readings.seconds);
    }
    sort_others(link["others"]);
    return link;
}

// Reasons that never occurred are not listed.
double congested_per_second(const Readings& readings) {
    if (!at(readings.after, "/vnic/from_vm/drops").is_object())
        return std::numeric_limits<double>::quiet_NaN();
    const double dropped = number_at(readings.after, "/vnic/from_vm/drops/destination_congested");
    return std::isfinite(dropped) ? readings.rate("/vnic/from_vm/drops/destination_congested") : 0;
}

struct ResourceUnit {
    const char* name;
    double factor;  // of the reading's
};
ResourceUnit unit_of(const std::string& resource) {
    if (resource == "appliance")
        return {"tokens/s", 1};
    return resource == "cycles" ? ResourceUnit{"cycles/s", 1} : ResourceUnit{"bit/s", kBitsPerByte};
}

double used_of(const json& flow, const std::string& resource) {
    return unit_of(resource).factor * number_at(flow, ("/used_per_second/" + resource).c_str());
}

json flow_bucket(const json& flow, const std::string& resource, const json& all_flows) {
    json one = bucket(resource.c_str(), at(flow, "/appliance"),
                      number_at(flow, ("/blocked_percent/" + resource).c_str()));
    const double limit = number_at(flow, ("/limit_per_second/" + resource).c_str());
    one["unit"] = unit_of(resource).name;
    one["used"] = number_or_null(used_of(flow, resource));
    one["limit"] = number_or_null(unit_of(resource).factor * limit);
    for (const json& other : all_flows)
        if (at(other, "/appliance") == at(flow, "/appliance") && at(other, "/vnic") != at(flow, "/vnic"))
            add_other(one["others"], at(other, "/vnic"), used_of(other, resource));
    sort_others(one["others"]);
    return one;
}

// Of the window what all have outstanding now.
json window_bucket(const json& flow, const json& appliance, const json& all_flows) {
    json one = bucket(kWindow, at(flow, "/appliance"), number_at(flow, "/blocked_percent/window"));
    one["unit"] = "tokens";
    one["used"] = at(appliance, "/outstanding_tokens");
    one["limit"] = at(appliance, "/window_tokens");
    for (const json& other : all_flows)
        if (at(other, "/appliance") == at(flow, "/appliance") && at(other, "/vnic") != at(flow, "/vnic"))
            add_other(one["others"], at(other, "/vnic"), number_at(other, "/outstanding_tokens"));
    sort_others(one["others"]);
    return one;
}

void add_flow_buckets(json& buckets, const json& flow, const json& sample) {
    const json& flows = sample["flows"];
    for (const std::string resource : kPathResources)
        if (resource != "cycles" || at(flow, "/limit_per_second/cycles").is_number())
            buckets.push_back(flow_bucket(flow, resource, flows));
    const json& appliance = named(list_at(sample, "/appliances"), "/name", at(flow, "/appliance"));
    if (at(appliance, "/window_tokens").is_number())
        buckets.push_back(window_bucket(flow, appliance, flows));
}

// The bucket that blocked longest; null when none did for a share of time that shows.
json longest(const json& buckets) {
    constexpr double kShown = 0.05;  // percent
    json found;
    double most = kShown;
    for (const json& each : buckets) {
        const double blocked = number_at(each, "/blocked_percent");
        if (!(blocked >= most))
            continue;
        most = blocked;
        found = {{"bucket", each["bucket"]}, {"appliance", each["appliance"]}, {"blocked_percent", blocked}};
    }
    return found;
}

}  // namespace

json why_sample(const json& before, const json& after) {
    const Readings readings{before, after, seconds_between(before, after)};
    const json sample = flow_sample(before, after);
    const json& name = at(after, "/vnic/name");
    json buckets{limit_bucket(readings), uplink_bucket(readings),
                 bucket("buffers", nullptr, held_percent(readings, "buffers"))};
    if (at(readings.after, "/vnic/encrypt") == true)
        buckets.push_back(bucket("encryption", nullptr, held_percent(readings, "encryption")));
    for (const json& flow : sample["flows"])
        if (at(flow, "/vnic") == name)
            add_flow_buckets(buckets, flow, sample);
    json held_back_by = longest(buckets);
    return {{"seconds", number_or_null(readings.seconds)},
            {"accounting", at(after, "/accounting")},
            {"isolation", at(after, "/isolation")},
            {"vnic", name},
            {"state", at(after, "/vnic/state")},
            {"offered_bps", number_or_null(kBitsPerByte * readings.rate("/vnic/from_vm/offered/bytes"))},
            {"delivered_bps", number_or_null(kBitsPerByte * readings.rate("/vnic/from_vm/delivered/bytes"))},
            {"limit_bps", at(after, "/vnic/limit_bps")},
            {"limit_pps", at(after, "/vnic/limit_pps")},
            {"limiters", at(after, "/vnic/limiters")},
            {"destination_congested_per_second", number_or_null(congested_per_second(readings))},
            {"held_back_by", std::move(held_back_by)},
            {"buckets", std::move(buckets)}};
}

}  // namespace weir::cli
