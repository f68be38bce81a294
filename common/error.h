// error.h - a fault in something that a person wrote, and the exception for a host that lacks something.
// Threads: any (values); never used on a poll thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace weir {

/// One fault in a configuration or a command: its place, the value found, the allowed ones, its remedy.
struct Fault {
    std::string path;     ///< path of the value, e.g. "vnics[2].limit"; empty = the root
    std::string found;    ///< the value found, as written
    std::string allowed;  ///< the accepted values, with an example
    std::string message;  ///< one sentence: the fault and its remedy

    /// "vnics[2].limit: found 10; allowed: ...; message" on one line
    [[nodiscard]] std::string to_line() const {
        std::string line = path.empty() ? std::string("(root)") : path;
        if (!found.empty())
            line += ": found " + found;
        if (!allowed.empty())
            line += "; allowed: " + allowed;
        if (!message.empty())
            line += "; " + message;
        return line;
    }
};

using Faults = std::vector<Fault>;

/// A thing of the host is missing or refused. Thrown at start and by handlers of commands only.
class HostError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace weir
