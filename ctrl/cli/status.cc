// status.cc - weirctl status, drops: one screen each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

std::string uplink_text(const json& uplink, const Terminal& terminal) {
    if (!uplink.is_object())
        return "no uplink: the vNICs of this host reach only each other\n";
    const Cell state = state_cell(uplink);
    std::string text = "uplink " + text_at(uplink, "/device") + " (" + text_at(uplink, "/driver") + ") " +
                       styled(state.text, state.style, terminal.color) + ", rate " +
                       human_rate(number_at(uplink, "/rate_bps")) + ", capacity " +
                       human_rate(number_at(uplink, "/capacity_bps")) + ", MTU " +
                       whole_text(number_at(uplink, "/mtu")) + '\n';
    text += "       received " + human_count(number_at(uplink, "/rx/packets")) + " packets, sent " +
            human_count(number_at(uplink, "/tx/packets")) + " packets";
    if (number_at(uplink, "/send_errors") > 0)
        text += ", lost by the device " + human_count(number_at(uplink, "/send_errors"));
    const std::string reasons = reasons_text(at(uplink, "/drops"));
    text += (reasons.empty() ? std::string() : ", dropped: " + reasons) + '\n';
    if (at(uplink, "/link_fault").is_string())
        text += "       down: " + text_at(uplink, "/link_fault") + '\n';
    return text;
}

/// Empty while time is real.
std::string clock_text(const json& status, const Terminal& terminal) {
    if (text_at(status, "/clock") != "stepped")
        return {};
    return "clock " + styled("stepped", Style::kWarn, terminal.color) + ", for tests, at " +
           text_at(status, "/now_ns") + " ns; only `weirctl clock step` moves it\n";
}

/// Why feedback is off although it is enabled; empty otherwise.
std::string feedback_off_text(const json& reason, const Terminal& terminal) {
    if (!reason.is_string())
        return {};
    return "feedback " + styled("off", Style::kWarn, terminal.color) + ", " + text_at(reason, "") + '\n';
}

/// Why cycles of requests are not charged although there are appliances; empty otherwise.
std::string cycles_off_text(const json& reason) {
    return reason.is_string() ? "cycles of requests are not charged, " + text_at(reason, "") + '\n'
                              : std::string();
}

/// Empty unless there is traffic that is on no bill.
std::string unbilled_text(const json& controller) {
    const double periods = number_at(controller, "/unbilled_periods");
    if (!(periods > 0))
        return {};
    return "       not billed: " + human_count(periods) + " periods with " +
           human_count(number_at(controller, "/unbilled_bytes")) +
           "B, of vNICs that the controller does not know\n";
}

/// Why the switch ignores the controller that answers; empty when it does not.
std::string ignored_text(const json& controller) {
    const std::string ignored = text_at(controller, "/ignored");
    return ignored == "-" ? "" : "           " + ignored + '\n';
}

/// "2026-11-21 15:00:00Z"
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

/// Empty unless guarantees hold instead of an allocation.
std::string promises_text(const json& promises) {
    if (!promises.is_object() || at(promises, "/in_force") != json(true))
        return {};
    return "           guarantees of " + time_text(number_at(promises, "/unix_s")) + " in force (age " +
           whole_text(number_at(promises, "/age_s")) + " s)" +
           (text_at(promises, "/from") == "file" ? ", from the file that outlasts the switch" : "") + '\n';
}

/// vNICs that the controller refuses, and their service.
std::string refused_vnics_text(const json& controller) {
    std::string text;
    for (const json& vnic : list_at(controller, "/refused_vnics"))
        text += "           refuses vNIC " + text_at(vnic, "/name") + ": " + text_at(vnic, "/why") +
                (at(vnic, "/service") == "hold" ? "; its frames wait" : "; served as best effort") + '\n';
    return text;
}

/// vNICs whose values in the switch's file are not those of the controller's specification.
std::string differences_text(const json& vnics) {
    std::string text;
    for (const json& vnic : vnics)
        if (!list_at(vnic, "/promise/differences").empty())
            text += "           promise to vNIC " + text_at(vnic, "/name") + ' ' +
                    promise_text(at(vnic, "/promise")) + '\n';
    return text;
}

