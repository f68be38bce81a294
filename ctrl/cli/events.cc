// events.cc - weirctl events: the last events of a switch, and those to come.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "common/utc_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

struct EventOptions {
    std::string vnic;
    std::string since;
    bool follow = false;
};

/// "vNIC vm1", "uplink".
std::string object_text(const json& event) {
    return at(event, "/vnic").is_string() ? "vNIC " + text_at(event, "/vnic") : text_at(event, "/part");
}

/// "held back" of held_back.
std::string kind_text(const json& event) {
    std::string text = text_at(event, "/event");
    std::ranges::replace(text, '_', ' ');
    return text;
}

Style style_of(const json& event) {
    static constexpr std::string_view kBad[]{
        "down", "ring_stopped", "front_end_fault", "link_lost", "refused", "held_back", "drops"};
    return std::ranges::find(kBad, text_at(event, "/event")) == std::end(kBad) ? Style::kPlain : Style::kWarn;
}

/// The events after the ones that were printed, one line each, until interrupted.
void follow(const Session& session, json args, std::uint64_t last) {
    constexpr std::chrono::seconds kBetween(1);
    while (true) {
        sleep_unless_interrupted(std::chrono::steady_clock::now() + kBetween);
        if (interrupted())
            return;
        args["after"] = last;
        const json reply = session.ask("events", args);
        const std::uint64_t newest = reply.value("last", std::uint64_t{0});
        if (newest < last) {  // the switch has started anew
            last = 0;
            continue;
        }
        last = newest;
        if (!list_at(reply, "/events").empty())
            session.print(reply, event_lines);
        std::cout << std::flush;
    }
}

}  // namespace

std::string events_text(const json& reply, const Terminal& terminal) {
    Table table({{"TIME"}, {"OBJECT"}, {"EVENT"}, {"DETAIL"}});
    for (const json& event : list_at(reply, "/events"))
        table.add_row({utc_text(static_cast<std::int64_t>(number_at(event, "/time"))),
                       object_text(event),
                       {kind_text(event), style_of(event)},
                       text_at(event, "/detail")});
    return table.render(terminal.columns, terminal.color);
}

std::string event_lines(const json& reply, const Terminal& terminal) {
    std::string text;
    for (const json& event : list_at(reply, "/events"))
        text += utc_text(static_cast<std::int64_t>(number_at(event, "/time"))) + "  " + object_text(event) +
                "  " + styled(kind_text(event), style_of(event), terminal.color) + "  " +
                text_at(event, "/detail") + '\n';
    return text;
}

void add_events(CLI::App& command, Session& session) {
    auto options = std::make_shared<EventOptions>();
    command.add_option("VNIC", options->vnic, "only events of this vNIC");
    command.add_option("--since", options->since, "only those since 10:00, 2026-11-21 15:00 (UTC), or -5min")
        ->type_name("TIME")
        ->check(time_fault);
    command.add_flag("--follow", options->follow, "go on with the events to come, until interrupted");
    command.footer(
        "Examples:\n"
        "  weirctl events --since -10min\n"
        "  weirctl events vm1 --follow\n"
        "The switch keeps its last 1,024 events, of one vNIC the last 128, until it ends.");
    command.callback([&session, options] {
        json args = json::object();
        if (!options->vnic.empty())
            args["name"] = options->vnic;
        if (!options->since.empty())
            args["since"] = *parse_time(options->since);
        const json reply = session.ask("events", args);
        session.print(reply, events_text);
        if (!options->follow)
            return;
        end_on_interrupts();
        follow(session, args, reply.value("last", std::uint64_t{0}));
    });
}

}  // namespace weir::cli
