// intake.h - messages of switches on their way to the controller, within each peer's budget.
// Source: docs/protocol.md, "Budgets". Units: Nanos of any clock that only rises. Threads: one owner.
//
// A message beyond the budget is refused before its JSON is parsed or its records are decoded. The sequence
// then has a gap, so the controller asks for a snapshot with its next answer.
#pragma once

#include <cstdint>
#include <span>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/peer_budget.h"

namespace weir {

class Intake {
  public:
    /// @param controller outlives this
    Intake(Controller& controller, const ClusterConfig& config)
        : controller_(controller), budgets_(config.interval, plain_peers_max(config.hosts.size())) {}

    void on_message(const Peer& peer, std::span<const std::uint8_t> head, std::span<const std::uint8_t> body,
                    Nanos now);
    /// Of the specification that is in force now.
    void set_hosts(std::size_t hosts) { budgets_.set_plain_max(plain_peers_max(hosts)); }
    [[nodiscard]] const PeerBudgets& budgets() const { return budgets_; }

  private:
    Controller& controller_;
    PeerBudgets budgets_;
};

}  // namespace weir
