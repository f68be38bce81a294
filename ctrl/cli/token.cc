// token.cc - weirctl token create: a token of the controller's HTTP API, shown once, and its line of the
// file.
#include "ctrl/api/token.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "common/config/field_kinds.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {

void add_token_create(CLI::App& command, Session& session) {
    struct Options {
        std::string name;
        std::string role = "view";
    };
    const auto options = std::make_shared<Options>();
    command.add_option("NAME", options->name, "of the client, for the audit trail")->required();
    command.add_option("--role", options->role, "view: reads; operate: changes too")
        ->check(CLI::IsMember({"view", "operate"}))
        ->capture_default_str();
    command.footer(
        "Example:\n"
        "  weirctl token create grafana --role view\n"
        "Nothing is sent: add the line to `api.token_file` of the cluster file (chmod 600), and weir-ctrl\n"
        "takes the token within a second. A removed line ends its token. The token is shown here alone.");
    command.callback([&session, options] {
        if (!is_name(options->name))
            throw bad_input("NAME", options->name, "1 to 31 of A-Z a-z 0-9 . _ -", "this is no name");
        const NewToken made = make_token(options->name, role_of(options->role).value_or(Role::kView));
        session.print(
            {{"token", made.secret}, {"line", made.token.to_line()}},
            "token, shown once: " + made.secret + "\nline of the token file: " + made.token.to_line() + '\n');
    });
}

}  // namespace weir::cli