/// The switch's link to its controller; empty without one.
std::string controller_link_text(const json& controller, const Terminal& terminal) {
    if (!controller.is_object())
        return {};
    const std::string state = text_at(controller, "/state");
    const std::string refusal = text_at(controller, "/refusal");
    const std::string fault = text_at(controller, "/fault");
    return "controller " + styled(state, state == "connected" ? Style::kGood : Style::kBad, terminal.color) +
           ", cluster " + text_at(controller, "/cluster") + ", epoch " + text_at(controller, "/epoch") +
           ", rates for " + whole_text(number_at(controller, "/flows")) + " service flows" +
           (refusal == "-" ? "" : ", refused: " + refusal) + '\n' +
           (fault == "-" ? "" : "           " + fault + '\n') + ignored_text(controller) +
           promises_text(at(controller, "/promises")) + refused_vnics_text(controller) +
           unbilled_text(controller);
}

std::string workers_text(const json& workers, const Terminal& terminal) {
    Table table({{"WORKER", true},
                 {"CORE", true},
                 {"VNICS", true},
                 {"BUSY", true},
                 {"CYCLES/PACKET", true, 1},
                 {"MEAN BURST", true, 2}});
    for (const json& worker : workers)
        table.add_row({whole_text(number_at(worker, "/id")), whole_text(number_at(worker, "/core")),
                       whole_text(number_at(worker, "/vnics")),
                       percent_text(number_at(worker, "/busy_percent")),
                       whole_text(number_at(worker, "/cycles_per_packet")),
                       decimal_text(number_at(worker, "/mean_burst"))});
    return table.render(terminal.columns, terminal.color);
}

/// Workers that encrypt or have promised it; a promise that leaves less than a tenth of the capacity for the
/// rest of the work is marked.
std::string encryption_text(const json& workers, const Terminal& terminal) {
    constexpr double kPlanned = 0.9;
    std::string text;
    for (const json& worker : workers) {
        const double reserved = number_at(worker, "/encryption/reserved");
        const double capacity = number_at(worker, "/encryption/capacity");
        if (!(reserved > 0) && !std::isfinite(capacity))
            continue;
        text += "worker " + whole_text(number_at(worker, "/id")) + " encrypts " +
                (std::isfinite(capacity) ? "at most " + human_token_rate(capacity)
                                         : std::string("nothing yet, so its capacity is not known")) +
                "; reserved " + human_token_rate(reserved);
        if (reserved > kPlanned * capacity)
            text += styled(", which leaves less than a tenth for other work: promises will be cut",
                           Style::kBad, terminal.color);
        text += '\n';
    }
    return text.empty() ? text : text + '\n';
}

/// Empty without tunnels.
std::string tunnels_text(const json& tunnels, const Terminal& terminal) {
    if (tunnels.empty())
        return {};
    Table table({{"TUNNEL"},
                 {"STATE"},
                 {"REMOTE"},
                 {"ALGORITHM"},
                 {"SENT", true},
                 {"RECEIVED", true},
                 {"DROPPED", true}});
    for (const json& tunnel : tunnels)
        table.add_row({text_at(tunnel, "/name"), state_cell(tunnel), text_at(tunnel, "/remote"),
                       text_at(tunnel, "/algorithm"), whole_text(number_at(tunnel, "/encrypted/packets")),
                       whole_text(number_at(tunnel, "/from_wire/delivered/packets")),
                       whole_text(number_at(tunnel, "/from_wire/dropped/packets"))});
    return table.render(terminal.columns, terminal.color) + '\n';
}

std::string vnics_text(const json& vnics, const Terminal& terminal) {
    if (vnics.empty())
        return "no vNICs; to add one: weirctl vnic add name=vm1 socket=/run/weir/vm/vm1.sock "
               "mac=52:54:00:00:00:01\n";
    Table table({{"VNIC"}, {"STATE"}, {"WORKER", true}, {"STEERING"}});
    for (const json& vnic : vnics)
        table.add_row({text_at(vnic, "/name"), state_cell(vnic), whole_text(number_at(vnic, "/worker")),
                       steering_text(vnic)});
    return table.render(terminal.columns, terminal.color);
}

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
                 {"LAST MESSAGE", true},
                 {"VERSION", false, 1}});
    for (const json& host : list_at(status, "/hosts")) {
        const double ago_ms = number_at(host, "/last_message_ms");
        table.add_row({text_at(host, "/name"), host_state_cell(host),
                       at(host, "/authenticated") == true ? "verified" : "-",
                       whole_text(number_at(host, "/vnics")), whole_text(number_at(host, "/flows")),
                       std::isfinite(ago_ms) ? human_duration(ago_ms * 1e6) + " ago" : "-",
                       text_at(host, "/version")});
    }
    std::string text = table.render(terminal.columns, terminal.color);
    for (const json& host : list_at(status, "/hosts"))
        if (host.contains("drained"))
            text += drained_text(text_at(host, "/name"), host["drained"]);
    return text;
}

