// status_command.cc - weirctl status, weirctl drops.
#include <CLI/CLI.hpp>
#include <iostream>

#include "ctrl/cli/session.h"
#include "ctrl/cli/status_view.h"

namespace weir::cli {

void add_status_commands(CLI::App& app, Session& session) {
    app.add_subcommand("status", "the switch, its workers, its uplink and its vNICs")->callback([&session] {
        const nlohmann::json status = session.ask("status");
        if (!session.print_json(status))
            std::cout << status_text(status, terminal_of_stdout());
    });
    app.add_subcommand("drops", "what was dropped, where and why")->callback([&session] {
        const nlohmann::json drops = session.ask("drops");
        if (!session.print_json(drops))
            std::cout << drops_text(drops, terminal_of_stdout());
    });
}

}  // namespace weir::cli
