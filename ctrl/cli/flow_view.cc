// flow_view.cc - a flow a line, then what is outstanding at each appliance.
#include "ctrl/cli/flow_view.h"

#include <cmath>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

double per_second(const json& flow, const char* what, const std::string& resource) {
    return number_at(flow, (std::string(what) + '/' + resource).c_str());
}

Cell held_back_by_cell(const json& flow) {
    const std::string by = text_at(flow, "/held_back_by");
    if (by == "-")
        return "-";
    return {by + ' ' + percent_text(per_second(flow, "/blocked_percent", by)), Style::kWarn};
}

// A count, and in brackets what it costs.
std::string with_tokens(double count, double tokens) {
    return human_count(count) + " (" + human_count(tokens) + ")";
}

std::string flows_table(const json& flows, const Terminal& terminal) {
    Table table({{"VNIC"},
                 {"APPLIANCE"},
                 {"REQUESTS/S", true},
                 {"TOKENS", true},
                 {"UPLINK", true, 2},
                 {"DOWNLINK", true, 1},
                 {"HELD BACK BY"},
                 {"QUEUED (TOKENS)", true, 4},
                 {"OUTSTANDING (TOKENS)", true, 5},
                 {"LATENCY P50", true, 3},
                 {"P99", true, 3}});
    for (const json& flow : flows)
        table.add_row({text_at(flow, "/vnic"), text_at(flow, "/appliance"),
                       human_count(number_at(flow, "/requests_per_second")), used_of_text(flow, "appliance"),
                       used_of_text(flow, "uplink"), used_of_text(flow, "downlink"), held_back_by_cell(flow),
                       with_tokens(number_at(flow, "/held"), number_at(flow, "/queued/appliance")),
                       with_tokens(number_at(flow, "/outstanding"), number_at(flow, "/outstanding_tokens")),
                       human_duration(number_at(flow, "/latency_ns/p50")),
                       human_duration(number_at(flow, "/latency_ns/p99"))});
    return table.render(terminal.columns, terminal.colour);
}

std::string appliances_table(const json& appliances, const Terminal& terminal) {
    Table table({{"APPLIANCE"},
                 {"ADDRESS"},
                 {"PROTOCOL"},
                 {"OUTSTANDING (TOKENS)", true},
                 {"WINDOW", true, 2},
                 {"COST", false, 1}});
    for (const json& appliance : appliances) {
        const std::string address = text_at(appliance, "/address");
        const bool v6 = address.find(':') != std::string::npos;
        table.add_row(
            {text_at(appliance, "/name"),
             (v6 ? "[" + address + "]" : address) + ':' + whole_text(number_at(appliance, "/port")),
             text_at(appliance, "/protocol"),
             with_tokens(number_at(appliance, "/outstanding"), number_at(appliance, "/outstanding_tokens")),
             human_count(number_at(appliance, "/window_tokens")), text_at(appliance, "/cost")});
    }
    return table.render(terminal.columns, terminal.colour);
}

}  // namespace

std::string used_text(const std::string& resource, double rate) {
    if (resource == "cycles")
        return human_cycle_rate(rate);
    return resource == "appliance" ? human_token_rate(rate) : human_rate(kBitsPerByte * rate);
}

std::string used_of_text(const json& flow, const std::string& resource) {
    const std::string used = used_text(resource, per_second(flow, "/used_per_second", resource));
    const double limit = per_second(flow, "/limit_per_second", resource);
    return std::isfinite(limit) ? used + " of " + used_text(resource, limit) : used;
}

std::string flow_text(const json& sample, const Terminal& terminal) {
    const json& flows = list_at(sample, "/flows");
    const json& appliances = list_at(sample, "/appliances");
    if (appliances.empty())
        return "no appliances: the configuration names them under \"appliances\"\n";
    std::string text = flows.empty() ? "no flows: no vNIC here has a part of an appliance, \"appliances\"\n"
                                     : flows_table(flows, terminal);
    return text + '\n' + appliances_table(appliances, terminal);
}

}  // namespace weir::cli
