// learned_file.h - the file in which guests' assigned addresses outlast the switch, beside the command
// socket. Source: docs/algorithms.md 3.10. Units: ns since the machine's boot, suspended time included.
// Threads: the agent (at start and end main).
//
// A guest does not ask for its addresses again because the switch was restarted. The file has, for each vNIC
// that is a DHCP client, the addresses assigned to the guest and the times at which they end. It is valid
// until the machine is booted again: its guests have gone then. Example: a lease of 3,600 s that was learned
// at 100 s is written with the end 3,700 s, and has 3,000 s left for a switch that starts at 700 s.
//
// A file that this switch cannot have written (of another user, writable by others, cut, too long, with other
// contents) is refused as a whole: its addresses would be a way around the guard.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "vswitch/base/stats.h"
#include "vswitch/config/config.h"

namespace weir {

/// A vNIC's addresses, and the properties that a later vNIC must have, too, to get them again.
struct LearnedVnic {
    std::string name;
    std::string port;  ///< its socket or device
    std::uint64_t mac = 0;
    std::uint16_t vlan = 0;
    std::vector<LearnedAddress> addresses{};

    /// That of a configured vNIC, without addresses.
    [[nodiscard]] static LearnedVnic of(const VnicConfig& vnic);
    [[nodiscard]] bool same_vnic(const LearnedVnic& other) const;
    bool operator==(const LearnedVnic&) const = default;
};

/// Time since the machine's boot, as the file has it.
[[nodiscard]] Nanos time_since_boot();

class LearnedFile {
  public:
    static constexpr std::size_t kBytesMax = 1 << 20;
    static constexpr std::size_t kVnicsMax = 2048;

    explicit LearnedFile(std::string path) : path_(std::move(path)) {}

    /// @return the vNICs in the file, none without a file; or why it is refused, as text for people
    [[nodiscard]] std::variant<std::vector<LearnedVnic>, std::string> read() const;
    /// Replaces the file as a whole (rename), or removes it when there is nothing to keep; readable by this
    /// user alone. Vnics beyond kVnicsMax are left out. @return why that failed; empty: it did not
    [[nodiscard]] std::string write(const std::vector<LearnedVnic>& vnics) const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace weir
