// new_revision_test.cc - ids of ends and removed vNICs from one revision of the specification to the next.
#include "ctrl/daemon/new_revision.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

/// Tenants with the names of their vNICs.
ClusterConfig cluster_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& tenants) {
    ClusterConfig config;
    for (const auto& [name, vnics] : tenants) {
        TenantConfig& tenant = config.tenants.emplace_back();
        tenant.name = name;
        for (const std::string& vnic : vnics)
            tenant.vnics.push_back({.name = vnic});
    }
    return config;
}

struct Revisions {
    Store store{":memory:"};
    ClusterConfig config;

    /// @return the id of the vNIC afterwards
    void apply(const ClusterConfig& next, std::int64_t unix_time) {
        const NewRevision revision = new_revision(store, &config, next, "{}", unix_time);
        const Cluster before(config, [this](auto kind, auto name) { return store.endpoint_id(kind, name); });
        const Cluster::IdOf planned = ids_under(revision.ends, before);
        std::map<std::string, std::uint32_t> ids;
        for (const TenantConfig& tenant : next.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                ids[vnic.name] = planned("vnic", vnic.name);
        (void)store.add_revision(revision, unix_time);
        for (const auto& [name, id] : ids)
            CHECK(store.endpoint_id("vnic", name) == id);
        config = next;
    }
};

}  // namespace

TEST_CASE("a vNIC is removed until it is back in its tenant, or for a month") {
    Revisions world;
    world.apply(cluster_of({{"A", {"a", "b", "c"}}}), 900);
    const std::uint32_t b = world.store.endpoint_id("vnic", "b");
    const std::uint32_t c = world.store.endpoint_id("vnic", "c");
    world.apply(cluster_of({{"A", {"a"}}}), 1'000);
    CHECK(world.store.removed_vnics() ==
          std::vector<RemovedVnic>{{b, "b", "A", 0, 1'000}, {c, "c", "A", 0, 1'000}});
    world.apply(cluster_of({{"A", {"a", "c"}}}), 2'000);
    CHECK(world.store.removed_vnics() == std::vector<RemovedVnic>{{b, "b", "A", 0, 1'000}});
    CHECK(world.store.endpoint_id("vnic", "c") == c);
    world.apply(cluster_of({{"A", {"a"}}}), 1'000 + kRemovedKept);
    CHECK(world.store.removed_vnics().size() == 1);
    CHECK(world.store.removed_vnics()[0].name == "c");
}

TEST_CASE("a name that comes back in another tenant gets a new id, and no id is given twice") {
    Revisions world;
    world.apply(cluster_of({{"A", {"x", "y"}}, {"B", {"z"}}}), 1'000);
    const std::uint32_t first = world.store.endpoint_id("vnic", "x");
    world.apply(cluster_of({{"A", {"y"}}, {"B", {"z", "x"}}}), 2'000);  // from one to the other at once
    const std::uint32_t second = world.store.endpoint_id("vnic", "x");
    CHECK(second > world.store.endpoint_id("vnic", "z"));
    CHECK(world.store.removed_vnics() == std::vector<RemovedVnic>{{first, "x", "A", 0, 2'000}});
    world.apply(cluster_of({{"A", {"y"}}, {"B", {"z"}}}), 3'000);
    world.apply(cluster_of({{"A", {"y", "x"}}, {"B", {"z"}}}), 4'000);  // and back, after a while
    const std::uint32_t third = world.store.endpoint_id("vnic", "x");
    CHECK(third > second);
    CHECK(world.store.next_endpoint() == third + 1);
}

TEST_CASE("a text is imported once") {
    Store store(":memory:");
    CHECK(import_specification(store, {}, "{}", "one", 1) == 1);
    CHECK(import_specification(store, {}, "{}", "two", 2) == 1);
    CHECK(import_specification(store, {}, "{ }", "three", 3) == 2);
    CHECK(store.revision() == 2);
    CHECK(store.specification() == "{ }");
    CHECK(store.specification(1) == "{}");
    CHECK_FALSE(store.specification(3));
    const std::vector<Revision> all = store.revisions(10);
    REQUIRE(all.size() == 2);
    CHECK(all[1].author == "three");
    CHECK(all[1].unix_time == 3);
    CHECK(all[1].bytes == 3);
    CHECK(store.revisions(1)[0].number == 2);
}
