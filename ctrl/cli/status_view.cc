// status_view.cc - the one-screen answer to "what runs here, and is it well?".
#include "ctrl/cli/status_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

std::string formatted(const char* format, double number) {
    if (!std::isfinite(number))
        return "-";
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

Cell state_cell(const json& value) {
    const std::string state = text_at(value, "/state");
    return {state, state == "up" ? Style::kGood : Style::kBad};
}

std::string uplink_text(const json& uplink, const Terminal& terminal) {
    if (!uplink.is_object())
        return "uplink none: vNICs reach each other only\n";
    const Cell state = state_cell(uplink);
    std::string text = "uplink " + text_at(uplink, "/device") + " (" + text_at(uplink, "/driver") + ") " +
                       styled(state.text, state.style, terminal.colour) + ", " +
                       human_rate(number_at(uplink, "/rate_bps")) + ", " +
                       human_rate(number_at(uplink, "/capacity_bps")) + " to give, MTU " +
                       whole_text(number_at(uplink, "/mtu")) + '\n';
    text += "       received " + human_count(number_at(uplink, "/rx/packets")) + " packets, sent " +
            human_count(number_at(uplink, "/tx/packets"));
    const std::string reasons = reasons_text(at(uplink, "/drops"));
    return text + (reasons.empty() ? std::string() : ", dropped: " + reasons) + '\n';
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
    return table.render(terminal.columns, terminal.colour);
}

std::string vnics_text(const json& vnics, const Terminal& terminal) {
    if (vnics.empty())
        return "no vNICs yet: weirctl vnic add name=vm1 socket=/run/weir/vm1.sock mac=52:54:00:00:00:01\n";
    Table table({{"VNIC"}, {"STATE"}, {"WORKER", true}, {"STEERING"}});
    for (const json& vnic : vnics)
        table.add_row({text_at(vnic, "/name"), state_cell(vnic), whole_text(number_at(vnic, "/worker")),
                       steering_text(vnic)});
    return table.render(terminal.columns, terminal.colour);
}

/// Nothing without tunnels.
std::string tunnels_text(const json& tunnels, const Terminal& terminal) {
    if (tunnels.empty())
        return {};
    Table table({{"TUNNEL"},
                 {"STATE"},
                 {"REMOTE"},
                 {"ALGORITHM"},
                 {"SENT", true},
                 {"RECEIVED", true},
                 {"REFUSED", true}});
    for (const json& tunnel : tunnels)
        table.add_row({text_at(tunnel, "/name"), state_cell(tunnel), text_at(tunnel, "/remote"),
                       text_at(tunnel, "/algorithm"), whole_text(number_at(tunnel, "/encrypted/packets")),
                       whole_text(number_at(tunnel, "/from_wire/delivered/packets")),
                       whole_text(number_at(tunnel, "/from_wire/dropped/packets"))});
    return table.render(terminal.columns, terminal.colour) + '\n';
}

void add_drop_rows(Table& table, const std::string& name, const char* direction, const json& reasons) {
    for (const auto& [reason, count] : reasons.items())
        if (count.is_number())
            table.add_row({name, direction, {reason, Style::kWarn}, whole_text(count.get<double>())});
}

}  // namespace

namespace {

std::string link_text(const json& controller, const Terminal& terminal) {
    if (!controller.is_object())
        return {};
    const std::string state = text_at(controller, "/state");
    const std::string refusal = text_at(controller, "/refusal");
    return "controller " + styled(state, state == "connected" ? Style::kGood : Style::kBad, terminal.colour) +
           ", cluster " + text_at(controller, "/cluster") + ", epoch " + text_at(controller, "/epoch") +
           ", rates for " + whole_text(number_at(controller, "/flows")) + " flows" +
           (refusal == "-" ? "" : ", refused: " + refusal) + '\n';
}

}  // namespace

std::string status_text(const json& status, const Terminal& terminal) {
    const bool isolation = at(status, "/isolation") == true;
    std::string text =
        "host " + text_at(status, "/host") + ", weir " + text_at(status, "/version") + ", up " +
        uptime_text(number_at(status, "/uptime_s")) + ", isolation " +
        styled(isolation ? "on" : "off", isolation ? Style::kGood : Style::kWarn, terminal.colour) +
        ", accounting " + text_at(status, "/accounting") + ", poll " + text_at(status, "/poll") + '\n';
    text += uplink_text(at(status, "/uplink"), terminal);
    text += link_text(at(status, "/controller"), terminal);
    text += "buffers " + whole_text(number_at(status, "/memory/buffers_free")) + " free of " +
            whole_text(number_at(status, "/memory/buffers")) + ", " +
            whole_text(number_at(status, "/mac_entries")) + " MAC entries\n\n";
    text += workers_text(list_at(status, "/workers"), terminal) + '\n';
    text += tunnels_text(list_at(status, "/tunnels"), terminal);
    return text + vnics_text(list_at(status, "/vnics"), terminal);
}

std::string drops_text(const json& drops, const Terminal& terminal) {
    Table table({{"PORT"}, {"DIRECTION"}, {"REASON"}, {"PACKETS", true}});
    bool any = !list_at(drops, "/uplink").empty();
    for (const json& vnic : list_at(drops, "/vnics")) {
        const std::string name = text_at(vnic, "/name");
        add_drop_rows(table, name, "from VM", list_at(vnic, "/from_vm"));
        add_drop_rows(table, name, "to VM", list_at(vnic, "/to_vm"));
        any = any || !list_at(vnic, "/from_vm").empty() || !list_at(vnic, "/to_vm").empty();
    }
    add_drop_rows(table, "uplink", "-", list_at(drops, "/uplink"));
    for (const auto& [tunnel, reasons] : list_at(drops, "/tunnels").items()) {
        add_drop_rows(table, "tunnel " + tunnel, "-", reasons);
        any = any || !reasons.empty();
    }
    for (const auto& [worker, reasons] : list_at(drops, "/workers").items()) {
        add_drop_rows(table, "worker " + worker, "-", reasons);
        any = any || !reasons.empty();
    }
    return any ? table.render(terminal.columns, terminal.colour) : "nothing was dropped\n";
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

std::string percent_text(double percent) {
    return formatted("%.1f%%", percent);
}
std::string whole_text(double number) {
    return formatted("%.0f", number);
}
std::string decimal_text(double number) {
    return formatted("%.1f", number);
}

}  // namespace weir::cli
