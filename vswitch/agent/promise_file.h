// promise_file.h - the controller's last promises in a file, for a switch that starts while the controller is
// away. Source: docs/protocol.md; docs/operations.md.
// Units: Unix seconds. Threads: the agent (at start and end main).
//
// Three lines of JSON: a head with the host, the time of the last word of the controller and a checksum of
// all the rest; the WELCOME; the TABLES. The two messages are read as strictly as from the wire. A file that
// is cut, altered, of another host or of another version is refused as a whole. Promises do not expire: a
// guarantee of last week is nearer to the one that was sold than none is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/wire/messages.h"

namespace weir {

struct KeptPromises {
    std::int64_t confirmed = 0;  ///< when the switch had last a session with the controller
    wire::Welcome welcome{};
    wire::Tables tables{};
    bool operator==(const KeptPromises&) const = default;
};

class PromiseFile {
  public:
    /// Twice the largest body of a message: TABLES that were read fit, also where their text here is longer.
    static constexpr std::size_t kBytesMax = 2 * wire::kBodyBytesMax;

    PromiseFile(std::string path, std::string host) : path_(std::move(path)), host_(std::move(host)) {}

    struct Read {
        std::optional<KeptPromises> promises{};  ///< absent: there is no file, or it is refused
        std::string refusal{};                   ///< why, as text for people; empty: it is not refused
    };
    [[nodiscard]] Read read() const;
    /// @return why that failed; empty: it did not
    [[nodiscard]] std::string write(const KeptPromises& promises) const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
    std::string host_;
};

}  // namespace weir
