// checkers.h - rules that hold in every interval, and when all faults have ended.
// Threads: tests only.
//
// A checker judges a World by its plan and by the state that controller and switches show from outside; it is
// in a file of its own, named after it. Each of its rules has a name, under which documented.h may list it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/ctrl/faults/world.h"

namespace weir::faults {

/// Something that does not hold.
struct Finding {
    std::string rule;
    std::string text;
};
using Findings = std::vector<Finding>;

class Checker {
  public:
    Checker() = default;
    virtual ~Checker() = default;
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    /// After every interval.
    virtual void on_interval(const World& /*world*/, Findings& /*out*/) {}
    /// After the last of kQuiet intervals without faults.
    virtual void on_settled(const World& /*world*/, Findings& /*out*/) {}
    /// After the last interval of all.
    virtual void on_end(World& /*world*/, Findings& /*out*/) {}
};

/// No resource is promised beyond its capacity (rules capacity, capacity.old,
/// capacity.silent).
[[nodiscard]] std::unique_ptr<Checker> make_capacity_checker();
/// Limits of the cluster file hold (limit.vnic, limit.tenant, limit.guarantee, limit.flow, limit.switch).
[[nodiscard]] std::unique_ptr<Checker> make_limit_checker();
/// A connected host with demand has its guarantee (guarantee.tokens, guarantee.tenant, guarantee.bytes,
/// guarantee.unknown).
[[nodiscard]] std::unique_ptr<Checker> make_guarantee_checker();
/// Each period is on the bill once (bill.lost, bill.clock, bill.stolen, bill.left,
/// bill.twice, bill.wrong).
[[nodiscard]] std::unique_ptr<Checker> make_bill_checker();
/// Switches and the controller agree (agree.state, agree.epoch, agree.rates), and the controller does not end
/// by itself (ended).
[[nodiscard]] std::unique_ptr<Checker> make_agreement_checker();

[[nodiscard]] std::vector<std::unique_ptr<Checker>> all_checkers();

/// A flow of a switch with the rates that the controller sent.
struct MirrorFlow {
    std::uint32_t vnic = kNone;
    std::uint32_t appliance = kNone;
    std::uint32_t peer = kNone;
    Route route{};
    wire::FlowKey key{};  ///< by the controller's ids
    LocalFlow local{};
    FlowTokens rate{};
};
/// Of the host's session; rates for a whole host's window are left out.
[[nodiscard]] std::vector<MirrorFlow> mirror_flows(const World& world, std::uint32_t host);
/// The controller sent rates to the host in the interval that ran last.
[[nodiscard]] bool is_active(const World& world, std::uint32_t host);
/// The same, and they follow from demands of the host.
[[nodiscard]] bool is_solved_for(const World& world, std::uint32_t host);
/// The host was sent rates in this interval, and then the controller lost it: it has them, and the others
/// were sent rates beside its guarantees.
[[nodiscard]] bool is_lost(const World& world, std::uint32_t host);

[[nodiscard]] std::string text_of(double amount);

}  // namespace weir::faults
