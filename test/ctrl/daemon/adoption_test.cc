// adoption_test.cc - a controller that adopts one configuration after the other allocates as one that was
// started with the last of them.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"

namespace weir::adoption {
namespace {

using test::FakeSwitch;
using test::kInterval;
using testing::Random32;

constexpr std::uint32_t kHosts = 4;
constexpr std::uint32_t kTenants = 3;
constexpr std::uint32_t kVnics = 4;  // of a tenant
constexpr int kSettle = 3;           // intervals
const std::vector<std::string> kAppliances{"cache", "disk", "tape"};

std::uint64_t draw(Random32& random, std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
}

bool one_in(Random32& random, unsigned n) {
    return random() % n == 0;
}

std::string host_name(std::uint32_t host) {
    return "h" + std::to_string(host + 1);
}

std::string vnic_name(std::uint32_t tenant, std::uint32_t vnic) {
    return std::string(1, static_cast<char>('a' + tenant)) + std::to_string(vnic + 1);
}

/// Each vNIC that any configuration may have is on one host, whether the present one has it or not.
std::uint32_t home_of(std::uint32_t tenant, std::uint32_t vnic) {
    return (tenant + vnic) % kHosts;
}

std::string mac_of(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

TenantVnicConfig random_vnic(Random32& random, std::uint32_t tenant, std::uint32_t vnic,
                             const ClusterConfig& config) {
    TenantVnicConfig made{.name = vnic_name(tenant, vnic),
                          .reservation_bps = one_in(random, 2) ? 0 : draw(random, 1, 40) * 1'000'000};
    const std::string home = host_name(home_of(tenant, vnic));
    if (one_in(random, 2) && std::ranges::find(config.hosts, home, &HostConfig::name) != config.hosts.end())
        made.host = home;
    if (one_in(random, 4))
        made.limit_bps = made.reservation_bps + draw(random, 1, 200) * 1'000'000;
    if (one_in(random, 3))
        made.weight = static_cast<std::uint32_t>(draw(random, 50, 200));
    return made;
}

TenantApplianceConfig random_part(Random32& random, const std::string& appliance) {
    TenantApplianceConfig made{.name = appliance, .reservation_tokens = draw(random, 0, 200)};
    if (one_in(random, 3))
        made.limit_tokens = made.reservation_tokens + draw(random, 1, 500);
    return made;
}

TenantConfig random_tenant(Random32& random, std::uint32_t tenant, const ClusterConfig& config) {
    TenantConfig made;
    made.name = std::string(1, static_cast<char>('A' + tenant));
    for (std::uint32_t vnic = 0; vnic < kVnics; ++vnic)
        if (!one_in(random, 3))
            made.vnics.push_back(random_vnic(random, tenant, vnic, config));
    for (const ClusterApplianceConfig& appliance : config.appliances)
        if (one_in(random, 2))
            made.appliances.push_back(random_part(random, appliance.name));
    return made;
}

/// Adds the element of this name, or replaces or removes it, at a place in the order of names.
template <typename List, typename Make>
void change_one(Random32& random, List& list, const std::string& name, Make make) {
    const auto at = std::ranges::lower_bound(list, name, {}, &List::value_type::name);
    const bool is_there = at != list.end() && at->name == name;
    if (is_there && one_in(random, 3))
        list.erase(at);
    else if (is_there)
        *at = make();
    else
        list.insert(at, make());
}

/// One change. The result may be no valid configuration.
ClusterConfig changed(Random32& random, ClusterConfig config) {
    const auto tenant = static_cast<std::uint32_t>(random() % kTenants);
    const auto at = std::ranges::find(config.tenants, std::string(1, static_cast<char>('A' + tenant)),
                                      &TenantConfig::name);
    const std::string host = host_name(static_cast<std::uint32_t>(random() % kHosts));
    const std::string appliance = kAppliances[random() % kAppliances.size()];
    const auto vnic = static_cast<std::uint32_t>(random() % kVnics);
    switch (at == config.tenants.end() ? random() % 3 : random() % 8) {
        case 0:
            change_one(random, config.tenants, std::string(1, static_cast<char>('A' + tenant)),
                       [&] { return random_tenant(random, tenant, config); });
            break;
        case 1:
            change_one(random, config.hosts, host, [&] {
                return HostConfig{.name = host, .uplink_bps = draw(random, 4, 10) * 100'000'000};
            });
            break;
        case 2:
            change_one(random, config.appliances, appliance, [&] {
                const std::uint64_t capacity = draw(random, 8, 20) * 100;
                return ClusterApplianceConfig{
                    .name = appliance,
                    .link_bps = one_in(random, 2) ? 0 : draw(random, 1, 10) * 100'000'000,
                    .capacity_min = capacity,
                    .capacity_max = capacity};
            });
            break;
        case 3:
            change_one(random, at->appliances, appliance, [&] { return random_part(random, appliance); });
            break;
        case 4:
            at->weight = static_cast<std::uint32_t>(draw(random, 50, 200));
            at->sharing_rule = one_in(random, 3) ? alloc::SharingRule::kFixed : alloc::SharingRule::kMinimum;
            break;
        default:
            change_one(random, at->vnics, vnic_name(tenant, vnic),
                       [&] { return random_vnic(random, tenant, vnic, config); });
            break;
    }
    return config;
}

/// Whether the file's parser and the check of placement accept it.
bool is_valid(const ClusterConfig& config) {
    const auto has = [](const auto& list, const std::string& name) {
        return std::ranges::any_of(list, [&](const auto& each) { return each.name == name; });
    };
    for (const TenantConfig& tenant : config.tenants) {
        for (const TenantVnicConfig& vnic : tenant.vnics)
            if (!vnic.host.empty() && !has(config.hosts, vnic.host))
                return false;
        for (const TenantApplianceConfig& part : tenant.appliances)
            if (!has(config.appliances, part.name))
                return false;
        if (tenant.vnics.empty())
            return false;
    }
    return !config.hosts.empty() && !config.tenants.empty() && placement_faults(config).empty();
}

struct Ask {
    std::string vnic;
    std::string destination;  ///< a vNIC, or an appliance
    std::array<float, wire::kParts> tokens{};
};

/// The demands of all vNICs that a configuration may have.
std::vector<Ask> draw_asks(Random32& random) {
    std::vector<Ask> asks;
    for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant)
        for (std::uint32_t vnic = 0; vnic < kVnics; ++vnic) {
            for (std::uint32_t peer = 0; peer < kVnics; ++peer)
                if (peer != vnic && home_of(tenant, peer) != home_of(tenant, vnic) && one_in(random, 2))
                    asks.push_back({vnic_name(tenant, vnic),
                                    vnic_name(tenant, peer),
                                    {static_cast<float>(draw(random, 1, 60'000'000)), 0, 0}});
            for (const std::string& appliance : kAppliances)
                if (one_in(random, 2)) {
                    const auto tokens = static_cast<float>(draw(random, 200, 600));
                    asks.push_back(
                        {vnic_name(tenant, vnic), appliance, {tokens * 100, tokens, tokens * 400}});
                }
        }
    return asks;
}

using NamedRates = std::map<std::pair<std::string, std::string>, wire::FlowAllocation>;

/// A controller, and a switch on each host that any configuration may have.
struct Site {
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    std::deque<FakeSwitch> switches;
    std::map<std::string, std::uint32_t> ids;  ///< by name
    const std::vector<Ask>& asks;
    Nanos now = kInterval;

