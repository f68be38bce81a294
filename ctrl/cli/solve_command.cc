// solve_command.cc - weirctl solve: works without switch and controller.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "common/config/config_text.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/session.h"
#include "ctrl/what_if/solve.h"

namespace weir::cli {
namespace {

std::string text_of(const std::string& file) {
    if (file == "-")
        return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    auto read = read_text_file(file);
    if (Fault* fault = std::get_if<Fault>(&read)) {
        fault->message = "the problem could not be read";
        throw Failure(kExitBadInput, {*fault});
    }
    return std::get<std::string>(std::move(read));
}

}  // namespace

void add_solve_command(CLI::App& app, Session& session) {
    auto file = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand(
        "solve", "what the controller would compute for a problem in JSON (docs/solve.md); needs neither");
    command->add_option("FILE", *file, "the problem; - reads standard input")->required();
    command->callback([&session, file] {
        const what_if::Solved solved = what_if::solve_text(text_of(*file));
        if (const Faults* faults = std::get_if<Faults>(&solved))
            throw Failure(kExitBadInput, *faults);
        const auto& answer = std::get<nlohmann::json>(solved);
        if (!session.print_json(answer))
            std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    });
}

}  // namespace weir::cli
