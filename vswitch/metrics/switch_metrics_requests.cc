// switch_metrics_requests.cc - families of the requests of each vNIC to each of its appliances.
#include <array>

#include "vswitch/metrics/sample_kinds.h"
#include "vswitch/metrics/switch_metrics.h"

namespace weir {
namespace {

using metrics::Samples;
using metrics::Type;
using Requests = metrics::FamilyOf<RequestFlowStats>;

constexpr auto kAppliance = static_cast<std::size_t>(PathResource::kAppliance);

constexpr std::array kRequests{
    Requests{{"weir_requests", Type::kCounter, "",
              "Requests of the vNIC to the appliance, those that wait included"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.requests); }},
    Requests{{"weir_requests_responses", Type::kCounter, "", "Responses to them"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.responses); }},
    Requests{{"weir_requests_failed", Type::kCounter, "", "Responses that report an error"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.failed); }},
    Requests{
        {"weir_requests_used_tokens", Type::kCounter, "tokens", "Tokens of the appliance that were charged"},
        [](const RequestFlowStats& stats, const Samples& out) { out(stats.used[kAppliance]); }},
    Requests{{"weir_requests_queued_tokens", Type::kGauge, "tokens",
              "Tokens of the requests that wait in the switch"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.queued[kAppliance]); }},
    Requests{{"weir_requests_limit_tokens_per_second", Type::kGauge, "tokens_per_second",
              "Rate at the appliance that is allowed now; no sample: any"},
             [](const RequestFlowStats& stats, const Samples& out) {
                 if (stats.limit[kAppliance] != UINT64_MAX)
                     out(stats.limit[kAppliance]);
             }},
    Requests{{"weir_requests_blocked_seconds", Type::kCounter, "seconds",
              "Time that each bucket, and the window of the appliance, held requests back"},
             [](const RequestFlowStats& stats, const Samples& out) {
                 for (std::size_t i = 0; i < kRequestHolds; ++i)
                     out.seconds(metrics::label("bucket", kRequestHoldNames[i]).text(), stats.blocked_ns[i]);
             }},
    Requests{{"weir_requests_outstanding", Type::kGauge, "", "Requests at the appliance now"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.outstanding); }},
    Requests{{"weir_requests_outstanding_tokens", Type::kGauge, "tokens", "Tokens of these requests"},
             [](const RequestFlowStats& stats, const Samples& out) { out(stats.outstanding_tokens); }},
    Requests{{"weir_requests_latency_seconds", Type::kSummary, "seconds",
              "Time from the forwarding of a request to its response, since the start"},
             [](const RequestFlowStats& stats, const Samples& out) {
                 write_quantiles(out, stats.latency_p50, stats.latency_p99, stats.latency_max);
             }},
};

}  // namespace

void write_request_metrics(const SwitchReport& report, metrics::Exposition& page) {
    std::vector<metrics::Labels> labels;
    std::vector<RequestFlowStats> flows;
    for (const VnicReport& vnic : report.vnics)
        for (const RequestFlowReport& flow : vnic.request_flows) {
            labels.push_back(metrics::label("vnic", vnic.config.name)
                                 .add("tenant", vnic.config.tenant)
                                 .add("appliance", report.config->appliances.at(flow.appliance).name));
            flows.push_back(flow.stats);
        }
    write_families(page, kRequests, flows, labels);
}

}  // namespace weir
