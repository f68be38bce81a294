// session.h - the common part of weirctl's commands: options, requests to the program, output.
// Threads: one, the command's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/table.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// Makes text of a reply. Pure.
using View = std::function<std::string(const nlohmann::json& data, const Terminal& terminal)>;

/// The same question asked twice.
struct Readings {
    nlohmann::json before;
    nlohmann::json after;
};

struct Session {
    /// Sends one command to the program that listens on `socket` and returns the `data` of its reply.
    /// @throws Failure
    using Transport = std::function<nlohmann::json(const std::string& socket, const std::string& command,
                                                   const nlohmann::json& args)>;

    std::string socket = "/run/weir/admin/switch.sock";  ///< --socket, a switch's or a controller's
    bool json_output = false;                            ///< --json
    int exit_code = kExitOk;  ///< set by a command that prints its result and still has to report a failure
    Transport transport;      ///< how ask() reaches the program

    /// @throws Failure
    [[nodiscard]] nlohmann::json ask(const std::string& command,
                                     const nlohmann::json& args = nlohmann::json::object()) const {
        return transport(socket, command, args);
    }
    /// @param interval time between the two, as the operator wrote it: "1s"
    /// @throws Failure
    [[nodiscard]] Readings ask_twice(const std::string& command, const nlohmann::json& args,
                                     const std::string& interval) const;

    /// Prints {"schema":1,"ok":...,"data":...} on one line with --json, else the view of `data`.
    void print(const nlohmann::json& data, const View& view, bool ok = true) const;
    /// The same with a text that needs no view.
    void print(const nlohmann::json& data, const std::string& text, bool ok = true) const;
};

/// SIGINT and SIGTERM end the command at its next look at interrupted(), so that it can leave all in order.
void end_on_interrupts();
[[nodiscard]] bool interrupted();
/// Sleeps in steps of 50 ms.
void sleep_unless_interrupted(std::chrono::steady_clock::time_point until);

/// Prints one line per fault to standard error, or {"schema":1,"ok":false,"faults":[...]} to standard output.
void print_faults(const Faults& faults, bool json_output);

/// The words that name a command on the command line: "tenant add".
[[nodiscard]] std::string words_of(const CLI::App& command);

/// Adds the option --interval and returns its value as the operator writes it.
[[nodiscard]] std::shared_ptr<std::string> add_interval(CLI::App& command, const char* meaning);
/// Value of an option that is a time with its unit, from 50ms to 3600s.
/// @param option its name, for the message. @throws Failure
[[nodiscard]] std::chrono::nanoseconds parse_time(const char* option, const std::string& text);

/// Content of a file; "-" is standard input.
/// @param allowed the accepted files, for the message. @throws Failure
[[nodiscard]] std::string read_input(const std::string& file, const std::string& allowed);

}  // namespace weir::cli
