// error.h - what went wrong with something a person wrote: where, what was found, what is allowed, how to
// mend it. Threads: any (values); never used on a poll thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace weir {

/// One fault in a configuration or a command.
struct Fault {
    std::string path;     ///< JSON pointer-like path, e.g. "vnics[2].limit"
    std::string found;    ///< the value found, as written
    std::string allowed;  ///< what would be accepted, with an example
    std::string message;  ///< one sentence: what is wrong and how to mend it

    /// "vnics[2].limit: found 10; allowed: ...; message" on one line
    [[nodiscard]] std::string to_line() const;
};

using Faults = std::vector<Fault>;

/// Thrown at start and by command handlers only (never on a poll thread): a thing of the host is missing or
/// refused.
class HostError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace weir
