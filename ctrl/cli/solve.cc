// solve.cc - weirctl solve: a what-if problem, computed here with the controller's pure functions.
#include <CLI/CLI.hpp>
#include <memory>
#include <span>

#include "ctrl/alloc/registry.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/session.h"
#include "ctrl/what_if/registry.h"

namespace weir::cli {
namespace {

/// One line per entry of a registry: its name and summary.
template <typename Entry>
std::string table_of(std::span<const Entry> entries) {
    std::string text;
    for (const Entry& entry : entries) {
        std::string line = "  " + std::string(entry.name);
        line.resize(14, ' ');
        text += line + std::string(entry.summary) + '\n';
    }
    return text;
}

}  // namespace

void add_solve(CLI::App& command, Session& session) {
    auto file = std::make_shared<std::string>();
    command.add_option("FILE", *file, "the problem, a JSON object; - is standard input")->required();
    command.footer(
        "Example:\n"
        "  echo '{\"kind\": \"divvy\", \"capacity\": 10, \"children\": [{\"id\": \"a\", \"shares\": 1}]}' | "
        "weirctl solve -\n"
        "Kinds of problems, whose keys docs/what_if.md explains:\n" +
        table_of<what_if::Kind>(what_if::kKinds) + "\nMechanisms of the kinds allocation and vdc:\n" +
        table_of<alloc::MechanismEntry>(alloc::kMechanisms));
    command.callback([&session, file] {
        const std::string problem =
            read_input(*file, "a readable file with a problem as in docs/what_if.md; - is standard input");
        const json answer = value_or_throw(what_if::solve_text(problem));
        session.print(answer, answer.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
    });
}

}  // namespace weir::cli
