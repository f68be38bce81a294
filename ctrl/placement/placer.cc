// placer.cc - greedy, then by search, then by force when asked.
#include "ctrl/placement/placer.h"

#include <algorithm>
#include <limits>

#include "ctrl/placement/attempt.h"

namespace weir::placement {
namespace {

/// How full the fullest constraint above gets; below 1 there is room.
class Harm {
  public:
    explicit Harm(const Ledger& ledger) : ledger_(ledger) {}
    void count(Constraint c, Tokens more) {
        if (more == 0)
            return;
        const auto need = static_cast<double>(ledger_.need(c) + more);
        worst = std::max(worst, need / static_cast<double>(std::max<Tokens>(ledger_.have(c), 1)));
    }
    double worst = 0;

  private:
    const Ledger& ledger_;
};

double harm_of_vnic(const Attempt& attempt, const Tenant& tenant, std::uint32_t vnic, std::uint32_t host) {
    Harm harm(attempt.ledger());
    const Side inside = attempt.at_host(host) + Side{.vnics = tenant.vnics[vnic].reservation};
    harm.count({ConstraintKind::kHostLink, host},
               need_of(attempt.ledger().guarantee(), inside, attempt.whole()));
    // Full slots are worse than any link that still has room.
    return attempt.slots_left(host) == 0 ? harm.worst + 1000 : harm.worst;
}

double harm_of_appliance(const Attempt& attempt, const Tenant& tenant, std::uint32_t v, std::uint32_t index) {
    Harm harm(attempt.ledger());
    harm.count({ConstraintKind::kApplianceTokens, index}, tenant.appliances[v].reservation);
    harm.count({ConstraintKind::kApplianceLink, index}, attempt.bandwidth(v));
    return harm.worst;
}

/// The first of those with the least harm.
template <typename Allowed, typename HarmOf>
std::uint32_t gentlest(std::size_t count, Allowed allowed, HarmOf harm_of) {
    std::uint32_t best = kAnywhere;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < count; ++i) {
        const double harm = allowed(i) ? harm_of(i) : least;
        if (harm < least) {
            best = i;
            least = harm;
        }
    }
    return best;
}

/// Whatever is asked for exists.
std::optional<Shortfall> nowhere(const Attempt& attempt) {
    const Topology& topology = attempt.topology();
    if (topology.hosts.empty() && !attempt.tenant().vnics.empty())
        return Shortfall{.nowhere = true, .proven = true};
    for (std::uint32_t v = 0; v < attempt.tenant().appliances.size(); ++v) {
        bool served = false;
        for (std::uint32_t a = 0; a < topology.appliances.size() && !served; ++a)
            served = attempt.serves(v, a);
        if (!served)
            return Shortfall{
                .part = Shortfall::Part::kAppliance, .index = v, .nowhere = true, .proven = true};
    }
    return std::nullopt;
}

}  // namespace

Placer::Placer(const Topology& topology, LinkNeed guarantee, std::uint64_t search_budget)
    : ledger_(topology, guarantee), search_budget_(search_budget) {}

Outcome Placer::place(const Tenant& tenant) {
    Attempt quick(ledger_, tenant);
    if (auto missing = nowhere(quick))
        return {.why = *missing};
    std::optional<Shortfall> why = place_greedily(quick);
    if (!why) {
        ledger_.add(tenant, quick.layout());
        return {.layout = quick.layout()};
    }
    Attempt thorough(ledger_, tenant);
    const Search search = place_by_search(thorough, search_budget_);
    if (search == Search::kFound) {
        ledger_.add(tenant, thorough.layout());
        return {.layout = thorough.layout()};
    }
    why->proven = search == Search::kNone;
    return {.why = *why};
}

Layout Placer::force(const Tenant& tenant) {
    const Topology& topology = ledger_.topology();
    Attempt attempt(ledger_, tenant);
    for (std::uint32_t v = 0; v < tenant.appliances.size(); ++v) {
        attempt.put_appliance(
            v, gentlest(
                   topology.appliances.size(), [&](std::uint32_t a) { return attempt.serves(v, a); },
                   [&](std::uint32_t a) { return harm_of_appliance(attempt, tenant, v, a); }));
    }
    for (std::uint32_t i = 0; i < tenant.vnics.size(); ++i) {
        if (tenant.vnics[i].host != kAnywhere)
            attempt.put_vnic(i, tenant.vnics[i].host);
    }
    for (const std::uint32_t vnic : attempt.open_vnics()) {
        attempt.put_vnic(vnic, gentlest(
                                   topology.hosts.size(), [](std::uint32_t) { return true; },
                                   [&](std::uint32_t h) { return harm_of_vnic(attempt, tenant, vnic, h); }));
    }
    ledger_.add(tenant, attempt.layout());
    return attempt.layout();
}

}  // namespace weir::placement
