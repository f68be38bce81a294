// bill_checker.cc - the periods that switches ended against the lines of the bill.
//
// Documented losses: a switch that is killed loses the periods that wait in it, and a store that is lost its
// bill. Periods whose switch or controller had a wrong clock are either on the bill or not.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "test/ctrl/faults/checkers.h"

namespace weir::faults {
namespace {

class BillChecker final : public Checker {
  public:
    void on_end(World& world, Findings& out) override {
        if (world.store() == nullptr)
            return;
        std::map<std::uint64_t, std::map<std::string, Expected>> by_second;
        for (std::uint32_t number = 0; number < world.hosts().size(); ++number)
            for (const BilledPeriod& period : world.hosts()[number].periods()) {
                Expected& expected = by_second[period.began][world.plan().vnics[period.vnic].name];
                ++expected.periods;
                expected.certain += period.is_certain ? 1 : 0;
                expected.delivered.insert(period.delivered);
                expected.host = number;
                expected.vnic = period.vnic;
            }
        const Bill bill = billed_by_second(world);
        for (const auto& [began, vnics] : by_second)
            judge(world, began, vnics, bill, out);
    }

  private:
    struct Billed {
        std::uint64_t periods = 0;
        std::uint64_t delivered = 0;
    };
    using Bill = std::map<std::pair<std::uint64_t, std::string>, Billed>;  ///< by begin, in seconds, and vNIC
    struct Expected {
        std::uint64_t periods = 0;
        std::uint64_t certain = 0;
        std::set<std::uint64_t> delivered;
        std::uint32_t host = 0;
        std::uint32_t vnic = 0;
    };

    static Bill billed_by_second(World& world) {
        Bill bill;
        world.store()->bill().reader().for_lines([&bill](const BillLine& line) {
            const auto second = static_cast<std::uint64_t>(line.record.began) / kNanosPerSec;
            Billed& billed = bill[{second, line.record.vnic}];
            ++billed.periods;
            billed.delivered += line.record.delivered;
        });
        return bill;
    }

    /// Losses by a switch's wrong clock or lies, and by a host that took the vNIC, have rules of their own.
    static const char* rule_of_loss(const World& world, const Expected& expected) {
        bool is_any_liar = false;
        bool has_left = false;
        for (const PlannedFault& fault : world.schedule().faults) {
            is_any_liar |= fault.kind == FaultKind::kLiar;
            has_left |= fault.kind == FaultKind::kVnicLeaves &&
                        static_cast<std::uint32_t>(fault.amount) == expected.vnic;
            if (fault.host == expected.host &&
                (fault.kind == FaultKind::kLiar || (fault.kind == FaultKind::kHostClock && fault.amount > 0)))
                return "bill.clock";
        }
        if (is_any_liar && !world.plan().vnics[expected.vnic].is_pinned)
            return "bill.stolen";
        return has_left ? "bill.left" : "bill.lost";
    }

    static void judge(World& world, std::uint64_t began, const std::map<std::string, Expected>& vnics,
                      const Bill& bill, Findings& out) {
        for (const auto& [vnic, expected] : vnics) {
            const auto found = bill.find({began / kNanosPerSec, vnic});
            const std::uint64_t periods = found == bill.end() ? 0 : found->second.periods;
            const std::string which = "the period of " + vnic + " of " + world.hosts()[expected.host].name() +
                                      " that began at " + std::to_string(began / kNanosPerSec) +
                                      " is on the bill ";
            if (expected.certain != 0 && periods == 0)
                out.push_back({rule_of_loss(world, expected), which + "never"});
            else if (periods > expected.periods)
                out.push_back({"bill.twice", which + std::to_string(periods) + " times"});
            else if (periods == 1 && !world.has_lied(expected.host) &&
                     !expected.delivered.contains(found->second.delivered))
                out.push_back(
                    {"bill.wrong", which + "with " + std::to_string(found->second.delivered) + " bytes"});
        }
    }
};

}  // namespace

std::unique_ptr<Checker> make_bill_checker() {
    return std::make_unique<BillChecker>();
}

}  // namespace weir::faults
