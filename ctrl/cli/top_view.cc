// top_view.cc - a sample as one screen: who wants what, who gets what, and what holds whom back.
#include "ctrl/cli/top_view.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

Cell fulfillment_cell(double fulfillment) {
    const Style style = fulfillment < 0.95 ? Style::kBad : fulfillment < 0.99 ? Style::kWarn : Style::kGood;
    return {percent_text(100 * fulfillment), std::isfinite(fulfillment) ? style : Style::kPlain};
}

Cell held_back_cell(double percent) {
    return {percent_text(percent), percent >= 1 ? Style::kWarn : Style::kPlain};
}

std::string limit_text(const json& vnic) {
    const double bits = number_at(vnic, "/limit_bps");
    const double packets = number_at(vnic, "/limit_pps");
    if (!std::isfinite(bits))
        return human_packet_rate(packets);
    return human_rate(bits) + (std::isfinite(packets) ? ", " + human_packet_rate(packets) : "");
}

std::string reserved_text(const json& vnic) {
    const double bits = number_at(vnic, "/reservation_bps");
    return bits > 0 ? human_rate(bits) : "-";
}

std::string heading(const json& sample, const Terminal& terminal) {
    const bool isolation = at(sample, "/isolation") == true;
    std::string text =
        text_at(sample, "/host") + "  isolation " +
        styled(isolation ? "on" : "off", isolation ? Style::kGood : Style::kWarn, terminal.colour) +
        "  bytes " + text_at(sample, "/accounting") + "  over " +
        human_duration(number_at(sample, "/seconds") * 1e9) + '\n';
    if (at(sample, "/uplink").is_object())
        text += "uplink    sent " + human_rate(number_at(sample, "/uplink/sent_bps")) + " of " +
                human_rate(number_at(sample, "/uplink/capacity_bps")) + ", received " +
                human_rate(number_at(sample, "/uplink/received_bps")) + '\n';
    for (const json& worker : list_at(sample, "/workers"))
        text += "worker " + whole_text(number_at(worker, "/id")) + "  core " +
                whole_text(number_at(worker, "/core")) + ", busy " +
                percent_text(number_at(worker, "/busy_percent")) + ", mean burst " +
                decimal_text(number_at(worker, "/mean_burst")) + ", " +
                whole_text(number_at(worker, "/cycles_per_packet")) + " cycles/packet\n";
    return text + '\n';
}

Table columns() {
    return Table({{"VNIC"},
                  {"OFFERED", true},
                  {"DELIVERED", true},
                  {"RESERVED", true},
                  {"LIMIT", true, 1},
                  {"FULFILLED", true},
                  {"HELD BACK", true},
                  {"RECEIVED", true, 5},
                  {"DELAY P50", true, 2},
                  {"P99", true, 3},
                  {"CPU", true, 4},
                  {"DROPS/S"}});
}

void add_row(Table& table, const json& vnic) {
    const bool up = text_at(vnic, "/state") == "up";
    table.add_row(
        {Cell(text_at(vnic, "/name"), up ? Style::kPlain : Style::kDim),
         human_rate(number_at(vnic, "/offered_bps")),
         human_rate(number_at(vnic, "/delivered_bps")),
         reserved_text(vnic),
         limit_text(vnic),
         fulfillment_cell(number_at(vnic, "/fulfillment")),
         held_back_cell(number_at(vnic, "/held_back_percent")),
         human_rate(number_at(vnic, "/received_bps")),
         human_duration(number_at(vnic, "/queue_delay_ns/p50")),
         human_duration(number_at(vnic, "/queue_delay_ns/p99")),
         percent_text(number_at(vnic, "/cpu_percent")),
         {up ? reasons_text(at(vnic, "/drops_per_second")) : "down", up ? Style::kWarn : Style::kDim}});
}

}  // namespace

std::string top_text(const json& sample, const Terminal& terminal) {
    std::string text = heading(sample, terminal);
    const json& vnics = list_at(sample, "/vnics");
    // Lines beside the rows: the heading's, the titles and the last.
    const auto other_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 2;
    std::size_t shown = vnics.size();
    if (terminal.rows > 0)
        shown = std::min(shown, terminal.rows - std::min(terminal.rows, other_lines));
    Table table = columns();
    for (std::size_t i = 0; i < shown; ++i)
        add_row(table, vnics[i]);
    text += table.render(terminal.columns, terminal.colour);
    if (shown < vnics.size())
        text += "and " + std::to_string(vnics.size() - shown) +
                " more: make the terminal taller, or use --json\n";
    return text;
}

}  // namespace weir::cli
