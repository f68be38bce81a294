// log.cc - weirctl log level: from which level on a switch or a controller logs its messages.
#include <CLI/CLI.hpp>
#include <memory>

#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {

void add_log_level(CLI::App& command, Session& session) {
    const auto level = std::make_shared<std::string>();
    command.add_option("LEVEL", *level, "debug, info, warning or error; absent: it is only shown");
    command.footer(
        "debug adds each command and each message between switch and controller. The level lasts until\n"
        "the program ends.\n"
        "Example:\n"
        "  weirctl log level debug");
    command.callback([&session, level] {
        json args = json::object();
        if (!level->empty())
            args["level"] = *level;
        session.print(session.ask("log.level", args), [](const json& reply, const Terminal&) {
            return "the log has " + text_at(reply, "/level") +
                   " and higher; before: " + text_at(reply, "/before") + '\n';
        });
    });
}

}  // namespace weir::cli
