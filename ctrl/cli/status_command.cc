// status_command.cc - weirctl status, weirctl drops, weirctl audit.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "ctrl/cli/controller_view.h"
#include "ctrl/cli/session.h"
#include "ctrl/cli/status_view.h"

namespace weir::cli {

void add_status_commands(CLI::App& app, Session& session) {
    app.add_subcommand("status",
                       "the switch, its workers, its uplink and its vNICs; or the controller and its hosts")
        ->callback([&session] {
            const nlohmann::json status = session.ask("status");
            if (!session.print_json(status))
                std::cout << (is_controller(status) ? controller_text : status_text)(status,
                                                                                     terminal_of_stdout());
        });
    auto last = std::make_shared<unsigned>(50);
    CLI::App* audit =
        app.add_subcommand("audit", "what happened to the controller (--socket names its socket)");
    audit->add_option("--last", *last, "so many entries")->check(CLI::Range(1, 1'000))->capture_default_str();
    audit->callback([&session, last] {
        const nlohmann::json entries = session.ask("audit", {{"last", *last}});
        if (!session.print_json(entries))
            std::cout << audit_text(entries, terminal_of_stdout());
    });
    app.add_subcommand("drops", "what was dropped, where and why")->callback([&session] {
        const nlohmann::json drops = session.ask("drops");
        if (!session.print_json(drops))
            std::cout << drops_text(drops, terminal_of_stdout());
    });
}

}  // namespace weir::cli
