// backup.cc - weirctl backup: a copy of the controller's store and bill.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {

void add_backup(CLI::App& command, Session& session) {
    auto file = std::make_shared<std::string>();
    command
        .add_option("FILE", *file, "the new file, on the controller's machine; the bill goes to FILE-bill")
        ->required();
    command.footer(
        "Example:\n"
        "  weirctl backup /backup/ctrl.db --timeout 10min --socket /run/weir/admin/ctrl.sock\n"
        "The controller goes on meanwhile. FILE appears when all is on the disk, and can be used as the\n"
        "\"store\" of a cluster file as it is. Without a reply in time the copy goes on.");
    command.callback([&session, file] {
        const json args{{"file", std::filesystem::absolute(*file).string()}};
        session.print(session.ask("backup", args), [](const json& data, const Terminal&) {
            return "the store was copied to " + text_at(data, "/file") + ", its bill to " +
                   text_at(data, "/bill") + '\n';
        });
    });
}

}  // namespace weir::cli
