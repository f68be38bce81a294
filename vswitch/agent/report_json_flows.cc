// report_json_flows.cc - JSON of service flows, and of the reasons that held a vNIC back.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "vswitch/agent/report_json.h"

namespace weir {
namespace {

using nlohmann::json;

/// One member for each resource of a request's path, and for the window.
template <std::size_t N>
json by_resource(const std::array<std::uint64_t, N>& values) {
    static_assert(N <= kRequestHolds);
    json members = json::object();
    for (std::size_t i = 0; i < N; ++i)
        members[kRequestHoldNames[i]] = values[i] == UINT64_MAX ? json(nullptr) : json(values[i]);
    return members;
}

json flow_json(const SwitchReport& report, const VnicReport& vnic, const RequestFlowReport& flow) {
    const RequestFlowStats& stats = flow.stats;
    return {
        {"vnic", vnic.config.name},
        {"appliance", report.config->appliances.at(flow.appliance).name},
        {"used", by_resource(stats.used)},
        {"limit", by_resource(stats.limit)},
        {"queued", by_resource(stats.queued)},
        {"blocked_ns", by_resource(stats.blocked_ns)},
        {"requests", stats.requests},
        {"responses", stats.responses},
        {"failed", stats.failed},
        {"plain_bytes", stats.plain_bytes},
        {"repeated_bytes", stats.repeated_bytes},
        {"held", stats.held},
        {"held_total", stats.held_total},
        {"outstanding", stats.outstanding},
        {"outstanding_tokens", stats.outstanding_tokens},
        {"overdue_tokens", stats.overdue_tokens},
        {"connections", stats.connections},
        {"latency_ns", {{"p50", stats.latency_p50}, {"p99", stats.latency_p99}, {"max", stats.latency_max}}}};
}

/// Each appliance's configuration, with the requests that all vNICs of this host have outstanding there.
json appliances_json(const SwitchReport& report) {
    json appliances = json::array();
    for (const ApplianceConfig& config : report.config->appliances) {
        std::uint64_t outstanding = 0;
        std::uint64_t tokens = 0;
        for (const VnicReport& vnic : report.vnics)
            for (const RequestFlowReport& flow : vnic.request_flows)
                if (flow.appliance == appliances.size()) {
                    outstanding += flow.stats.outstanding;
                    tokens += flow.stats.outstanding_tokens;
                }
        appliances.push_back(
            {{"name", config.name},
             {"address", config.address},
             {"port", config.port},
             {"protocol", config.protocol},
             {"cost", config.cost},
             {"window_tokens", config.window_tokens ? json(*config.window_tokens) : json(nullptr)},
             {"outstanding", outstanding},
             {"outstanding_tokens", tokens}});
    }
    return appliances;
}

json head_json(const SwitchReport& report) {
    return {{"uptime_s", to_seconds(report.uptime_ns)},
            {"accounting", report.config->accounting == Accounting::kWire ? "wire" : "l2"},
            {"appliances", appliances_json(report)},
            {"flows", json::array()}};
}

bool uses(const VnicReport& vnic, std::uint16_t appliance) {
    return std::any_of(vnic.request_flows.begin(), vnic.request_flows.end(),
                       [appliance](const RequestFlowReport& flow) { return flow.appliance == appliance; });
}

}  // namespace

json flows_json(const SwitchReport& report, const VnicReport* vnic) {
    json answer = head_json(report);
    for (const VnicReport& each : report.vnics)
        if (vnic == nullptr || &each == vnic)
            for (const RequestFlowReport& flow : each.request_flows)
                answer["flows"].push_back(flow_json(report, each, flow));
    return answer;
}

json why_json(const SwitchReport& report, const VnicReport& vnic) {
    json answer = head_json(report);
    answer["isolation"] = report.config->isolation;
    answer["uplink"] = uplink_json(report);
    answer["vnic"] = vnic_json(vnic);
    json others = json::array();
    for (const VnicReport& each : report.vnics) {
        for (const RequestFlowReport& flow : each.request_flows)
            if (uses(vnic, flow.appliance))
                answer["flows"].push_back(flow_json(report, each, flow));
        if (&each != &vnic)
            others.push_back({{"name", each.config.name}, {"uplink_bytes", each.stats.uplink_bytes}});
    }
    answer["others"] = std::move(others);
    return answer;
}

}  // namespace weir
