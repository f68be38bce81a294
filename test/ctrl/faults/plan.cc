// plan.cc - drawing the file, then the flows between its vNICs and appliances.
#include "test/ctrl/faults/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ctrl/placement/cluster_plan.h"

namespace weir::faults {
namespace {

using nlohmann::json;

std::string kilobits(std::uint64_t amount) {
    return std::to_string(amount) + "kbit";
}

std::string tokens(std::uint64_t amount) {
    return std::to_string(amount) + "tokens";
}

/// The numbers of a file that is still to be written: reservations shrink until it is admitted.
struct Drawn {
    json topology = json::object();
    json appliances = json::array();
    struct Vnic {
        std::uint32_t home = 0;
        bool is_pinned = false;
        std::uint64_t reservation = 0;  // kbit/s
        std::uint64_t limit = 0;        // kbit/s; 0 = none
        std::uint32_t weight = 100;
    };
    struct Part {
        std::uint32_t appliance = 0;
        std::uint64_t reservation = 0;
        std::uint64_t limit = 0;  // 0 = none
    };
    struct Tenant {
        bool is_fixed = false;
        std::vector<Vnic> vnics;
        std::vector<Part> parts;
    };
    std::vector<Tenant> tenants;
    std::string headroom;
};

std::string host_name(std::uint32_t host) {
    return "h" + std::to_string(host + 1);
}

std::string appliance_name(std::uint32_t appliance) {
    return appliance == 0 ? "disk" : "cache";
}

std::string vnic_name(std::uint32_t tenant, std::uint32_t vnic) {
    return std::string(1, static_cast<char>('a' + tenant)) + std::to_string(vnic + 1);
}

std::uint64_t draw_topology(Random32& random, Drawn& drawn, std::uint32_t hosts) {
    constexpr std::array<std::uint64_t, 3> kUplinks{100'000, 1'000'000, 10'000'000};
    const std::uint64_t uplink = kUplinks[random() % kUplinks.size()];
    const std::uint32_t racks = one_in(random, 3) ? draw(random, 1, 2) : 0;
    drawn.topology["racks"] = json::array();
    for (std::uint32_t i = 0; i < racks; ++i)
        drawn.topology["racks"].push_back(
            {{"name", "r" + std::to_string(i + 1)}, {"uplink", kilobits(uplink * draw(random, 1, 4))}});
    drawn.topology["hosts"] = json::array();
    for (std::uint32_t i = 0; i < hosts; ++i) {
        json host{{"name", host_name(i)}, {"uplink", kilobits(uplink)}};
        if (racks != 0)
            host["rack"] = "r" + std::to_string(random() % racks + 1);
        drawn.topology["hosts"].push_back(std::move(host));
    }
    return uplink;
}

std::vector<std::uint64_t> draw_appliances(Random32& random, Drawn& drawn, std::uint32_t hosts,
                                           std::uint64_t uplink) {
    std::vector<std::uint64_t> least;
    const std::uint32_t count = draw(random, 1, 2);
    for (std::uint32_t i = 0; i < count; ++i) {
        least.push_back(1'000 * draw(random, 1, 20));
        const std::uint64_t most = one_in(random, 4) ? least.back() * draw(random, 2, 6) : least.back();
        json appliance{{"name", appliance_name(i)},
                       {"capacity_min", tokens(least.back())},
                       {"capacity_max", tokens(most)}};
        const std::uint32_t where = draw(random, 0, 2);
        if (where == 0)
            appliance["host"] = host_name(random() % hosts);
        if (where == 1)
            appliance["link"] = kilobits(uplink);
        drawn.appliances.push_back(std::move(appliance));
    }
    return least;
}

void draw_tenants(Random32& random, Drawn& drawn, std::uint32_t hosts, std::uint64_t uplink,
                  const std::vector<std::uint64_t>& least) {
    const std::uint32_t count = draw(random, 1, 3);
    for (std::uint32_t t = 0; t < count; ++t) {
        Drawn::Tenant& tenant = drawn.tenants.emplace_back();
        tenant.is_fixed = one_in(random, 5);
        const std::uint32_t vnics = draw(random, 1, 4);
        for (std::uint32_t i = 0; i < vnics; ++i) {
            Drawn::Vnic vnic{.home = random() % hosts, .is_pinned = !one_in(random, 4)};
            if (one_in(random, 2))
                vnic.reservation = 1 + random() % (uplink / 10);
            if (one_in(random, 3))
                vnic.limit = std::max<std::uint64_t>(vnic.reservation, 1'000) + random() % (uplink / 4);
            vnic.weight = one_in(random, 4) ? draw(random, 50, 200) : 100;
            tenant.vnics.push_back(vnic);
        }
        for (std::uint32_t i = 0; i < least.size(); ++i) {
            if (one_in(random, 4))
                continue;
            Drawn::Part part{.appliance = i};
            part.reservation = random() % (least[i] / count) + 1;
            if (one_in(random, 3))
                part.limit = part.reservation + random() % least[i];
            tenant.parts.push_back(part);
        }
    }
}

json json_of(const Drawn::Tenant& tenant, std::uint32_t number, unsigned shift) {
    json out{{"name", std::string(1, static_cast<char>('A' + number))},
             {"sharing_rule", tenant.is_fixed ? "fixed" : "minimum"},
             {"vnics", json::array()},
             {"appliances", json::array()}};
    for (std::uint32_t i = 0; i < tenant.vnics.size(); ++i) {
        const Drawn::Vnic& vnic = tenant.vnics[i];
        json each{{"name", vnic_name(number, i)},
                  {"weight", vnic.weight},
                  {"reservation", kilobits(vnic.reservation >> shift)}};
        if (vnic.is_pinned)
            each["host"] = host_name(vnic.home);
        if (vnic.limit != 0)
            each["limit"] = kilobits(vnic.limit);
        out["vnics"].push_back(std::move(each));
    }
    for (const Drawn::Part& part : tenant.parts) {
        json each{{"name", appliance_name(part.appliance)},
                  {"reservation", tokens(std::max<std::uint64_t>(part.reservation >> shift, 1))}};
        if (part.limit != 0)
            each["limit"] = tokens(part.limit);
        out["appliances"].push_back(std::move(each));
    }
    return out;
}

std::string file_of(const Drawn& drawn, unsigned shift) {
    json root{{"name", "seeds"},
              {"headroom", drawn.headroom},
              {"prices", {{"p0", 1}, {"link", "10Gbit"}}},
              {"topology", drawn.topology},
              {"appliances", drawn.appliances},
              {"tenants", json::array()}};
    for (std::uint32_t t = 0; t < drawn.tenants.size(); ++t)
        root["tenants"].push_back(json_of(drawn.tenants[t], t, shift));
    return root.dump();
}

std::string mac_of(std::size_t number) {
    constexpr const char* kDigits = "0123456789abcdef";
    return std::string("52:54:00:00:00:") + kDigits[number / 16 % 16] + kDigits[number % 16];
}

void add_vnics(const Drawn& drawn, Plan& plan) {
    for (std::uint32_t t = 0; t < drawn.tenants.size(); ++t)
        for (std::uint32_t i = 0; i < drawn.tenants[t].vnics.size(); ++i)
            plan.vnics.push_back({.name = vnic_name(t, i),
                                  .mac = mac_of(plan.vnics.size() + 1),
                                  .tenant = t,
                                  .index = i,
                                  .home = drawn.tenants[t].vnics[i].home,
                                  .is_pinned = drawn.tenants[t].vnics[i].is_pinned});
}

void draw_flows(Random32& random, Plan& plan, std::uint64_t uplink) {
    const double bytes = static_cast<double>(uplink) * 1'000 / 8;
    for (std::uint32_t v = 0; v < plan.vnics.size(); ++v) {
        const PlannedVnic& vnic = plan.vnics[v];
        for (std::uint32_t a = 0; a < plan.config.appliances.size(); ++a) {
            if (plan.part_of(vnic.tenant, a) == nullptr)
                continue;
            const auto capacity = static_cast<double>(plan.config.appliances[a].capacity_max);
            plan.flows.push_back({.vnic = v,
                                  .appliance = a,
                                  .bytes_there = bytes * 0.05 / capacity * draw(random, 1, 4),
                                  .bytes_back = bytes * 0.05 / capacity * draw(random, 1, 4),
                                  .most = capacity * draw(random, 1, 12) / 8});
        }
        for (std::uint32_t peer = 0; peer < plan.vnics.size(); ++peer)
            if (peer != v && plan.vnics[peer].tenant == vnic.tenant && plan.vnics[peer].home != vnic.home &&
                !one_in(random, 3))
                plan.flows.push_back({.vnic = v, .peer = peer, .most = bytes * draw(random, 1, 12) / 8});
    }
}

}  // namespace

const TenantApplianceConfig* Plan::part_of(std::uint32_t tenant, std::uint32_t appliance) const {
    const auto& parts = config.tenants[tenant].appliances;
    const auto found =
        std::ranges::find(parts, config.appliances[appliance].name, &TenantApplianceConfig::name);
    return found == parts.end() ? nullptr : &*found;
}

Plan draw_plan(Random32& random) {
    constexpr std::array kHeadrooms{"0%", "3%", "10%"};
    Drawn drawn;
    drawn.headroom = kHeadrooms[random() % kHeadrooms.size()];
    const std::uint32_t hosts = draw(random, 2, 8);
    const std::uint64_t uplink = draw_topology(random, drawn, hosts);
    const std::vector<std::uint64_t> least = draw_appliances(random, drawn, hosts, uplink);
    draw_tenants(random, drawn, hosts, uplink, least);
    constexpr unsigned kHalvings = 24;
    for (unsigned shift = 0; shift < kHalvings; ++shift) {
        Plan plan;
        plan.file = file_of(drawn, shift);
        auto parsed = parse_cluster(plan.file, placement_faults);
        auto* const config = std::get_if<ClusterConfig>(&parsed);
        if (config == nullptr)
            continue;
        plan.config = std::move(*config);
        add_vnics(drawn, plan);
        draw_flows(random, plan, uplink);
        for (const ClusterApplianceConfig& appliance : plan.config.appliances)
            plan.serves.push_back(static_cast<double>(
                appliance.capacity_min + random() % (appliance.capacity_max - appliance.capacity_min + 1)));
        return plan;
    }
    throw std::logic_error("no reservations are small enough for " + file_of(drawn, 0));
}

}  // namespace weir::faults
