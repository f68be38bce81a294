// main.cc - weirctl, the operator's command: parsing of the command line.
// Threads: one.
//
// Exit status: 0 done, 1 the program that was asked refused or cannot be reached, 2 wrong usage or input,
// 3 the promises of a cluster file cannot be kept.
#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "ctrl/cli/client.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/session.h"

namespace weir::cli {

namespace {

struct Command {
    const char* words;
    void (*configure)(CLI::App& command, Session& session);
    const char* phrase;
};

constexpr Command kCommands[] = {
#define WEIRCTL_ROW(file, words, function, phrase) {words, function, phrase},
    WEIRCTL_COMMANDS(WEIRCTL_ROW)
#undef WEIRCTL_ROW
};

constexpr const char* kFooter =
    "weirctl COMMAND --help has options and an example. Commands marked \"controller\" need its --socket.\n"
    "Exit status: 0 done, 1 refused or unreachable, 2 wrong usage or input, 3 promises that cannot be kept.";

/// Lists commands of two words, such as "vnic list", beside those of one.
class CommandList : public CLI::Formatter {
  public:
    CommandList() {
        label("SUBCOMMAND", "COMMAND");
        label("TEXT", "");
        label("REQUIRED", "");
    }
    [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override {
        const auto members = command->get_subcommands({});
        std::ostringstream out;
        for (const CLI::App* member : members)
            CLI::detail::format_help(out, command->get_name() + ' ' + member->get_name(),
                                     member->get_description(), get_column_width());
        return members.empty() ? Formatter::make_subcommand(command) : out.str();
    }
};

/// Unknown words are reported before the missing command.
void require_command(CLI::App& group) {
    group.callback([&group] {
        if (group.get_subcommands().empty())
            throw CLI::RequiredError("a command");
    });
}

/// The group of a command of two words, "vnic" of "vnic list"; added with its first member.
CLI::App& group_of(CLI::App& app, const std::string& name) {
    const auto known = app.get_subcommands([&](CLI::App* command) { return command->get_name() == name; });
    if (!known.empty())
        return *known.front();
    CLI::App* group = app.add_subcommand(name)->group("Commands");
    require_command(*group);
    return *group;
}

void add_command(CLI::App& app, const Command& command, Session& session) {
    const std::string words = command.words;
    const std::size_t blank = words.find(' ');
    CLI::App& parent = blank == std::string::npos ? app : group_of(app, words.substr(0, blank));
    CLI::App* added = parent.add_subcommand(words.substr(blank + 1), command.phrase);  // npos + 1 is 0
    added->group("Commands");
    command.configure(*added, session);
}

int run(int argc, char** argv) {
    Session session;
    std::chrono::milliseconds timeout = kReplyTimeout;
    session.transport = [&timeout](const std::string& socket, const std::string& command,
                                   const nlohmann::json& args) {
        return ask_program(socket, command, args, timeout);
    };
    CLI::App app("weirctl - shows and changes the state of weir-switch and weir-ctrl", "weirctl");
    app.formatter(std::make_shared<CommandList>());
    app.footer(kFooter);
    app.add_option("--socket", session.socket,
                   "control_socket of the switch; the controller's is /run/weir/admin/ctrl.sock by default")
        ->envname("WEIR_SOCKET")
        ->type_name("PATH")
        ->capture_default_str();
    app.add_option_function<std::string>(
           "--timeout",
           [&timeout](const std::string& text) {
               timeout = std::chrono::duration_cast<std::chrono::milliseconds>(parse_time("--timeout", text));
           },
           "how long the program may take for its reply")
        ->type_name("TIME")
        ->default_str("2s");
    app.add_flag("--json", session.json_output,
                 "print {\"schema\":1,\"ok\":true,\"data\":...} on one line instead of text");
    require_command(app);
    app.fallthrough();  // the options above may also stand after the command
    for (const Command& command : kCommands)
        add_command(app, command, session);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kExitOk : kExitBadInput;
    } catch (const Failure& failure) {
        print_faults(failure.faults, session.json_output);
        return failure.exit_code;
    }
    return session.exit_code;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
    return weir::cli::run(argc, argv);
}
