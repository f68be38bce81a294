// failure.h - how a command of weirctl fails: an exit status and what to say.
// Threads: the command's only one.
#pragma once

#include <stdexcept>
#include <utility>

#include "common/error.h"

namespace weir::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;     ///< the switch refused, or cannot be reached
inline constexpr int kExitBadInput = 2;    ///< the command line or what it names is wrong
inline constexpr int kExitDoesNotFit = 3;  ///< a cluster file's promises cannot be kept

class Failure : public std::runtime_error {
  public:
    Failure(int exit_code_in, Faults faults_in)
        : std::runtime_error("weirctl"), exit_code(exit_code_in), faults(std::move(faults_in)) {}

    int exit_code;
    Faults faults;
};

/// @param path the option or argument at fault
[[nodiscard]] inline Failure bad_input(std::string path, std::string found, std::string allowed,
                                       std::string message) {
    return {kExitBadInput, {{std::move(path), std::move(found), std::move(allowed), std::move(message)}}};
}

}  // namespace weir::cli
