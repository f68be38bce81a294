// failure.h - exception that ends weirctl or weir-calibrate, with its exit status and its faults.
// Threads: any (values).
#pragma once

#include <stdexcept>
#include <utility>
#include <variant>

#include "common/error.h"

namespace weir::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;   ///< the switch, controller or appliance refused or cannot be reached
inline constexpr int kExitBadInput = 2;  ///< the command line, or a file that it names, is wrong
inline constexpr int kExitDoesNotFit = 3;  ///< a cluster file promises more than its cluster has

class Failure : public std::runtime_error {
  public:
    Failure(int exit_code_in, Faults faults_in)
        : std::runtime_error("weirctl"), exit_code(exit_code_in), faults(std::move(faults_in)) {}

    int exit_code;
    Faults faults;  ///< at least one
};

/// A Failure with kExitBadInput and one fault.
/// @param path the option or argument that is wrong, such as "--interval"
[[nodiscard]] inline Failure bad_input(std::string path, std::string found, std::string allowed,
                                       std::string message) {
    return {kExitBadInput, {{std::move(path), std::move(found), std::move(allowed), std::move(message)}}};
}

/// The value of a parser's result. @throws Failure (kExitBadInput) with the parser's faults
template <typename Value>
[[nodiscard]] Value value_or_throw(std::variant<Value, Faults> parsed) {
    if (Faults* faults = std::get_if<Faults>(&parsed))
        throw Failure(kExitBadInput, std::move(*faults));
    return std::get<Value>(std::move(parsed));
}

}  // namespace weir::cli
