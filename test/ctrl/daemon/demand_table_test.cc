// demand_table_test.cc - how many pairs a host may state, in any order, and the guarantees of many silent
// hosts.
#include "ctrl/daemon/demand_table.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/kept_demands.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

// Tenant "A" with vNICs that are in turn on the hosts, and an appliance.
struct Sites {
    ClusterConfig config;
    std::unique_ptr<Cluster> cluster;
    std::uint32_t disk = 0;
    std::vector<std::uint32_t> vnics;

    Sites(std::size_t hosts, std::size_t count, std::uint64_t reservation = 0)
        : config(parsed(hosts, count)) {
        for (TenantVnicConfig& vnic : config.tenants[0].vnics)
            vnic.reservation_bps = reservation;
        std::uint32_t last = 0;
        cluster = std::make_unique<Cluster>(config, [&](std::string_view kind, std::string_view) {
            ++last;
            if (kind == "vnic")
                vnics.push_back(last);
            else
                disk = last;
            return last;
        });
        for (std::size_t vnic = 0; vnic < count; ++vnic)
            cluster->place_vnic(vnics[vnic], static_cast<HostIndex>(vnic % hosts), "", 0);
    }
    static ClusterConfig parsed(std::size_t hosts, std::size_t count) {
        // Lists by name: compilers read nested braces in different ways.
        using nlohmann::json;
        json file{{"name", "test"}};
        file["appliances"] =
            json::array({json{{"name", "disk"}, {"capacity_min", "1ktokens"}, {"capacity_max", "1ktokens"}}});
        for (std::size_t host = 0; host < hosts; ++host)
            file["topology"]["hosts"].push_back(
                json{{"name", "h" + std::to_string(host)}, {"uplink", "400Gbit"}});
        json tenant{{"name", "A"}};
        tenant["appliances"] = json::array({json{{"name", "disk"}, {"reservation", "100tokens"}}});
        for (std::size_t vnic = 0; vnic < count; ++vnic)
            tenant["vnics"].push_back(json{{"name", "a" + std::to_string(vnic)}});
        file["tenants"] = json::array({std::move(tenant)});
        return std::get<ClusterConfig>(parse_cluster(file.dump()));
    }
    [[nodiscard]] static wire::FlowDemand wants(std::uint32_t from, std::uint32_t to,
                                                float used = 1'000'000) {
        return {.flow = {from, to}, .used = {used, 0, 0}};
    }
};

}  // namespace

TEST_CASE("a host states 8,192 pairs of vNICs, and flows to appliances besides; a pair that ends makes room",
          "[demands]") {
    const Sites sites(2, 400);
    DemandTable table(*sites.cluster);
    std::vector<wire::FlowDemand> all;
    for (std::size_t from = 0; from < 400; from += 2)
        for (std::size_t to = 1; to < 400; to += 2)
            all.push_back(Sites::wants(sites.vnics[from], sites.vnics[to]));
    for (const bool is_snapshot : {true, false, true}) {
        const auto outcome = table.apply(0, all, is_snapshot);
        CHECK(outcome.applied == DemandTable::kPairsMax);
        CHECK(outcome.surplus == all.size() - DemandTable::kPairsMax);
        CHECK(outcome.foreign == 0);
        CHECK(table.flows().size() == DemandTable::kPairsMax);
    }
    const wire::FlowDemand request{.flow = {sites.vnics[398], sites.disk}, .used = {0, 5, 0}};
    CHECK(table.apply(0, {&request, 1}, false).applied == 1);
    CHECK(table.apply(0, {&all.back(), 1}, false).surplus == 1);
    const wire::FlowDemand changed = Sites::wants(all[0].flow.source, all[0].flow.destination, 7);
    CHECK(table.apply(0, {&changed, 1}, false).applied == 1);
    CHECK(table.flows().find(changed.flow)->second.used[0] == 7);
    wire::FlowDemand over = changed;
    wire::make_removed(over);
    CHECK(table.apply(0, {&over, 1}, false).applied == 1);
    CHECK(table.apply(0, {&all.back(), 1}, false).applied == 1);
    const wire::FlowDemand other = Sites::wants(sites.vnics[1], sites.vnics[0]);
    CHECK(table.apply(1, {&other, 1}, false).applied == 1);  // another host's room is its own
    CHECK(table.apply(0, {&other, 1}, false).foreign == 1);
}

TEST_CASE("records in any order leave the same table", "[demands]") {
    const Sites sites(2, 100);
    std::vector<wire::FlowDemand> records;
    for (std::size_t from = 0; from < 100; from += 2)
        for (std::size_t to = 1; to < 100; to += 2)
            records.push_back(
                Sites::wants(sites.vnics[from], sites.vnics[to], static_cast<float>(from + to)));
    DemandTable ascending(*sites.cluster);
    CHECK(ascending.apply(0, records, true).applied == records.size());
    std::ranges::reverse(records);
    DemandTable descending(*sites.cluster);
    CHECK(descending.apply(0, records, true).applied == records.size());
    CHECK(std::ranges::equal(ascending.flows(), descending.flows(), [](const auto& one, const auto& other) {
        return one.first == other.first && one.second.used == other.second.used;
    }));
}

TEST_CASE(
    "half of the hosts of a tenant of 20,000 fall silent: the bound of idle pairs is looked up no further",
    "[kept]") {
    const Sites sites(40, 20'000, 1'000'000);
    DemandTable table(*sites.cluster);
    std::size_t idle_pairs = kIdlePairsMax;
    std::size_t pairs = 0;
    for (HostIndex host = 0; host < 20; ++host) {
        const auto kept = kept_demands(*sites.cluster, host, table.flows(), idle_pairs);
        CHECK(std::ranges::is_sorted(kept, {}, &wire::FlowDemand::flow));
        for (const wire::FlowDemand& each : kept) {
            pairs += each.flow.destination != sites.disk;
            REQUIRE(sites.cluster->find_end(each.flow.destination)->host != host);
        }
        table.replace_host(host, kept);
    }
    CHECK(idle_pairs == 0);
    CHECK(pairs == kIdlePairsMax);
}