    /// @param names of the store, in the order of ids
    Site(const ClusterConfig& config, const std::vector<Ask>& wanted,
         const std::vector<Store::Name>& names = {})
        : asks(wanted) {
        store.add_endpoints(names);
        controller = std::make_unique<Controller>(
            config, [](const ClusterConfig& of) { return std::make_shared<IntervalSolver>(of); }, store,
            1'000);
        note_ids(config);
        for (std::uint32_t host = 0; host < kHosts; ++host)
            switches.push_back(made_switch(host));
        for (FakeSwitch& each : switches)
            send(each, each.send_hello());
    }
    static FakeSwitch made_switch(std::uint32_t host) {
        FakeSwitch made(host_name(host), {}, "route " + std::to_string(host));
        for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant)
            for (std::uint32_t vnic = 0; vnic < kVnics; ++vnic)
                if (home_of(tenant, vnic) == host)
                    made.hello.vnics.push_back(
                        {.name = vnic_name(tenant, vnic), .mac = mac_of(vnic_name(tenant, vnic))});
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
    void apply(const ClusterConfig& config) {
        const auto id_of = [this](std::string_view kind, std::string_view name) {
            return store.endpoint_id(kind, name);
        };
        controller->adopt(controller->plan(config, id_of), now);
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

/// Rates that changed by less than 0.5 % are not sent again.
bool is_near(const wire::FlowAllocation& a, const wire::FlowAllocation& b) {
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

std::string text_of(const wire::FlowAllocation& flow) {
    std::string text;
    for (const std::uint64_t rate : flow.rate)
        text += (rate == wire::kNoStatement ? "none" : std::to_string(rate)) + " ";
    return text;
}

/// Where the rates differ; empty: nowhere.
std::string difference(const NamedRates& running, const NamedRates& fresh) {
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

ClusterConfig first_config(Random32& random) {
    ClusterConfig config;
    config.headroom = 0.05;
    for (std::uint32_t host = 0; host < kHosts; ++host)
        config.hosts.push_back({.name = host_name(host), .uplink_bps = 1'000'000'000});
    for (const std::string& appliance : kAppliances)
        config.appliances.push_back({.name = appliance, .capacity_min = 1'000, .capacity_max = 1'000});
    do {
        config.tenants.clear();
        for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant)
            config.tenants.push_back(random_tenant(random, tenant, config));
    } while (!is_valid(config));
    return config;
}

}  // namespace

TEST_CASE("after each of 2000 changes the rates are those of a controller that began with the last of them") {
    Random32 random{GENERATE(range(1U, 9U))};
    ClusterConfig config = first_config(random);
    const std::vector<Ask> asks = draw_asks(random);
    Site running(config, asks);
    const int changes = testing::kSanitized ? 25 : 250;
    for (int change = 0; change < changes; ++change) {
        ClusterConfig next = changed(random, config);
        while (!is_valid(next))
            next = changed(random, config);
        config = std::move(next);
        const std::map<std::string, std::uint32_t> ids = running.ids;
        running.apply(config);
        running.pass(kSettle);
        Site fresh(config, asks, running.names());
        fresh.pass(kSettle);
        INFO("change " << change);
        REQUIRE(difference(running.rates(), fresh.rates()) == "");
        std::set<std::uint32_t> different;
        for (const auto& [name, id] : running.ids) {
            CHECK(different.insert(id).second);
            CHECK((!ids.contains(name) || ids.at(name) == id));
        }
    }
}

}  // namespace weir::adoption