std::string appliances_text(const json& status, const Terminal& terminal) {
    const json& appliances = list_at(status, "/appliances");
    if (appliances.empty())
        return {};
    Table table(
        {{"APPLIANCE"}, {"PHASE"}, {"ESTIMATE", true}, {"ALLOCATED", true}, {"SEARCH WINDOW", true, 1}});
    for (const json& appliance : appliances)
        table.add_row({text_at(appliance, "/name"), text_at(appliance, "/phase"),
                       human_token_rate(number_at(appliance, "/estimate")),
                       human_token_rate(number_at(appliance, "/allocate")),
                       human_token_rate(number_at(appliance, "/window/0")) + " to " +
                           human_token_rate(number_at(appliance, "/window/1"))});
    return table.render(terminal.columns, terminal.color) + '\n';
}

/// Appends the counters that are not zero as "name count"; the name of a nested counter follows its group's.
void append_counters(const json& counters, const std::string& group, std::string& out) {
    for (const auto& [name, value] : counters.items()) {
        if (value.is_object())
            append_counters(value, group + name + ' ', out);
        else if (value.is_number() && value != 0)
            out += (out.empty() ? "" : ", ") + group + name + ' ' + human_count(value.get<double>());
    }
}

/// Empty for a controller that does not report its loop.
std::string loop_text(const json& loop) {
    if (!loop.is_object())
        return {};
    const auto span = [&loop](const char* path) { return human_duration(number_at(loop, path)); };
    return "intervals begin late by " + span("/lag_ns/last") + " (99 % within " + span("/lag_ns/p99") +
           ", at most " + span("/lag_ns/max") + "), missed " + whole_text(number_at(loop, "/missed")) +
           "; allocating took " + span("/solve_ns/last") + " (at most " + span("/solve_ns/max") +
           "), between intervals " + span("/early_solve_ns/last") + " (at most " +
           span("/early_solve_ns/max") + ")\n";
}

std::string refused_text(const json& status) {
    std::string counts;
    append_counters(list_at(status, "/counters/refused"), "", counts);
    append_counters(list_at(status, "/budgets/refused"), "over budget ", counts);
    if (const double denied = number_at(status, "/sockets/denied"); denied > 0)
        counts += (counts.empty() ? "" : ", ") + std::string("connections without a known key ") +
                  human_count(denied);
    std::string text = "refused: " + (counts.empty() ? std::string("nothing") : counts) + '\n';
    for (const json& row : list_at(status, "/budgets/peers"))
        text += "  over budget: " + text_at(row, "/reason") + " of " + text_at(row, "/peer") + " (" +
                whole_text(number_at(row, "/times")) + " times)\n";
    for (const json& refusal : list_at(status, "/refusals"))
        text +=
            "  " + text_at(refusal, "/what") + " (" + whole_text(number_at(refusal, "/times")) + " times)\n";
    for (const json& host : list_at(status, "/hosts"))
        for (const json& vnic : list_at(host, "/refused_vnics"))
            text += "  refused now: vNIC " + text_at(vnic, "") + " (host " + text_at(host, "/name") + ")\n";
    return text;
}

/// "store failing since 2026-11-21 15:00:00Z: disk full; 3 writes refused"; empty while all can be written.
std::string failing_text(const json& state, const std::string& name, const Terminal& terminal) {
    if (!at(state, "/failing_since").is_number())
        return {};
    return name + ' ' + styled("failing", Style::kBad, terminal.color) + " since " +
           time_text(number_at(state, "/failing_since")) + ": " + text_at(state, "/fault") + "; " +
           whole_text(number_at(state, "/refused_writes")) + " writes refused; tried again every interval\n";
}

