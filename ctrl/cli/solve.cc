// solve.cc - weirctl solve: a what-if problem, computed here with the controller's pure functions.
#include "ctrl/what_if/solve.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "ctrl/cli/session.h"

namespace weir::cli {

void add_solve(CLI::App& command, Session& session) {
    auto file = std::make_shared<std::string>();
    command.add_option("FILE", *file, "the problem, a JSON object; - is standard input")->required();
    command.footer(
        "Example:\n"
        "  echo '{\"kind\": \"divvy\", \"capacity\": 10, \"children\": [{\"id\": \"a\", \"shares\": 1}]}' | "
        "weirctl solve -\n"
        "docs/solve.md has the kinds of problems and their keys.");
    command.callback([&session, file] {
        const what_if::Solved solved = what_if::solve_text(
            read_input(*file, "a readable file with a problem as in docs/solve.md; - is standard input"));
        if (const Faults* faults = std::get_if<Faults>(&solved))
            throw Failure(kExitBadInput, *faults);
        session.print(std::get<nlohmann::json>(solved), [](const nlohmann::json& answer, const Terminal&) {
            return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
        });
    });
}

}  // namespace weir::cli
