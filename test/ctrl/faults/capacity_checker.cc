// capacity_checker.cc - sums of the rates that the controller sent, resource by resource.
#include <algorithm>
#include <map>

#include "test/ctrl/faults/checkers.h"

namespace weir::faults {
namespace {

/// Rates that changed by less than 0.5 % are not sent again.
constexpr double kUnsent = 1.006;
/// A flow may have one token per second more than it is allocated, by rounding and so that it is seen.
constexpr double kLeast = 2;

class CapacityChecker final : public Checker {
  public:
    void on_interval(const World& world, Findings& out) override {
        asks_.resize(world.hosts().size());
        sums_.assign(world.facts().resources().size(), 0);
        bool is_any_old = false;
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host) {
            if (is_solved_for(world, host) && !is_lost(world, host))
                add_mirror(world, host);
            is_any_old |= has_old_rates(world, host);
        }
        judge(world, "capacity", out);
        judge_silent(world, out);
        // A controller that has begun goes on with the rates of the one before until it has demands.
        constexpr std::uint32_t kBegun = 3;
        if (is_any_old && world.age() >= kBegun)
            judge_old(world, out);
        note_demands(world);
    }

  private:
    void judge_silent(const World& world, Findings& out) {
        const std::vector<double> connected = sums_;
        bool is_any_silent = false;
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host)
            if (is_lost(world, host)) {
                add_mirror(world, host);
                is_any_silent = true;
            }
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host)
            is_any_silent |= add_silent(world, host);
        if (is_any_silent)
            judge(world, "capacity.silent", out);
        sums_ = connected;
    }

    /// After a silence, rates of before may have been given to others. A switch that reconnects in time goes
    /// on with its rates until its first demand.
    static bool has_old_rates(const World& world, std::uint32_t host) {
        return is_active(world, host) && !is_solved_for(world, host) && world.mirror(host).was_silent();
    }

    /// Adds the rates of hosts that were silent and have not sent a demand in their session yet.
    void judge_old(const World& world, Findings& out) {
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host)
            if (has_old_rates(world, host))
                add_mirror(world, host);
        judge(world, "capacity.old", out);
    }

    /// A flow at its floor counts nothing, nor does a part without demand, which has the rate of its limits:
    /// others may use the capacity until the flow asks for it.
    void add_mirror(const World& world, std::uint32_t host) {
        const bool is_solved = is_solved_for(world, host);  // otherwise its demands are not known
        const DemandEstimates& demands = world.solver().demands();
        for (const MirrorFlow& flow : mirror_flows(world, host)) {
            if (flow.vnic == kNone)
                continue;
            FlowTokens floor{1, 1, 1};
            if (flow.appliance != kNone)
                floor[wire::kTokens] =
                    static_cast<std::uint64_t>(world.facts().floor_tokens(flow.vnic, flow.appliance));
            else if (flow.peer != kNone)
                floor[wire::kThere] =
                    static_cast<std::uint64_t>(world.facts().floor_bytes(flow.vnic, flow.peer));
            for (const Step& step : world.facts().path_of(flow.route)) {
                const std::uint64_t rate = flow.rate[step.part];
                const bool has_demand = !is_solved || demands.demand(flow.key, step.part) > 0;
                if (rate != wire::kNoStatement && has_demand &&
                    static_cast<double>(rate) > kUnsent * static_cast<double>(floor[step.part]))
                    sums_[step.resource] += static_cast<double>(rate) - kLeast;
            }
        }
    }

    /// Adds the tokens that a host has reserved at appliances and asked for until the controller lost it. Its
    /// switch goes on with these guarantees. @return whether the host is silent
    bool add_silent(const World& world, std::uint32_t host) {
        constexpr std::uint32_t kNoticed = 5;  // three intervals of silence, then a solve
        constexpr std::uint32_t kKept = 20;
        const Mirror& mirror = world.mirror(host);
        const std::uint32_t silence = world.interval() - mirror.message_at();
        if (!mirror.is_solved() || silence < kNoticed || silence > kKept || world.age() <= silence ||
            is_solved_for(world, host) || !world.hosts()[host].is_running())
            return false;
        for (const MirrorFlow& flow : mirror_flows(world, host)) {
            if (flow.vnic == kNone || flow.appliance == kNone)
                continue;
            const auto asked = asks_[host].find(flow.local);
            const double reserved = world.facts().reserved_tokens(flow.vnic, flow.appliance);
            if (asked == asks_[host].end() || asked->second < reserved)
                continue;
            for (const Step& step : world.facts().path_of(flow.route))
                if (step.part == wire::kTokens)
                    sums_[step.resource] += reserved - kLeast;
        }
        return true;
    }

    /// "a1 of h1: 5, 6 ..." for each rate that the resource's sum has.
    [[nodiscard]] static std::string explain(const World& world, std::size_t resource) {
        std::string out;
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host) {
            if (!is_active(world, host))
                continue;
            for (const MirrorFlow& flow : mirror_flows(world, host))
                for (const Step& step : world.facts().path_of(flow.route))
                    if (step.resource == resource)
                        out += "; " + flow.local.vnic + " of " + world.hosts()[host].name() + " to " +
                               (flow.peer == kNone ? "appliance " + std::to_string(flow.appliance)
                                                   : world.plan().vnics[flow.peer].name) +
                               ": " + std::to_string(flow.rate[step.part]);
        }
        return out;
    }

    void judge(const World& world, const char* rule, Findings& out) const {
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            const Resource& resource = world.facts().resources()[i];
            if (sums_[i] > resource.capacity * kUnsent)
                out.push_back({rule, resource.name + " has " + text_of(resource.capacity) +
                                         "/s, promised are " + text_of(sums_[i]) + "/s" + explain(world, i)});
        }
    }

    /// The least that each flow asked for in the last three intervals in which the controller solved for it.
    void note_demands(const World& world) {
        for (std::uint32_t host = 0; host < world.hosts().size(); ++host) {
            if (!is_solved_for(world, host) || world.interval() - world.mirror(host).message_at() > 1)
                continue;
            for (const HostFlow& flow : world.hosts()[host].flows()) {
                History& history = histories_[{host, flow.local}];
                history.asks[history.next++ % history.asks.size()] = flow.asks;
                asks_[host][flow.local] = *std::ranges::min_element(history.asks);
            }
        }
    }

    struct History {
        std::array<double, 3> asks{};
        std::size_t next = 0;
    };
    std::vector<double> sums_;  // by resource
    std::map<std::pair<std::uint32_t, LocalFlow>, History> histories_;
    std::vector<std::map<LocalFlow, double>> asks_;  // by host
};

}  // namespace

std::unique_ptr<Checker> make_capacity_checker() {
    return std::make_unique<CapacityChecker>();
}

}  // namespace weir::faults
