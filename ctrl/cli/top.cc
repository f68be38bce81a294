// top.cc - weirctl top: rates to a table, and the loop that reads and prints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <utility>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

Cell fulfillment_cell(double fulfillment) {
    const Style style = fulfillment < 0.95 ? Style::kBad : fulfillment < 0.99 ? Style::kWarn : Style::kGood;
    return {percent_text(100 * fulfillment), std::isfinite(fulfillment) ? style : Style::kPlain};
}

Cell held_back_cell(double percent) {
    return {percent_text(percent), percent >= 1 ? Style::kWarn : Style::kPlain};
}

std::string reservation_text(const json& vnic) {
    const double bits = number_at(vnic, "/reservation_bps");
    return bits > 0 ? human_rate(bits) : "-";
}

std::string heading_text(const json& sample, const Terminal& terminal) {
    const bool isolation = at(sample, "/isolation") == true;
    std::string text =
        "host " + text_at(sample, "/host") + ", isolation " +
        styled(isolation ? "on" : "off", isolation ? Style::kGood : Style::kWarn, terminal.color) +
        ", accounting " + text_at(sample, "/accounting") + ", measured over " +
        human_duration(number_at(sample, "/seconds") * 1e9) + '\n';
    if (at(sample, "/uplink").is_object())
        text += "uplink:   sent " + human_rate(number_at(sample, "/uplink/sent_bps")) + " of " +
                human_rate(number_at(sample, "/uplink/capacity_bps")) + ", received " +
                human_rate(number_at(sample, "/uplink/received_bps")) + '\n';
    for (const json& worker : list_at(sample, "/workers"))
        text += "worker " + whole_text(number_at(worker, "/id")) + ": core " +
                whole_text(number_at(worker, "/core")) + ", busy " +
                percent_text(number_at(worker, "/busy_percent")) + ", mean burst " +
                decimal_text(number_at(worker, "/mean_burst")) + ", " +
                whole_text(number_at(worker, "/cycles_per_packet")) + " cycles/packet\n";
    return text + '\n';
}

/// The rates as characters from `_` (nothing) to `#` (the largest of them, or the reservation if that is
/// more).
std::string recent_text(const json& vnic) {
    constexpr std::string_view kLevels = "_.-=+*#";
    double most = std::max(1.0, number_at(vnic, "/reservation_bps"));
    const json& rates = list_at(vnic, "/recent_bps");
    for (const json& rate : rates)
        most = std::max(most, number_at(rate, ""));
    std::string text;
    for (const json& rate : rates)
        text += kLevels[static_cast<std::size_t>(
            std::lround(number_at(rate, "") / most * static_cast<double>(kLevels.size() - 1)))];
    return text;
}

Table columns() {
    return Table({{"VNIC"},
                  {"OFFERED", true},
                  {"DELIVERED", true},
                  {"RECENT", true, 6},
                  {"RESERVATION", true},
                  {"LIMIT", true, 1},
                  {"FULFILLMENT", true},
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
         recent_text(vnic),
         reservation_text(vnic),
         limits_text(vnic),
         fulfillment_cell(number_at(vnic, "/fulfillment")),
         held_back_cell(number_at(vnic, "/held_back_percent")),
         human_rate(number_at(vnic, "/received_bps")),
         human_duration(number_at(vnic, "/queue_delay_ns/p50")),
         human_duration(number_at(vnic, "/queue_delay_ns/p99")),
         percent_text(number_at(vnic, "/cpu_percent")),
         {up ? reasons_text(at(vnic, "/drops_per_second")) : "down", up ? Style::kWarn : Style::kDim}});
}

constexpr const char* kClear = "\x1b[H\x1b[2J";  // cursor to the top left, screen cleared

struct TopOptions {
    std::shared_ptr<std::string> interval;
    std::string filter;
    std::string sort;
    std::uint64_t count = 0;  // tables to print; 0 = until the command is interrupted
};

