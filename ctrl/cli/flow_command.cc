// flow_command.cc - weirctl flow list, weirctl why: two readings, and what happened between them.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <thread>

#include "ctrl/cli/flow_view.h"
#include "ctrl/cli/interval.h"
#include "ctrl/cli/session.h"
#include "ctrl/cli/why_view.h"

namespace weir::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string vnic;
    std::string interval = "1s";
};

struct Readings {
    json before;
    json after;
};

std::shared_ptr<Options> add_options(CLI::App& command) {
    auto options = std::make_shared<Options>();
    command.add_option("--interval", options->interval, "time between the two readings")
        ->type_name("TIME")
        ->capture_default_str();
    return options;
}

Readings read_twice(const Session& session, const char* command, const Options& options) {
    const auto interval = interval_of(options.interval);
    const json args = options.vnic.empty() ? json::object() : json{{"name", options.vnic}};
    json before = session.ask(command, args);
    std::this_thread::sleep_for(interval);
    return {std::move(before), session.ask(command, args)};
}

void print(const Session& session, const json& sample, std::string (*text)(const json&, const Terminal&)) {
    if (!session.print_json(sample))
        std::cout << text(sample, terminal_of_stdout());
}

}  // namespace

void add_flow_commands(CLI::App& app, Session& session) {
    CLI::App* flow = app.add_subcommand("flow", "requests of vNICs to appliances");
    require_command(*flow);
    CLI::App* list =
        flow->add_subcommand("list", "what requests use, against their limits, and what holds them back");
    const auto listed = add_options(*list);
    list->add_option("VNIC", listed->vnic, "of this one only");
    list->callback([&session, listed] {
        const Readings readings = read_twice(session, "flow.list", *listed);
        print(session, flow_sample(readings.before, readings.after), flow_text);
    });

    CLI::App* why = app.add_subcommand("why", "what held a vNIC back, how long, and who else used that");
    const auto asked = add_options(*why);
    why->add_option("VNIC", asked->vnic)->required();
    why->callback([&session, asked] {
        const Readings readings = read_twice(session, "why", *asked);
        print(session, why_sample(readings.before, readings.after), why_text);
    });
}

}  // namespace weir::cli
