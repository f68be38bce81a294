// clock.cc - weirctl clock: moves the time of a program that was started with --clock stepped.
#include <CLI/CLI.hpp>
#include <memory>

#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {

void add_clock_step(CLI::App& command, Session& session) {
    struct Options {
        std::string span;
        std::string turn;
    };
    const auto options = std::make_shared<Options>();
    command.add_option("SPAN", options->span, "time that shall pass, such as 100ms")->required();
    command.add_option("--turn", options->turn, "of a switch: time of one poll turn; 10us without it");
    command.footer(
        "For tests: every worker makes SPAN / turn poll turns, one after the other, and parks again.\n"
        "Example:\n"
        "  weirctl clock step 100ms --turn 100us");
    command.callback([&session, options] {
        json args{{"span", options->span}};
        if (!options->turn.empty())
            args["turn"] = options->turn;
        session.print(session.ask("clock.step", args), [](const json& reply, const Terminal&) {
            return "the clock is at " + text_at(reply, "/now_ns") + " ns\n";
        });
    });
}

}  // namespace weir::cli