/// The store and the bill: a line for each that cannot be written, for lost entries of the audit trail, and
/// for billing periods that were refused or changed.
std::string store_text(const json& status, const Terminal& terminal) {
    const json& store = at(status, "/store");
    const json& bill = at(status, "/bill");
    std::string text = failing_text(store, "store", terminal) + failing_text(bill, "bill", terminal);
    if (const double lost = number_at(store, "/audit_lost"); lost > 0)
        text += "audit: " + whole_text(lost) + " entries were lost while the store could not be written\n";
    std::string periods;
    for (const auto& [key, name] : {std::pair("refused_future", "beyond the controller's clock"),
                                    std::pair("refused_foreign", "of vNICs that the host does not have"),
                                    std::pair("refused_impossible", "with impossible values"),
                                    std::pair("other_promise", "billed by the cluster file's promise"),
                                    std::pair("clipped", "clipped because they overlapped")})
        if (const double count = number_at(status, (std::string("/periods/") + key).c_str()); count > 0)
            periods += (periods.empty() ? "" : ", ") + human_count(count) + ' ' + name;
    return text + (periods.empty() ? "" : "billing periods: " + periods + '\n');
}

/// Guarantees that are kept for silent hosts, and hosts whose switch and cluster file differ.
std::string host_notes_text(const json& status) {
    std::string text;
    for (const json& host : list_at(status, "/hosts")) {
        const std::string name = "  host " + text_at(host, "/name") + ": ";
        if (const double kept_ms = number_at(host, "/kept_ms"); std::isfinite(kept_ms))
            text += name + "silent; its guarantees are kept for it for another " +
                    human_duration(kept_ms * 1e6) + '\n';
        for (const json& warning : list_at(host, "/warnings"))
            text += name + text_at(warning, "") + '\n';
    }
    return text;
}

}  // namespace

Cell state_cell(const json& value) {
    const std::string state = text_at(value, "/state");
    return {state, state == "up" ? Style::kGood : Style::kBad};
}

bool is_controller(const json& status) {
    return at(status, "/role") == "controller";
}

std::string switch_text(const json& status, const Terminal& terminal) {
    const bool isolation = at(status, "/isolation") == true;
    std::string text =
        "host " + text_at(status, "/host") + ", weir-switch " + text_at(status, "/version") + ", up " +
        uptime_text(number_at(status, "/uptime_s")) + ", isolation " +
        styled(isolation ? "on" : "off", isolation ? Style::kGood : Style::kWarn, terminal.color) +
        ", accounting " + text_at(status, "/accounting") + ", poll " + text_at(status, "/poll") + '\n';
    text += clock_text(status, terminal);
    text += uplink_text(at(status, "/uplink"), terminal);
    text += feedback_off_text(at(status, "/feedback_off"), terminal);
    text += cycles_off_text(at(status, "/cycles_off"));
    text += controller_link_text(at(status, "/controller"), terminal);
    text += differences_text(list_at(status, "/vnics"));
    text += "buffers " + whole_text(number_at(status, "/memory/buffers_free")) + " of " +
            whole_text(number_at(status, "/memory/buffers")) + " free, MAC table " +
            whole_text(number_at(status, "/mac_entries")) + " entries\n\n";
    text += workers_text(list_at(status, "/workers"), terminal) + '\n';
    text += encryption_text(list_at(status, "/workers"), terminal);
    text += tunnels_text(list_at(status, "/tunnels"), terminal);
    return text + vnics_text(list_at(status, "/vnics"), terminal);
}

std::string controller_text(const json& status, const Terminal& terminal) {
    const json& counters = at(status, "/counters");
    std::string text = "cluster " + text_at(status, "/cluster") + ", weir-ctrl " +
                       text_at(status, "/version") + ", epoch " + text_at(status, "/epoch") + ", interval " +
                       text_at(status, "/interval") + ", one every " +
                       human_duration(number_at(status, "/interval_ns")) + '\n';
    text += whole_text(number_at(status, "/flows")) + " service flows, allocated " +
            human_count(number_at(counters, "/solves")) + " times (" +
            human_count(number_at(counters, "/early_solves")) + " between intervals), " +
            human_count(number_at(counters, "/messages")) + " messages received\n";
    text += loop_text(at(status, "/loop"));
    text += clock_text(status, terminal) + '\n';
    return text + hosts_text(status, terminal) + '\n' + appliances_text(status, terminal) +
           host_notes_text(status) + refused_text(status) + store_text(status, terminal);
}

