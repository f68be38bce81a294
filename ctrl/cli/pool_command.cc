// pool_command.cc - weirctl pool show|set|reset, which the controller answers.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "ctrl/cli/pool_view.h"
#include "ctrl/cli/session.h"
#include "ctrl/cli/vnic_view.h"

namespace weir::cli {
namespace {

using nlohmann::json;

void add_pool_show(CLI::App& pool, Session& session) {
    auto appliance = std::make_shared<std::string>();
    CLI::App* show =
        pool.add_subcommand("show", "pools as a tree: what is promised, now divided, wanted, delivered");
    show->add_option("APPLIANCE", *appliance, "only its pools");
    show->callback([&session, appliance] {
        const json pools = session.ask("pool.show");
        if (!session.print_json(pools))
            std::cout << pools_text(pools, *appliance, terminal_of_stdout());
    });
}

void add_pool_set(CLI::App& pool, Session& session) {
    auto name = std::make_shared<std::string>();
    auto appliance = std::make_shared<std::string>();
    auto pairs = std::make_shared<std::vector<std::string>>();
    CLI::App* set =
        pool.add_subcommand("set", "change reservation, limit or shares of a pool, or of a vNIC in one");
    set->add_option("NAME", *name)->required();
    set->add_option("KEY=VALUE", *pairs, "such as reservation=1500tokens, limit=none, shares=200")
        ->required();
    set->add_option("--appliance", *appliance, "whose, for a vNIC in pools of several");
    set->callback([&session, name, appliance, pairs] {
        json args{{"name", *name}, {"change", object_of_pairs(*pairs)}};
        if (!appliance->empty())
            args["appliance"] = *appliance;
        const json done = session.ask("pool.set", args);
        if (!session.print_json(done))
            std::cout << *name << " changed, from the next interval on\n";
    });
}

void add_pool_reset(CLI::App& pool, Session& session) {
    auto name = std::make_shared<std::string>();
    auto appliance = std::make_shared<std::string>();
    CLI::App* reset = pool.add_subcommand("reset", "take back what was set: the cluster file counts again");
    reset->add_option("NAME", *name)->required();
    reset->add_option("--appliance", *appliance, "whose, for a vNIC in pools of several");
    reset->callback([&session, name, appliance] {
        json args{{"name", *name}};
        if (!appliance->empty())
            args["appliance"] = *appliance;
        const json done = session.ask("pool.reset", args);
        if (!session.print_json(done))
            std::cout << *name << " as the cluster file says, from the next interval on\n";
    });
}

}  // namespace

void add_pool_commands(CLI::App& app, Session& session) {
    CLI::App* pool = app.add_subcommand("pool", "pools of the controller (--socket names its socket)");
    require_command(*pool);
    add_pool_show(*pool, session);
    add_pool_set(*pool, session);
    add_pool_reset(*pool, session);
}

}  // namespace weir::cli
