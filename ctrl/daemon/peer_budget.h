// peer_budget.h - how much of the controller's work each peer may cause.
// Source: docs/protocol.md, "Budgets". Units: Nanos of any clock that only rises; bytes. Threads: one owner.
//
// A peer is the key that a connection showed, or a plain connection. It has an allowance of each kind of
// work: an amount in each span, and a burst that it may save up. Example: 4 HELLOs a second with a burst
// of 10. Ten at once are taken, the next one is refused; 250 ms later one more is taken. The refused message
// changes nothing: messages carry state, so a later one mends it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/daemon/sessions.h"

namespace weir {

/// `amount` units in each `span`, of which at most `burst` are saved up.
struct AllowedRate {
    std::uint64_t amount = 0;
    Nanos span = kNanosPerSec;
    std::uint64_t burst = 0;
};

class Allowance {
  public:
    /// @return whether so many units are left; if not, none is taken
    [[nodiscard]] bool take(const AllowedRate& allowed, std::uint64_t units, Nanos now);
    [[nodiscard]] bool is_whole(const AllowedRate& allowed, Nanos now);

  private:
    void refill(const AllowedRate& allowed, Nanos now);

    std::uint64_t missing_ = 0;  // of the burst, units times the span: integers lose nothing
    Nanos at_ = 0;
};

/// A kind of work that a peer causes, and the reason for which a message is refused.
enum class Work : std::uint8_t {
    kMessages,
    kBytes,
    kHellos,
    kHelloBytes,
    kSnapshots,    ///< asked for: the answer is large. The rest of the message counts
    kEarlySolves,  ///< caused by a change of demand, which waits for the next tick instead
    kConnections   ///< plain ones: there are too many at work
};
inline constexpr std::size_t kWorks = 7;
[[nodiscard]] const char* name_of(Work work);

using WorkLimits = std::array<AllowedRate, kWorks>;
/// Limits of each kind of work that no switch exceeds while it keeps to docs/protocol.md.
[[nodiscard]] WorkLimits work_limits(Nanos interval);

/// Plain connections of a cluster that are served at once: 4 of each host, as a key has, and some more.
[[nodiscard]] constexpr std::size_t plain_peers_max(std::size_t hosts) {
    return 64 + 4 * hosts;
}

class PeerBudgets {
  public:
    /// @param plain_max plain connections with an account. Beyond them, accounts that are whole make room
    PeerBudgets(Nanos interval, std::size_t plain_max)
        : limits_(work_limits(interval)), plain_max_(plain_max) {}

    void set_plain_max(std::size_t plain_max) { plain_max_ = plain_max; }
    /// Takes a message from the peer's allowances. @return the one that has not enough left
    [[nodiscard]] std::optional<Work> refuse(const Peer& peer, bool is_hello, std::uint64_t bytes, Nanos now);
    /// Takes one unit of another kind. @return whether it was left
    [[nodiscard]] bool take(const Peer& peer, Work work, Nanos now);
    /// Refusals since the start by reason, and the `most` pairs of peer and reason that had most of them.
    [[nodiscard]] nlohmann::json describe(std::size_t most) const;

  private:
    struct Account {
        std::string name;
        std::array<Allowance, kWorks> left{};
        std::array<std::uint64_t, kWorks> refused{};
    };

    /// nullptr: there are too many plain connections.
    Account* account_of(const Peer& peer, Nanos now);
    bool make_room(Nanos now);
    [[nodiscard]] bool take(Account& account, Work work, std::uint64_t units, Nanos now);

    WorkLimits limits_;
    std::size_t plain_max_;
    std::map<std::string, Account> by_host_;
    std::map<std::string, Account> by_route_;  // plain connections
    std::uint64_t plain_ = 0;                  // that had an account
    std::array<std::uint64_t, kWorks> refused_{};
};

}  // namespace weir
