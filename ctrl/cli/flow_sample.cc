// flow_sample.cc - two readings of flows in, rates out.
#include <algorithm>

#include "ctrl/cli/flow_view.h"
#include "ctrl/cli/sample.h"

namespace weir::cli {
namespace {

const json& same_flow(const json& list, const json& flow) {
    static const json kNone = json::object();
    for (const json& entry : list)
        if (at(entry, "/vnic") == at(flow, "/vnic") && at(entry, "/appliance") == at(flow, "/appliance"))
            return entry;
    return kNone;
}

}  // namespace

double seconds_between(const json& before, const json& after) {
    return growth(before, after, "/uptime_s");
}

json flow_rates(const json& before, const json& after, double seconds) {
    constexpr double kNanosPerPercent = 1e7;  // of a second
    const auto rate = [&](const std::string& pointer) {
        return growth(before, after, pointer.c_str()) / seconds;
    };
    json flow{{"vnic", at(after, "/vnic")},
              {"appliance", at(after, "/appliance")},
              {"limit_per_second", at(after, "/limit")},
              {"queued", at(after, "/queued")},
              {"held_back_by", nullptr},
              {"requests_per_second", number_or_null(rate("/requests"))},
              {"responses_per_second", number_or_null(rate("/responses"))},
              {"failed_per_second", number_or_null(rate("/failed"))},
              {"plain_bytes_per_second", number_or_null(rate("/plain_bytes"))},
              {"held", at(after, "/held")},
              {"outstanding", at(after, "/outstanding")},
              {"outstanding_tokens", at(after, "/outstanding_tokens")},
              {"connections", at(after, "/connections")},
              {"latency_ns", at(after, "/latency_ns")}};
    for (const char* const counter : {"requests", "responses", "failed", "plain_bytes", "held_total", "used"})
        flow["total"][counter] = at(after, (std::string("/") + counter).c_str());
    double longest = 0;
    const auto add_blocked = [&](const std::string& by) {
        const double blocked = std::min(rate("/blocked_ns/" + by) / kNanosPerPercent, 100.0);
        flow["blocked_percent"][by] = number_or_null(blocked);
        if (blocked > longest) {
            longest = blocked;
            flow["held_back_by"] = by;
        }
    };
    for (const std::string resource : kPathResources) {
        flow["used_per_second"][resource] = number_or_null(rate("/used/" + resource));
        add_blocked(resource);
    }
    add_blocked(kWindow);
    return flow;
}

json flow_sample(const json& before, const json& after) {
    const double seconds = seconds_between(before, after);
    json sample{{"seconds", number_or_null(seconds)},
                {"accounting", at(after, "/accounting")},
                {"appliances", list_at(after, "/appliances")},
                {"flows", json::array()}};
    for (const json& flow : list_at(after, "/flows"))
        sample["flows"].push_back(flow_rates(same_flow(list_at(before, "/flows"), flow), flow, seconds));
    return sample;
}

}  // namespace weir::cli
