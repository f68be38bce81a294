// session.cc - the envelope around every answer.
#include "ctrl/cli/session.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/config/fault_report.h"
#include "ctrl/cli/client.h"

namespace weir::cli {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

json Session::ask(const std::string& command, const json& args) const {
    return Client(socket).call(command, args);
}

bool Session::print_json(const json& data, bool ok) const {
    if (json_wanted)
        std::cout << dump({{"schema", 1}, {"ok", ok}, {"data", data}}) << std::endl;
    return json_wanted;
}

void print_faults(const Faults& faults, bool json_wanted) {
    if (!json_wanted) {
        for (const Fault& fault : faults)
            std::cerr << "weirctl: " << fault.to_line() << '\n';
        return;
    }
    std::cout << dump({{"schema", 1}, {"ok", false}, {"faults", faults_to_json(faults)}}) << std::endl;
}

void require_command(CLI::App& app) {
    app.callback([&app] {
        if (app.get_subcommands().empty())
            throw CLI::RequiredError("a command");
    });
}

}  // namespace weir::cli
