// connections.h - how many connections a key may have, so that none fills the controller's memory.
// Source: ZeroMQ RFC 27; docs/protocol.md, "Budgets". Units: Nanos of any clock that only rises. Threads: one
// owner.
//
// A connection may queue 8 messages of 4 MiB. A key has 4 connections at most: its switch's, one of a machine
// with the same key, which is refused by HELLO, and two whose end was not noticed yet. Older ones stay, as
// sessions do. A switch sends HELLO at once, so a connection without a message for 10 s is ended.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/daemon/peer_budget.h"

namespace weir {

class Connections {
  public:
    static constexpr std::size_t kPerKey = 4;
    static constexpr Nanos kSilentMax = 10 * kNanosPerSec;

    /// @param plain_max of all plain connections together
    explicit Connections(std::size_t plain_max) : plain_max_(plain_max) {}

    void set_plain_max(std::size_t plain_max) { plain_max_ = plain_max; }
    void on_accepted(int descriptor, Nanos now);
    void on_closed(int descriptor);
    [[nodiscard]] bool has(int descriptor) const { return connections_.contains(descriptor); }
    /// @param key the host whose key the connection showed; empty: plain. @return false: it is one too many
    [[nodiscard]] bool on_message(int descriptor, const std::string& key);
    /// Whether the key may open another connection now: it has fewer than 4 that sent a message, and opened
    /// no more than 8 at once and 2 each second.
    [[nodiscard]] bool may_open(const std::string& key, Nanos now);
    /// Connections that sent no message for too long.
    [[nodiscard]] std::vector<int> silent(Nanos now) const;

  private:
    struct Connection {
        Nanos accepted = 0;
        bool has_key = false;  // a message came: `key` is set, and counted
        std::string key{};
    };
    struct Key {
        std::size_t connections = 0;
        Allowance opened{};
    };

    void release(Connection& connection);

    std::size_t plain_max_;
    std::map<int, Connection> connections_;  // by descriptor
    std::map<std::string, Key> keys_;
};

}  // namespace weir
