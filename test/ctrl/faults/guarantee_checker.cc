// guarantee_checker.cc - rates at connected switches against reservations of their vNICs, when all has
// settled.
#include <algorithm>
#include <map>

#include "test/ctrl/faults/checkers.h"

namespace weir::faults {
namespace {

/// Demands are measured and averaged, and changes below 1 % are not sent.
constexpr double kKept = 0.95;

double in_force(const Host& host, const HostFlow& flow, std::size_t part) {
    const auto found = host.rates().find(flow.local);
    return found == host.rates().end() || found->second[part] == wire::kNoStatement
               ? 1e18
               : static_cast<double>(found->second[part]);
}

class GuaranteeChecker final : public Checker {
  public:
    void on_settled(const World& world, Findings& out) override {
        note_columns(world);
        for (const Host& host : world.hosts())
            if (host.is_running() && host.session().state() == ControllerSession::State::kConnected)
                for (const HostFlow& flow : host.flows())
                    if (flow.asks > 1)
                        judge_flow(world, host, flow, out);
        judge_tenants(world, out);
    }

  private:
    struct Column {
        double out = 0;  // weights of flows that share the reservation of the vNIC for sending
        double in = 0;
    };

    void note_columns(const World& world) {
        columns_.clear();
        for (const Host& host : world.hosts())
            for (const HostFlow& flow : host.flows()) {
                if (flow.asks <= 0)
                    continue;
                const double weight = world.plan().vnic_config(flow.planned->vnic).weight;
                columns_[flow.planned->vnic].out += weight;
                columns_[flow.planned->peer == kNone ? flow.planned->vnic : flow.planned->peer].in += weight;
            }
    }

    void judge_flow(const World& world, const Host& host, const HostFlow& flow, Findings& out) {
        const Plan& plan = world.plan();
        const std::string name =
            plan.vnics[flow.planned->vnic].name + " of " + host.name() + " to " +
            (flow.planned->peer != kNone ? plan.vnics[flow.planned->peer].name
                                         : plan.config.appliances[flow.planned->appliance].name);
        if (!host.rates().contains(flow.local)) {
            out.push_back({"guarantee.unknown", name + ": the switch has no rate for it"});
            return;
        }
        const double least = flow.planned->peer != kNone
                                 ? bytes_of(plan, flow)
                                 : world.facts().reserved_tokens(flow.planned->vnic, flow.planned->appliance);
        const std::size_t part = flow.planned->peer != kNone ? wire::kThere : wire::kTokens;
        const double rate = in_force(host, flow, part);
        if (rate < kKept * std::min(least, flow.asks) - 1)
            out.push_back({flow.planned->peer != kNone ? "guarantee.bytes" : "guarantee.tokens",
                           name + ": asks for " + text_of(flow.asks) + "/s, is guaranteed " + text_of(least) +
                               "/s, has " + text_of(rate) + "/s"});
    }

    /// The least that a flow between vNICs has: flows that share a vNIC's reservation rise together by
    /// weight, and the smaller of both vNICs' reservations bounds their rise.
    double bytes_of(const Plan& plan, const HostFlow& flow) {
        const auto& from = plan.vnic_config(flow.planned->vnic);
        const auto& to = plan.vnic_config(flow.planned->peer);
        const double reserved = static_cast<double>(std::min(from.reservation_bps, to.reservation_bps)) / 8;
        const double weights = std::max(columns_[flow.planned->vnic].out, columns_[flow.planned->peer].in);
        return reserved * from.weight / weights;
    }

    /// A tenant without reserved and limited links has all that it reserved at an appliance, wherever its
    /// demand comes from. The estimate of a demand that has ended falls by a fifth each interval, and counts.
    static void judge_tenants(const World& world, Findings& out) {
        const Plan& plan = world.plan();
        for (std::uint32_t tenant = 0; tenant < plan.config.tenants.size(); ++tenant) {
            if (std::ranges::any_of(plan.config.tenants[tenant].vnics, [](const TenantVnicConfig& vnic) {
                    return vnic.reservation_bps != 0 || vnic.limit_bps;
                }))
                continue;
            for (std::uint32_t a = 0; a < plan.config.appliances.size(); ++a)
                if (const TenantApplianceConfig* const part = plan.part_of(tenant, a))
                    judge_part(world, tenant, a, static_cast<double>(part->reservation_tokens), out);
        }
    }

    static void judge_part(const World& world, std::uint32_t tenant, std::uint32_t appliance, double reserved,
                           Findings& out) {
        double asks = 0;
        double has = 0;
        for (std::uint32_t number = 0; number < world.hosts().size(); ++number)
            for (const HostFlow& flow : world.hosts()[number].flows()) {
                if (flow.planned->appliance != appliance ||
                    world.plan().vnics[flow.planned->vnic].tenant != tenant)
                    continue;
                const double rate = in_force(world.hosts()[number], flow, wire::kTokens);
                asks += flow.asks;
                has += std::min(rate, flow.asks > 0 ? 1e15 : estimate_of(world, number, flow));
            }
        if (has < kKept * std::min(asks, reserved) - 1)
            out.push_back({"guarantee.tenant", "tenant " + world.plan().config.tenants[tenant].name +
                                                   " asks for " + text_of(asks) + " tokens/s of " +
                                                   world.plan().config.appliances[appliance].name +
                                                   ", reserved " + text_of(reserved) + ", has " +
                                                   text_of(has)});
    }

    static double estimate_of(const World& world, std::uint32_t host, const HostFlow& flow) {
        for (const MirrorFlow& known : mirror_flows(world, host))
            if (known.local == flow.local)
                return world.solver().demands().demand(known.key, wire::kTokens);
        return 0;
    }

    std::map<std::uint32_t, Column> columns_;  // by vNIC
};

}  // namespace

std::unique_ptr<Checker> make_guarantee_checker() {
    return std::make_unique<GuaranteeChecker>();
}

}  // namespace weir::faults
