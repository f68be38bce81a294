// doctor_command.cc - weirctl doctor: works without a running switch.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "ctrl/cli/doctor_checks.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

constexpr const char* kDefaultConfig = "/etc/weir/switch.jsonc";

// Without a file the checks that need none are made: hugepages, /run/weir, DPDK, KVM.
SwitchConfig switch_config_of(const std::string& given) {
    std::error_code ignored;
    if (given.empty() && !std::filesystem::exists(kDefaultConfig, ignored)) {
        SwitchConfig none;
        none.workers.clear();
        return none;
    }
    const auto parsed = load_config(given.empty() ? kDefaultConfig : given);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        throw Failure(kExitBadInput, *faults);
    return std::get<SwitchConfig>(parsed);
}

}  // namespace

void add_doctor_command(CLI::App& app, Session& session) {
    auto file = std::make_shared<std::string>();
    CLI::App* doctor =
        app.add_subcommand("doctor", "what this host lacks to run the switch, and what mends it");
    doctor
        ->add_option("--config", *file,
                     "check for this configuration (default: /etc/weir/switch.jsonc if there is one)")
        ->type_name("FILE");
    doctor->callback([&session, file] {
        const SwitchConfig config = switch_config_of(*file);
        const std::vector<Finding> findings = check_host(gather_facts(config, ""), config);
        const bool well = std::none_of(findings.begin(), findings.end(),
                                       [](const Finding& f) { return f.health == Health::kMissing; });
        if (!session.print_json(findings_json(findings), well))
            std::cout << findings_text(findings, terminal_of_stdout());
        session.exit_code = well ? kExitOk : kExitRefused;
    });
}

}  // namespace weir::cli
