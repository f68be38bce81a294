// controller_view.cc - who is connected, what was refused and why.
#include "ctrl/cli/controller_view.h"

#include <ctime>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

Cell host_state_cell(const json& host) {
    const std::string state = text_at(host, "/state");
    return {state, state == "connected" ? Style::kGood : state == "welcomed" ? Style::kWarn : Style::kBad};
}

std::string hosts_text(const json& status, const Terminal& terminal) {
    Table table({{"HOST"},
                 {"STATE"},
                 {"KEY", false, 2},
                 {"VNICS", true},
                 {"FLOWS", true},
                 {"HEARD", true},
                 {"VERSION", false, 1}});
    for (const json& host : list_at(status, "/hosts")) {
        const double heard = number_at(host, "/heard_ms");
        table.add_row(
            {text_at(host, "/name"), host_state_cell(host), at(host, "/proven") == true ? "shown" : "-",
             whole_text(number_at(host, "/vnics")), whole_text(number_at(host, "/flows")),
             std::isfinite(heard) ? human_duration(heard * 1e6) + " ago" : "-", text_at(host, "/version")});
    }
    return table.render(terminal.columns, terminal.colour);
}

std::string appliances_text(const json& status, const Terminal& terminal) {
    if (list_at(status, "/appliances").empty())
        return {};
    Table table({{"APPLIANCE"}, {"SEARCH"}, {"ESTIMATE", true}, {"GIVEN OUT", true}, {"BETWEEN", true, 1}});
    for (const json& each : list_at(status, "/appliances"))
        table.add_row({text_at(each, "/name"), text_at(each, "/phase"),
                       human_token_rate(number_at(each, "/estimate")),
                       human_token_rate(number_at(each, "/allocate")),
                       human_token_rate(number_at(each, "/window/0")) + " and " +
                           human_token_rate(number_at(each, "/window/1"))});
    return table.render(terminal.columns, terminal.colour) + '\n';
}

/// Counters that are not zero, by name; those of a group with its name before them.
void collect(const json& counters, const std::string& before, std::string& out) {
    for (const auto& [name, value] : counters.items()) {
        if (value.is_object())
            collect(value, before + name + ' ', out);
        else if (value.is_number() && value != 0)
            out += (out.empty() ? "" : ", ") + before + name + ' ' + human_count(value.get<double>());
    }
}

std::string refused_text(const json& status) {
    std::string counts;
    collect(list_at(status, "/counters/refused"), "", counts);
    if (const double denied = number_at(status, "/sockets/denied"); denied > 0)
        counts += (counts.empty() ? "" : ", ") + std::string("connections without a known key ") +
                  human_count(denied);
    std::string text = "refused: " + (counts.empty() ? std::string("nothing") : counts) + '\n';
    for (const json& refusal : list_at(status, "/refusals"))
        text += "  " + text_at(refusal, "/what") + " (" + whole_text(number_at(refusal, "/times")) + "x)\n";
    for (const json& host : list_at(status, "/hosts"))
        for (const json& vnic : list_at(host, "/refused_vnics"))
            text += "  now: vNIC " + text_at(vnic, "") + " (host " + text_at(host, "/name") + ")\n";
    return text;
}

std::string time_text(double unix_time) {
    if (!std::isfinite(unix_time))
        return "-";
    const auto seconds = static_cast<std::time_t>(unix_time);
    std::tm utc{};
    char text[32];
    if (gmtime_r(&seconds, &utc) == nullptr || std::strftime(text, sizeof text, "%F %TZ", &utc) == 0)
        return "-";
    return text;
}

}  // namespace

bool is_controller(const json& status) {
    return at(status, "/role") == "controller";
}

std::string controller_text(const json& status, const Terminal& terminal) {
    const json& counters = at(status, "/counters");
    std::string text = "cluster " + text_at(status, "/cluster") + "  weir-ctrl " +
                       text_at(status, "/version") + "  epoch " + text_at(status, "/epoch") + ", interval " +
                       text_at(status, "/interval") + " of " +
                       human_duration(number_at(status, "/interval_ns")) + '\n';
    text += "flows " + whole_text(number_at(status, "/flows")) + ", solved " +
            human_count(number_at(counters, "/solves")) + " times (" +
            human_count(number_at(counters, "/early_solves")) + " between intervals), heard " +
            human_count(number_at(counters, "/messages")) + " messages\n\n";
    return text + hosts_text(status, terminal) + '\n' + appliances_text(status, terminal) +
           refused_text(status);
}

std::string audit_text(const json& audit, const Terminal& terminal) {
    Table table({{"WHEN"}, {"WHAT"}, {"ABOUT"}});
    for (const json& entry : list_at(audit, "/entries"))
        table.add_row(
            {time_text(number_at(entry, "/time")), text_at(entry, "/kind"), text_at(entry, "/text")});
    return table.render(terminal.columns, terminal.colour);
}

}  // namespace weir::cli