/// The loop of the command: read, wait for the interval, read again, print the rates between the two.
void run(const Session& session, const TopOptions& options) {
    const std::chrono::nanoseconds interval = parse_time("--interval", *options.interval);
    const auto read = [&] { return Snapshot{session.ask("status"), session.ask("vnic.list")}; };
    Snapshot before = read();
    TopHistory history;
    SteadyClock::time_point before_at = SteadyClock::now();
    for (std::uint64_t tables = 0; options.count == 0 || tables < options.count; ++tables) {
        sleep_unless_interrupted(before_at + interval);
        if (interrupted())
            return;
        const bool live = options.count == 0 && terminal_of_stdout().interactive;
        try {
            Snapshot now = read();
            const SteadyClock::time_point now_at = SteadyClock::now();
            const double seconds = std::chrono::duration<double>(now_at - before_at).count();
            json made = top_sample(before, now, seconds);
            history.note(made);
            top_select(made, options.filter, options.sort);
            session.print(made, [live](const json& sample, const Terminal& screen) {
                return (live ? kClear : "") + top_text(sample, screen);
            });
            before = std::move(now);
            before_at = now_at;
        } catch (const Failure& failure) {
            if (!live)
                throw;
            // A live screen outlasts a restart of the switch.
            before_at = SteadyClock::now();
            std::cout << kClear << failure.faults.front().to_line() << std::endl;
        }
    }
}

}  // namespace

std::string top_text(const json& sample, const Terminal& terminal) {
    std::string text = heading_text(sample, terminal);
    const json& vnics = list_at(sample, "/vnics");
    // Besides one row per vNIC: the heading, the titles and the last line.
    const auto other_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 2;
    std::size_t shown = vnics.size();
    if (terminal.rows > 0)
        shown = std::min(shown, terminal.rows - std::min(terminal.rows, other_lines));
    Table table = columns();
    for (std::size_t i = 0; i < shown; ++i)
        add_row(table, vnics[i]);
    text += table.render(terminal.columns, terminal.color);
    if (shown < vnics.size())
        text += "and " + std::to_string(vnics.size() - shown) +
                " more vNICs: enlarge the terminal, or use --json\n";
    return text;
}

std::string limits_text(const json& vnic) {
    const double bits = number_at(vnic, "/limit_bps");
    const double packets = number_at(vnic, "/limit_pps");
    if (!std::isfinite(bits))
        return human_packet_rate(packets);
    return human_rate(bits) + (std::isfinite(packets) ? ", " + human_packet_rate(packets) : "");
}

void add_top(CLI::App& command, Session& session) {
    auto options = std::make_shared<TopOptions>();
    options->interval = add_interval(command, "time between two tables");
    CLI::Option* count = command.add_option("--count", options->count,
                                            "end after this many tables (default: when interrupted)");
    command
        .add_flag_callback(
            "--once", [options] { options->count = 1; }, "the same as --count 1")
        ->excludes(count);
    command.add_option("--sort", options->sort, "order of the vNICs")
        ->type_name("KEY")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kTopKeys), std::end(kTopKeys))));
    command.add_option("--filter", options->filter, "only vNICs whose name or tenant contains this")
        ->type_name("TEXT");
    command.footer(
        "Examples:\n"
        "  weirctl top\n"
        "  weirctl top --sort fulfillment --filter tenant-a\n"
        "  weirctl top --count 60 --interval 10s --json   one line of JSON per table\n"
        "OFFERED and DELIVERED are from the VM, RECEIVED is to it; CPU is of one core. FULFILLMENT is\n"
        "delivered divided by the wanted part of the reservation. HELD BACK is a share of the time.\n"
        "RECENT is the delivered rate in the last 12 tables, from _ (nothing) to # (the largest of them,\n"
        "or the reservation if that is more).");
    command.callback([&session, options] {
        end_on_interrupts();
        run(session, *options);
    });
}

}  // namespace weir::cli
