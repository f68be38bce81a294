// flow.cc - weirctl flow list: two replies to rates, and a row per flow and per appliance.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

const json& same_flow(const json& list, const json& flow) {
    static const json kNone = json::object();
    for (const json& entry : list)
        if (at(entry, "/vnic") == at(flow, "/vnic") && at(entry, "/appliance") == at(flow, "/appliance"))
            return entry;
    return kNone;
}

json flow_rates(const json& before, const json& after, double seconds) {
    const auto rate = [&](const std::string& pointer) { return growth(before, after, pointer) / seconds; };
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
              {"overdue_tokens", at(after, "/overdue_tokens")},
              {"connections", at(after, "/connections")},
              {"latency_ns", at(after, "/latency_ns")}};
    for (const char* const counter : {"requests", "responses", "failed", "plain_bytes", "held_total", "used"})
        flow["total"][counter] = at(after, std::string("/") + counter);
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

double per_second(const json& flow, const std::string& what, const std::string& resource) {
    return number_at(flow, what + '/' + resource);
}

/// In the resource's own unit: "783 tokens/s", "40 kbit/s".
std::string rate_text(const std::string& resource, double rate) {
    return resource == "appliance" ? human_token_rate(rate) : human_rate(kBitsPerByte * rate);
}

/// "783 tokens/s of 800 tokens/s"; without a limit only the used rate.
std::string used_text(const json& flow, const std::string& resource) {
    const std::string used = rate_text(resource, per_second(flow, "/used_per_second", resource));
    const double limit = per_second(flow, "/limit_per_second", resource);
    return std::isfinite(limit) ? used + " of " + rate_text(resource, limit) : used;
}

Cell held_back_by_cell(const json& flow) {
    const std::string by = text_at(flow, "/held_back_by");
    if (by == "-")
        return "-";
    return {by + ' ' + percent_text(per_second(flow, "/blocked_percent", by)), Style::kWarn};
}

/// Requests, and their tokens in brackets.
std::string with_tokens(double count, double tokens) {
    return human_count(count) + " (" + human_count(tokens) + ")";
}

/// Requests without a response, their tokens, and the overdue ones of these, which hold the appliance's
/// window no longer.
std::string outstanding_text(const json& flow) {
    const double overdue = number_at(flow, "/overdue_tokens");
    return with_tokens(number_at(flow, "/outstanding"), number_at(flow, "/outstanding_tokens")) +
           (overdue > 0 ? ", " + human_count(overdue) + " overdue" : "");
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
                       human_count(number_at(flow, "/requests_per_second")), used_text(flow, "appliance"),
                       used_text(flow, "uplink"), used_text(flow, "downlink"), held_back_by_cell(flow),
                       with_tokens(number_at(flow, "/held"), number_at(flow, "/queued/appliance")),
                       outstanding_text(flow), human_duration(number_at(flow, "/latency_ns/p50")),
                       human_duration(number_at(flow, "/latency_ns/p99"))});
    return table.render(terminal.columns, terminal.color);
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
    return table.render(terminal.columns, terminal.color);
}

}  // namespace

double seconds_between(const json& before, const json& after) {
    return growth(before, after, "/uptime_s");
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

std::string flow_text(const json& sample, const Terminal& terminal) {
    const json& flows = list_at(sample, "/flows");
    const json& appliances = list_at(sample, "/appliances");
    if (appliances.empty())
        return "no appliances; add them to \"appliances\" of the switch's configuration\n";
    std::string text = flows.empty() ? "no flows: no vNIC of this switch has \"appliances\"\n"
                                     : flows_table(flows, terminal);
    return text + '\n' + appliances_table(appliances, terminal);
}

void add_flow_list(CLI::App& command, Session& session) {
    const auto interval = add_interval(command, "time between the two readings");
    auto vnic = std::make_shared<std::string>();
    command.add_option("VNIC", *vnic, "only the flows of this vNIC");
    command.footer(
        "Example:\n"
        "  weirctl flow list vm1 --interval 5s\n"
        "A flow is the requests of one vNIC to one appliance. HELD BACK BY is the bucket that blocked the\n"
        "flow longest, with its share of the time. Latency is since the start of the switch.");
    command.callback([&session, interval, vnic] {
        const json args = vnic->empty() ? json::object() : json{{"name", *vnic}};
        const Readings readings = session.ask_twice("flow.list", args, *interval);
        session.print(flow_sample(readings.before, readings.after), flow_text);
    });
}

}  // namespace weir::cli
