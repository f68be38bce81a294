// placer_search.cc - depth-first search of a layout for one tenant, within a budget.
// Source: docs/algorithms.md 10.2
//
// Of hosts with equal remainders one is tried. A branch ends when a link is too full both without any of the
// remaining vNICs and with all of them: the hose need is concave in the reservations behind the link, so it
// is least at one of these ends.
#include <algorithm>
#include <set>
#include <tuple>

#include "ctrl/placement/attempt.h"

namespace weir::placement {
namespace {

class Searcher {
  public:
    Searcher(Attempt& attempt, std::uint64_t budget)
        : attempt_(attempt), budget_(budget), open_(attempt.put_fixed_vnics()) {
        for (const std::uint32_t vnic : open_)
            left_.vnics += attempt.tenant().vnics[vnic].reservation;
    }

    Search run() {
        if (appliance(0))
            return Search::kFound;
        return budget_ == 0 ? Search::kGivenUp : Search::kNone;
    }

  private:
    bool spend() { return budget_ != 0 && --budget_ != 0; }

    bool appliance(std::uint32_t v) {
        if (v == attempt_.tenant().appliances.size())
            return vnic(0);
        for (std::uint32_t a = 0; a < attempt_.topology().appliances.size(); ++a) {
            if (!attempt_.serves(v, a) ||
                attempt_.tokens_left(a) < attempt_.tenant().appliances[v].reservation)
                continue;
            if (!spend())
                return false;
            attempt_.put_appliance(v, a);
            if (appliance(v + 1))
                return true;
            attempt_.remove_appliance(v);
        }
        return false;
    }

    bool vnic(std::size_t n) {
        if (n == open_.size())
            return !attempt_.shortfall();
        const Tokens reservation = attempt_.tenant().vnics[open_[n]].reservation;
        left_.vnics -= reservation;
        const bool found = try_hosts(n);
        left_.vnics += reservation;
        return found;
    }

    bool try_hosts(std::size_t n) {
        std::set<std::tuple<Tokens, std::uint64_t, Tokens, std::uint32_t, Tokens, Tokens>> seen;
        for (std::uint32_t h = first_host(n); h < attempt_.topology().hosts.size(); ++h) {
            if (!spend())
                return false;
            const Side& here = attempt_.at_host(h);
            const std::uint32_t rack = attempt_.topology().hosts[h].rack;
            const Tokens left = attempt_.ledger().left({ConstraintKind::kHostLink, h});
            if (attempt_.slots_left(h) == 0 || !attempt_.encrypts(open_[n], h) ||
                !seen.insert({left, attempt_.slots_left(h), attempt_.encryption_left(h), rack, here.vnics,
                              here.appliances})
                     .second)
                continue;
            attempt_.put_vnic(open_[n], h);
            const bool may_fit = (attempt_.host_fits(h) || attempt_.host_fits(h, left_)) &&
                                 (attempt_.rack_fits(rack) || attempt_.rack_fits(rack, left_));
            if (may_fit && vnic(n + 1))
                return true;
            attempt_.remove_vnic(open_[n]);
        }
        return false;
    }

    /// vNICs with equal reservations go to hosts in order, which skips permutations.
    [[nodiscard]] std::uint32_t first_host(std::size_t n) const {
        if (n == 0)
            return 0;
        const Vnic& before = attempt_.tenant().vnics[open_[n - 1]];
        const Vnic& now = attempt_.tenant().vnics[open_[n]];
        if (before.reservation != now.reservation || before.encryption != now.encryption)
            return 0;
        return attempt_.layout().hosts[open_[n - 1]];
    }

    Attempt& attempt_;
    std::uint64_t budget_;
    std::vector<std::uint32_t> open_;  // vNICs that may be anywhere, the largest first
    Side left_;                        // sum of those not put yet
};

}  // namespace

Search place_by_search(Attempt& attempt, std::uint64_t budget) {
    return Searcher(attempt, budget).run();
}

}  // namespace weir::placement
