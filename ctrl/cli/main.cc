// main.cc - weirctl: the operator's command. Exit 0 done, 1 the switch refused or is away, 2 wrong usage or
// input, 3 a plan does not fit.
#include <CLI/CLI.hpp>
#include <iostream>

#include "ctrl/cli/failure.h"
#include "ctrl/cli/session.h"

int main(int argc, char** argv) {
    using namespace weir::cli;
    Session session;
    CLI::App app("weirctl - talks to weir-switch, the switch on this host", "weirctl");
    app.add_option("--socket", session.socket, "the switch's control_socket")
        ->envname("WEIR_SOCKET")
        ->type_name("PATH")
        ->capture_default_str();
    app.add_flag("--json", session.json_wanted,
                 "print {\"schema\":1,\"ok\":...,\"data\":...} instead of text");
    require_command(app);
    app.fallthrough();  // --json and --socket may stand after the command too
    add_status_commands(app, session);
    add_vnic_commands(app, session);
    add_flow_commands(app, session);
    add_pool_commands(app, session);
    add_bill_command(app, session);
    add_top_command(app, session);
    add_doctor_command(app, session);
    add_guest_commands(app, session);
    add_solve_command(app, session);
    add_plan_commands(app, session);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kExitOk : kExitBadInput;
    } catch (const Failure& failure) {
        print_faults(failure.faults, session.json_wanted);
        return failure.exit_code;
    }
    return session.exit_code;
}
