// session.h - what every command of weirctl shares: the options, the switch, and the way results are printed.
// Threads: the command's only one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct Session {
    std::string socket = "/run/weir/switch.sock";
    bool json_wanted = false;
    int exit_code = 0;  ///< set by a command that ends without Failure but not well (doctor)

    /// Asks the switch. @throws Failure
    [[nodiscard]] nlohmann::json ask(const std::string& command,
                                     const nlohmann::json& args = nlohmann::json::object()) const;
    /// Prints {"schema":1,"ok":true,"data":...} on one line when --json is given.
    /// @return whether it did; if not, the caller prints its text
    [[nodiscard]] bool print_json(const nlohmann::json& data, bool ok = true) const;
};

/// Faults as lines on standard error, or as {"schema":1,"ok":false,"faults":[...]} on standard output.
void print_faults(const Faults& faults, bool json_wanted);

/// A command that needs a subcommand: says so only after unknown words were reported.
void require_command(CLI::App& app);

// One per command family; each adds its subcommands. `session` outlives `app`.
void add_status_commands(CLI::App& app, Session& session);  ///< status, drops, audit
void add_vnic_commands(CLI::App& app, Session& session);    ///< vnic list|show|set|add|remove
void add_flow_commands(CLI::App& app, Session& session);    ///< flow list, why
void add_pool_commands(CLI::App& app, Session& session);    ///< pool show|set
void add_bill_command(CLI::App& app, Session& session);     ///< bill
void add_top_command(CLI::App& app, Session& session);      ///< top
void add_doctor_command(CLI::App& app, Session& session);   ///< doctor
void add_solve_command(CLI::App& app, Session& session);    ///< solve
void add_plan_commands(CLI::App& app, Session& session);    ///< plan, apply --dry-run
void add_guest_commands(CLI::App& app, Session& session);   ///< qemu-args, libvirt-xml

}  // namespace weir::cli
