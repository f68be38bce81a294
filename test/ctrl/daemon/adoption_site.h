// adoption_site.h - a controller, and switches that state the same demands under each configuration.
// Units: in the field names. Threads: tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/new_revision.h"
#include "test/ctrl/daemon/adoption_changes.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"

namespace weir::adoption {

using test::FakeSwitch;
using test::kInterval;

using NamedRates = std::map<std::pair<std::string, std::string>, wire::FlowAllocation>;

/// Rates that changed by less than 0.5 % are not sent again.
inline bool is_near(const wire::FlowAllocation& a, const wire::FlowAllocation& b) {
    for (std::size_t part = 0; part < wire::kParts; ++part) {
        if ((a.rate[part] == wire::kNoStatement) != (b.rate[part] == wire::kNoStatement))
            return false;
        const auto x = static_cast<double>(a.rate[part]);
        const auto y = static_cast<double>(b.rate[part]);
        if (std::abs(x - y) > 0.011 * std::max(x, y) + 2)
            return false;
    }
    return true;
}

/// The solver of weir-ctrl, beside one that has computed with this configuration since before the change: it
/// began with the demands of the last interval before it, and receives the same ones since.
class WatchedSolver final : public Solver {
  public:
    explicit WatchedSolver(const ClusterConfig& config) : solver_(config), reference_(config) {}

    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const FlowDemands& demands,
                                                          bool interval_ended) override {
        if (const FlowDemands before = std::exchange(before_, {}); !before.empty())
            (void)reference_.solve(cluster, allowed(cluster, before), true);
        const auto expected = reference_.solve(cluster, demands, interval_ended);
        std::vector<wire::FlowAllocation> rates = solver_.solve(cluster, demands, interval_ended);
        is_as_expected_ =
            std::ranges::equal(rates, expected, is_near) &&
            std::ranges::equal(rates, expected, {}, &wire::FlowAllocation::flow, &wire::FlowAllocation::flow);
        last_ = demands;
        return rates;
    }
    [[nodiscard]] std::vector<std::string> take_over(Solver& before, const Renumbering& places) override {
        auto& other = dynamic_cast<WatchedSolver&>(before);
        before_ = other.last_;
        return solver_.take_over(other.solver_, places);
    }
    /// Whether both computed the same rates last.
    [[nodiscard]] bool is_as_expected() const { return is_as_expected_; }

  private:
    static FlowDemands allowed(const Cluster& cluster, const FlowDemands& demands) {
        FlowDemands out(cluster.vnics());
        for (const auto& [flow, demand] : demands)
            if (cluster.find_end(flow.source) != nullptr && cluster.allows(flow))
                out[flow] = demand;
        return out;
    }

    IntervalSolver solver_;
    IntervalSolver reference_;
    FlowDemands last_;
    FlowDemands before_;
    bool is_as_expected_ = false;
};

/// A controller, and a switch on each host that any configuration may have.
struct Site {
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    std::deque<FakeSwitch> switches;
    std::map<std::string, std::uint32_t> ids;  ///< by name, of all vNICs and appliances that there were
    std::shared_ptr<WatchedSolver> solver;
    const std::vector<Ask>& asks;
    Nanos now = kInterval;

