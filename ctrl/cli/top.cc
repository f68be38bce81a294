// top.cc - weirctl top: two snapshots to rates, rates to a table, and the loop that reads and prints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Delivered rate divided by the part of the reservation that the VM wanted: the rate that it offered, or the
/// whole reservation while its ring was held back, when the VM could not offer more. At most 1.
double fulfillment(double delivered, double offered, double reservation, double held_back_percent) {
    constexpr double kHeldBack = 1;  // percent of the time
    const double wanted = held_back_percent > kHeldBack ? reservation : std::min(reservation, offered);
    if (!(reservation > 0) || !(wanted > 0))
        return std::numeric_limits<double>::quiet_NaN();
    return std::min(delivered / wanted, 1.0);
}

/// Drops per second by reason, both directions added up.
json drop_rates(const json& before, const json& after, double seconds) {
    json rates = json::object();
    for (const char* direction : {"/from_vm/drops", "/to_vm/drops"}) {
        const json& then = list_at(before, direction);
        for (const auto& [reason, count] : list_at(after, direction).items()) {
            if (!count.is_number())
                continue;
            const auto old = then.find(reason);
            const double was = old != then.end() && old->is_number() ? old->get<double>() : 0;
            const double rate = growth(was, count.get<double>()) / seconds;
            if (rate > 0)
                rates[reason] = rates.value(reason, 0.0) + rate;
        }
    }
    return rates;
}

json vnic_sample(const json& before, const json& after, double seconds, double tsc_hz) {
    const auto rate = [&](const char* pointer) { return growth(before, after, pointer) / seconds; };
    const double offered = kBitsPerByte * rate("/from_vm/offered/bytes");
    const double delivered = kBitsPerByte * rate("/from_vm/delivered/bytes");
    const double held_back = std::min(rate("/held_back_ns/total") / kNanosPerPercent, 100.0);
    const double reservation = number_at(after, "/reservation_bps");
    return {{"name", at(after, "/name")},
            {"state", at(after, "/state")},
            {"offered_bps", number_or_null(offered)},
            {"delivered_bps", number_or_null(delivered)},
            {"received_bps", number_or_null(kBitsPerByte * rate("/to_vm/delivered/bytes"))},
            {"offered_pps", number_or_null(rate("/from_vm/offered/packets"))},
            {"delivered_pps", number_or_null(rate("/from_vm/delivered/packets"))},
            {"reservation_bps", at(after, "/reservation_bps")},
            {"limit_bps", at(after, "/limit_bps")},
            {"limit_pps", at(after, "/limit_pps")},
            {"fulfillment", number_or_null(fulfillment(delivered, offered, reservation, held_back))},
            {"held_back_percent", number_or_null(held_back)},
            {"queue_delay_ns", at(after, "/queue_delay_ns")},
            {"cpu_percent", number_or_null(100 * rate("/cycles") / tsc_hz)},
            {"drops_per_second", drop_rates(before, after, seconds)}};
}

json worker_sample(const json& before, const json& after) {
    const auto grown = [&](const char* pointer) { return growth(before, after, pointer); };
    const double busy = grown("/busy_cycles");
    const double packets = grown("/packets");
    return {{"id", at(after, "/id")},
            {"core", at(after, "/core")},
            {"busy_percent", number_or_null(100 * busy / (busy + grown("/idle_cycles")))},
            {"mean_burst", number_or_null(packets / grown("/bursts"))},
            {"cycles_per_packet", number_or_null(busy / packets)}};
}

json uplink_sample(const json& before, const json& after, double seconds) {
    if (!after.is_object())
        return nullptr;
    const auto bits = [&](const char* pointer) {
        return number_or_null(kBitsPerByte * growth(before, after, pointer) / seconds);
    };
    return {{"sent_bps", bits("/tx/bytes")},
            {"received_bps", bits("/rx/bytes")},
            {"capacity_bps", at(after, "/capacity_bps")}};
}

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

Table columns() {
    return Table({{"VNIC"},
                  {"OFFERED", true},
                  {"DELIVERED", true},
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
volatile std::sig_atomic_t interrupted = 0;

/// Sleeps in steps of 50 ms so that SIGINT and SIGTERM end the command at once.
void sleep_until(SteadyClock::time_point end) {
    constexpr std::chrono::milliseconds kStep(50);
    for (auto now = SteadyClock::now(); now < end && interrupted == 0; now = SteadyClock::now())
        std::this_thread::sleep_for(std::min<SteadyClock::duration>(kStep, end - now));
}

struct TopOptions {
    std::shared_ptr<std::string> interval;
    std::uint64_t count = 0;  // tables to print; 0 = until the command is interrupted
};

/// The loop of the command: read, wait for the interval, read again, print the rates between the two.
void run(const Session& session, const TopOptions& options) {
    const std::chrono::nanoseconds interval = parse_time("--interval", *options.interval);
    const auto read = [&] { return Snapshot{session.ask("status"), session.ask("vnic.list")}; };
    Snapshot before = read();
    SteadyClock::time_point before_at = SteadyClock::now();
    for (std::uint64_t tables = 0; options.count == 0 || tables < options.count; ++tables) {
        sleep_until(before_at + interval);
        if (interrupted != 0)
            return;
        const bool live = options.count == 0 && terminal_of_stdout().interactive;
        try {
            Snapshot now = read();
            const SteadyClock::time_point now_at = SteadyClock::now();
            const double seconds = std::chrono::duration<double>(now_at - before_at).count();
            session.print(top_sample(before, now, seconds),
                          [live](const json& sample, const Terminal& screen) {
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

json top_sample(const Snapshot& before, const Snapshot& after, double seconds) {
    json sample{{"host", at(after.status, "/host")},
                {"seconds", seconds},
                {"accounting", at(after.status, "/accounting")},
                {"isolation", at(after.status, "/isolation")},
                {"uplink", uplink_sample(at(before.status, "/uplink"), at(after.status, "/uplink"), seconds)},
                {"workers", json::array()},
                {"vnics", json::array()}};
    for (const json& worker : list_at(after.status, "/workers"))
        sample["workers"].push_back(
            worker_sample(entry_with(list_at(before.status, "/workers"), "/id", at(worker, "/id")), worker));
    const double tsc_hz = number_at(after.status, "/tsc_hz");
    for (const json& vnic : list_at(after.vnics, "/vnics"))
        sample["vnics"].push_back(vnic_sample(
            entry_with(list_at(before.vnics, "/vnics"), "/name", at(vnic, "/name")), vnic, seconds, tsc_hz));
    return sample;
}

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
    command.footer(
        "Examples:\n"
        "  weirctl top\n"
        "  weirctl top --count 60 --interval 10s --json   one line of JSON per table\n"
        "OFFERED and DELIVERED are from the VM, RECEIVED is to it; CPU is of one core. FULFILLMENT is\n"
        "delivered divided by the wanted part of the reservation. HELD BACK is a share of the time.");
    command.callback([&session, options] {
        std::signal(SIGINT, [](int) { interrupted = 1; });
        std::signal(SIGTERM, [](int) { interrupted = 1; });
        run(session, *options);
    });
}

}  // namespace weir::cli
