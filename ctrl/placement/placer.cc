// placer.cc - greedy, then by search; or by force.
#include "ctrl/placement/placer.h"

#include <algorithm>
#include <limits>

#include "ctrl/placement/attempt.h"

namespace weir::placement {
namespace {

/// Need over capacity of the constraint with `more`; up to 1 it fits.
double fullness_of(const Ledger& ledger, Constraint c, Tokens more) {
    return more == 0 ? 0
                     : static_cast<double>(ledger.need(c) + more) /
                           static_cast<double>(std::max<Tokens>(ledger.have(c), 1));
}

double fullness_of_vnic(const Attempt& attempt, std::uint32_t vnic, std::uint32_t host) {
    const Side inside = attempt.at_host(host) + Side{.vnics = attempt.tenant().vnics[vnic].reservation};
    const double fullness = fullness_of(attempt.ledger(), {ConstraintKind::kHostLink, host},
                                        need_of(attempt.ledger().link_need(), inside, attempt.whole()));
    // A host without slots or encryption is worse than any full link.
    return attempt.slots_left(host) == 0 || !attempt.encrypts(vnic, host) ? fullness + 1000 : fullness;
}

double fullness_of_appliance(const Attempt& attempt, std::uint32_t v, std::uint32_t index) {
    return std::max(
        fullness_of(attempt.ledger(), {ConstraintKind::kApplianceTokens, index},
                    attempt.tenant().appliances[v].reservation),
        fullness_of(attempt.ledger(), {ConstraintKind::kApplianceLink, index}, attempt.bandwidth(v)));
}

/// The first of the allowed indices with the least fullness.
template <typename Allowed, typename FullnessOf>
std::uint32_t least_full(std::size_t count, Allowed is_allowed, FullnessOf fullness_of) {
    std::uint32_t best = kAnywhere;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < count; ++i) {
        const double fullness = is_allowed(i) ? fullness_of(i) : least;
        if (fullness < least) {
            best = i;
            least = fullness;
        }
    }
    return best;
}

/// A shortfall when there is no host, or no appliance of a type that the tenant asks for.
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
            v, least_full(
                   topology.appliances.size(), [&](std::uint32_t a) { return attempt.serves(v, a); },
                   [&](std::uint32_t a) { return fullness_of_appliance(attempt, v, a); }));
    }
    for (const std::uint32_t vnic : attempt.put_fixed_vnics()) {
        attempt.put_vnic(vnic, least_full(
                                   topology.hosts.size(), [](std::uint32_t) { return true; },
                                   [&](std::uint32_t h) { return fullness_of_vnic(attempt, vnic, h); }));
    }
    ledger_.add(tenant, attempt.layout());
    return attempt.layout();
}

}  // namespace weir::placement
