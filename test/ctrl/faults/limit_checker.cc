// limit_checker.cc - limits of vNICs each way, and of tenants at appliances.
//
// The controller's rates are summed over all hosts, as it sent them: while a line loses messages, two hosts
// may have rates of different solves for some intervals, and the sum of these is no promise of the
// controller. At a switch, every single rate and all guarantees hold in any state, and when all has settled
// the sums over flows that have a demand: one without a demand has its guarantee for the moment at which it
// begins, and others may use that until then.
#include <map>
#include <optional>

#include "test/ctrl/faults/checkers.h"

namespace weir::faults {
namespace {

constexpr double kRateUnsent = 1.006;
constexpr double kSeen = 2;  ///< tokens per second and flow, so that it is seen

struct LimitSums {
    std::map<std::uint32_t, double> out;  // bytes, by vNIC
    std::map<std::uint32_t, double> in;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> tokens;  // by tenant and appliance

    void add(const Plan& plan, std::uint32_t vnic, std::uint32_t appliance, std::uint32_t peer,
             const FlowTokens& rate) {
        const auto amount = [&](std::size_t part) {
            return rate[part] == wire::kNoStatement ? 0
                                                    : static_cast<double>(rate[part]) / kRateUnsent - kSeen;
        };
        out[vnic] += amount(wire::kThere);
        if (appliance != kNone) {
            in[vnic] += amount(wire::kBack);
            tokens[{plan.vnics[vnic].tenant, appliance}] += amount(wire::kTokens);
        } else if (peer != kNone) {
            in[peer] += amount(wire::kThere);
        }
    }
};

class LimitChecker final : public Checker {
  public:
    void on_interval(const World& world, Findings& out) override {
        LimitSums connected;
        LimitSums sent;
        LimitSums guaranteed;
        bool is_any_lost = false;
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host) {
            if (is_solved_for(world, host)) {
                add_rates(world, host, sent);
                if (is_lost(world, host))
                    is_any_lost = true;
                else
                    add_rates(world, host, connected);
            }
            add_guarantees(world, host, guaranteed);
            if (world.hosts()[host].is_running())
                judge_each(world, world.hosts()[host], out);
        }
        judge(world, connected, "limit.vnic", "limit.tenant", "sent", out);
        if (is_any_lost)
            judge(world, sent, "limit.silent", "limit.silent", "sent, to lost hosts too,", out);
        judge(world, guaranteed, "limit.guarantee", "limit.guarantee", "guaranteed", out);
    }

    void on_settled(const World& world, Findings& out) override {
        LimitSums believed;
        for (const Host& host : world.hosts())
            if (host.is_running())
                for (const HostFlow& flow : host.flows())
                    if (const auto rate = host.rates().find(flow.local);
                        flow.asks > 0 && rate != host.rates().end())
                        believed.add(world.plan(), flow.planned->vnic, flow.planned->appliance,
                                     flow.planned->peer, rate->second);
        judge(world, believed, "limit.switch", "limit.switch", "in force", out);
    }

  private:
    static void add_rates(const World& world, std::uint32_t host, LimitSums& sums) {
        for (const MirrorFlow& flow : mirror_flows(world, host))
            if (flow.vnic != kNone)
                sums.add(world.plan(), flow.vnic, flow.appliance, flow.peer, flow.rate);
    }

    static std::optional<double> limit_of_vnic(const Plan& plan, std::uint32_t vnic) {
        const auto& limit = plan.vnic_config(vnic).limit_bps;
        return limit ? std::optional(static_cast<double>(*limit) / 8) : std::nullopt;
    }
    static std::optional<double> limit_of_part(const Plan& plan, std::uint32_t tenant,
                                               std::uint32_t appliance) {
        const TenantApplianceConfig* const part = plan.part_of(tenant, appliance);
        return part != nullptr && part->limit_tokens ? std::optional(static_cast<double>(*part->limit_tokens))
                                                     : std::nullopt;
    }

    static void judge(const World& world, const LimitSums& sums, const char* vnic_rule,
                      const char* tenant_rule, const char* verb, Findings& out) {
        const Plan& plan = world.plan();
        for (const auto* way : {&sums.out, &sums.in})
            for (const auto& [vnic, sum] : *way)
                if (const auto limit = limit_of_vnic(plan, vnic); limit && sum > *limit)
                    out.push_back({vnic_rule, "vNIC " + plan.vnics[vnic].name + " is limited to " +
                                                  text_of(*limit) + " bytes/s " +
                                                  (way == &sums.out ? "out" : "in") + ", " + verb + " are " +
                                                  text_of(sum)});
        for (const auto& [user, sum] : sums.tokens)
            if (const auto limit = limit_of_part(plan, user.first, user.second); limit && sum > *limit)
                out.push_back({tenant_rule, "tenant " + plan.config.tenants[user.first].name +
                                                " is limited to " + text_of(*limit) + " tokens/s of " +
                                                plan.config.appliances[user.second].name + ", " + verb +
                                                " are " + text_of(sum)});
    }

    static void add_guarantees(const World& world, std::uint32_t host, LimitSums& sums) {
        const Mirror& mirror = world.mirror(host);
        const Plan& plan = world.plan();
        for (const auto& [flow, guarantee] : mirror.guarantees()) {
            const wire::Endpoint* const source = mirror.endpoint(flow.source);
            const wire::Endpoint* const destination = mirror.endpoint(flow.destination);
            if (source == nullptr || destination == nullptr)
                continue;
            for (std::uint32_t v = 0; v < plan.vnics.size(); ++v)
                for (std::uint32_t a = 0; a < plan.config.appliances.size(); ++a)
                    if (plan.vnics[v].name == source->name && plan.vnics[v].home == host &&
                        plan.config.appliances[a].name == destination->name)
                        sums.add(plan, v, a, kNone, guarantee.rate);
        }
    }

    static void judge_each(const World& world, const Host& host, Findings& out) {
        for (const HostFlow& flow : host.flows()) {
            const auto found = host.rates().find(flow.local);
            if (found == host.rates().end())
                continue;
            LimitSums one;
            one.add(world.plan(), flow.planned->vnic, flow.planned->appliance, flow.planned->peer,
                    found->second);
            judge(world, one, "limit.flow", "limit.flow", "in force for one flow", out);
        }
    }
};

}  // namespace

std::unique_ptr<Checker> make_limit_checker() {
    return std::make_unique<LimitChecker>();
}

}  // namespace weir::faults