std::string drops_text(const json& drops, const Terminal& terminal) {
    Table table({{"PORT"}, {"DIRECTION"}, {"REASON"}, {"PACKETS", true}});
    bool any = false;
    const auto add = [&](const std::string& port, const char* direction, const json& reasons) {
        for (const auto& [reason, count] : reasons.items())
            if (count.is_number())
                table.add_row({port, direction, {reason, Style::kWarn}, whole_text(count.get<double>())});
        any = any || !reasons.empty();
    };
    std::string waiting;
    for (const json& vnic : list_at(drops, "/vnics")) {
        if (at(vnic, "/refusal").is_string())
            waiting += "the controller refuses vNIC " + text_at(vnic, "/name") + ": " +
                       text_at(vnic, "/refusal") + '\n';
        add(text_at(vnic, "/name"), "from VM", list_at(vnic, "/from_vm"));
        add(text_at(vnic, "/name"), "to VM", list_at(vnic, "/to_vm"));
    }
    add("uplink", "-", list_at(drops, "/uplink"));
    for (const auto& [tunnel, reasons] : list_at(drops, "/tunnels").items())
        add("tunnel " + tunnel, "-", reasons);
    for (const auto& [worker, reasons] : list_at(drops, "/workers").items())
        add("worker " + worker, "-", reasons);
    return (any ? table.render(terminal.columns, terminal.color) : "nothing was dropped\n") + waiting;
}

std::string promise_text(const json& promise) {
    const std::string from = text_at(promise, "/from");
    std::string text;
    for (const json& each : list_at(promise, "/differences"))
        text += (text.empty() ? "; its file differs: " : "; ") + text_at(each, "/key") + ' ' +
                text_at(each, "/promised") + " (file: " + text_at(each, "/file") + ')';
    if (from == "-")
        return {};
    if (from == "file")
        return "of the switch's file: the controller has made none";
    return (from == "kept" ? "of the controller, kept from an earlier run" : "of the controller") + text;
}

std::string steering_text(const json& vnic) {
    const std::string mode = text_at(vnic, "/steering/mode");
    const std::string reason = text_at(vnic, "/steering/reason");
    return reason == "-" ? mode : mode + " (" + reason + ")";
}

std::string uptime_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12)
        return "-";
    const auto total = static_cast<std::uint64_t>(seconds);
    const auto pair = [](std::uint64_t high, const char* high_unit, std::uint64_t low, const char* low_unit) {
        return std::to_string(high) + high_unit + std::to_string(low) + low_unit;
    };
    if (total >= 86'400)
        return pair(total / 86'400, " d ", total % 86'400 / 3'600, " h");
    if (total >= 3'600)
        return pair(total / 3'600, " h ", total % 3'600 / 60, " min");
    return total >= 60 ? pair(total / 60, " min ", total % 60, " s") : std::to_string(total) + " s";
}

std::string reasons_text(const json& reasons) {
    std::vector<std::pair<double, std::string>> sorted;
    if (reasons.is_object())
        for (const auto& [reason, count] : reasons.items())
            if (count.is_number() && count.get<double>() > 0)
                sorted.emplace_back(count.get<double>(), reason);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [count, reason] : sorted)
        text += (text.empty() ? "" : ", ") + reason + ' ' + human_count(count);
    return text;
}

void add_status(CLI::App& command, Session& session) {
    command.footer(
        "Examples:\n"
        "  weirctl status\n"
        "  weirctl status --socket /run/weir/admin/ctrl.sock   the controller: hosts, appliances, refusals");
    command.callback([&session] {
        const json status = session.ask("status");
        session.print(status, is_controller(status) ? controller_text : switch_text);
    });
}

void add_drops(CLI::App& command, Session& session) {
    command.footer("Example:\n  weirctl drops\ndocs/operations.md explains each reason and its remedy.");
    command.callback([&session] { session.print(session.ask("drops"), drops_text); });
}

}  // namespace weir::cli