    /// @param names of the store, in the order of ids
    Site(const ClusterConfig& config, const std::vector<Ask>& wanted,
         const std::vector<Store::Name>& names = {})
        : asks(wanted) {
        store.add_endpoints(names);
        controller = std::make_unique<Controller>(
            config, [this](const ClusterConfig& of) { return solver = std::make_shared<WatchedSolver>(of); },
            store, 1'000);
        note_ids(config);
        for (std::uint32_t host = 0; host < kHosts; ++host)
            switches.push_back(made_switch(host));
        for (FakeSwitch& each : switches)
            send(each, each.send_hello());
    }
    static FakeSwitch made_switch(std::uint32_t host) {
        FakeSwitch made(host_name(host), {}, "route " + std::to_string(host));
        for (const std::string& name : vnic_names())
            if (home_of(name) == host)
                made.hello.vnics.push_back({.name = name, .mac = mac_of(name)});
        for (const std::string& appliance : kAppliances)
            made.hello.appliances.push_back({.name = appliance});
        made.hello.capabilities = {std::string(wire::capability::kRefusals)};
        if (host % 2 == 0)
            made.hello.capabilities.emplace_back(wire::capability::kTablesByNeed);
        return made;
    }
    void send(FakeSwitch& from, const FakeSwitch::Message& message) {
        controller->on_message(from.peer, message.header, message.body, now);
        deliver();
    }
    void deliver() {
        const auto messages = controller->take_outgoing();
        for (FakeSwitch& each : switches)
            each.receive(messages);
    }
    [[nodiscard]] static bool is_welcome(const FakeSwitch& each) {
        return each.welcome && each.welcome->refused.empty();
    }
    /// Sends the demands of flows to known ends, and questions about the other peers.
    void state(FakeSwitch& each) {
        each.demands.clear();
        std::vector<std::pair<std::uint32_t, std::string>> unknown;
        for (const Ask& ask : asks) {
            const wire::Endpoint* source = each.endpoint(ask.vnic);
            if (source == nullptr || source->host != each.hello.host)
                continue;
            const bool is_peer = !std::ranges::count(kAppliances, ask.destination);
            if (each.id_of(ask.destination) != 0)
                each.want(ask.vnic, ask.destination, ask.tokens);
            else if (is_peer)
                unknown.emplace_back(source->id, mac_of(ask.destination));
        }
        if (!unknown.empty())
            send(each, each.send_ask(unknown));
        send(each, each.send_demands());
    }
    void pass(int intervals) {
        for (int i = 0; i < intervals; ++i) {
            now += kInterval;
            for (FakeSwitch& each : switches) {
                if (each.asked_hello || !is_welcome(each))
                    send(each, each.send_hello());
                if (is_welcome(each))
                    state(each);
            }
            controller->tick(now, 1'000);
            deliver();
        }
    }
    void note_ids(const ClusterConfig& config) {
        for (const ClusterApplianceConfig& appliance : config.appliances)
            ids[appliance.name] = store.endpoint_id("appliance", appliance.name);
        for (const TenantConfig& tenant : config.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                ids[vnic.name] = store.endpoint_id("vnic", vnic.name);
    }
    /// Adopts the configuration as the next revision.
    void apply(const ClusterConfig& config) {
        const ClusterConfig& last = controller->config();
        NewRevision revision = new_revision(store, &last, config, "{}", 1'000);
        const Cluster before(last, [this](auto kind, auto name) { return store.endpoint_id(kind, name); });
        Controller::Next next = controller->plan(config, ids_under(revision.ends, before));
        (void)store.add_revision(revision, 1'000);
        controller->adopt(std::move(next), now);
        note_ids(config);
        deliver();
    }
    /// All that may have an id, in the order of their ids.
    [[nodiscard]] std::vector<Store::Name> names() {
        std::map<std::uint32_t, Store::Name> by_id;
        for (const auto& [name, id] : ids)
            by_id.emplace(id, Store::Name{name.size() == 2 ? "vnic" : "appliance", name});
        std::vector<Store::Name> out;
        for (const auto& [id, name] : by_id)
            out.push_back(name);
        return out;
    }
    [[nodiscard]] NamedRates rates() const {
        NamedRates named;
        for (const FakeSwitch& each : switches) {
            if (!is_welcome(each))
                continue;
            std::map<std::uint32_t, std::string> names;
            for (const wire::Endpoint& end : each.tables.endpoints)
                names[end.id] = end.name;
            for (const auto& [flow, rate] : each.rates)
                if (names.contains(flow.source) && names.contains(flow.destination))
                    named[{names[flow.source], names[flow.destination]}] = rate;
        }
        return named;
    }
};

inline std::string text_of(const wire::FlowAllocation& flow) {
    std::string text;
    for (const std::uint64_t rate : flow.rate)
        text += (rate == wire::kNoStatement ? "none" : std::to_string(rate)) + " ";
    return text;
}

/// Where the rates differ; empty: nowhere.
inline std::string difference(const NamedRates& running, const NamedRates& fresh) {
    std::string text;
    for (const auto& [flow, rate] : fresh) {
        const auto found = running.find(flow);
        if (found == running.end() || !is_near(found->second, rate))
            text += flow.first + " to " + flow.second + ": " +
                    (found == running.end() ? "nothing" : text_of(found->second)) + " instead of " +
                    text_of(rate) + "\n";
    }
    for (const auto& [flow, rate] : running)
        if (!fresh.contains(flow))
            text += flow.first + " to " + flow.second + ": " + text_of(rate) + " instead of nothing\n";
    return text;
}

}  // namespace weir::adoption
