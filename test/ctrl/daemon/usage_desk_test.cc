// usage_desk_test.cc - which billing periods are stored, and how far a message is acknowledged.
#include "ctrl/daemon/usage_desk.h"

#include <map>
#include <nlohmann/json.hpp>

#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::int64_t kDeskSecond = 1'000'000'000;
constexpr std::int64_t kNoon = 1'795'262'400 * kDeskSecond;
constexpr std::uint64_t kMegabit = 125'000;  // bytes per second

const char* const kBilledHosts =
    R"({"name": "test", "prices": {"p0": 1, "link": "1Gbit"},
    "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]},
    "tenants": [{"name": "A", "vnics": [{"name": "a1", "reservation": "100Mbit"}, {"name": "a2"}]}]})";

struct Desk {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kBilledHosts, placement_faults));
    std::uint32_t ids = 0;
    Cluster cluster{config, [this](std::string_view, std::string_view) { return ++ids; }};
    BillWriter bill{BillStore::kMemory};
    billing::UseTable use;
    std::vector<std::string> notes;
    UsageDesk desk{cluster, bill, use, [this](const char*, const std::string& text, const std::string&) {
                       notes.push_back(text);
                   }};

    Desk() {
        bill.open();
        cluster.place_vnic(id("a1"), 0, "", 0);
    }
    std::uint32_t id(const char* name) const { return cluster.find_vnic(name)->id; }
    /// A second of a1 that ended so long after noon, with 100 Mbit.
    wire::Usage period(std::int64_t ended_ns) const {
        return {.vnic = id("a1"),
                .guarantee = GuaranteeKind::kStrict,
                .began = static_cast<std::uint64_t>(kNoon + ended_ns - kDeskSecond),
                .ended = static_cast<std::uint64_t>(kNoon + ended_ns),
                .promised = 100 * kMegabit,
                .delivered = 100 * kMegabit};
    }
    /// @return ns after noon up to which the message was acknowledged; nothing: it was not
    std::optional<std::int64_t> send(const std::vector<wire::Usage>& periods, std::int64_t now_ns = 0,
                                     HostIndex host = 0) {
        desk.on_usage({.host = host, .session = 5, .since = 0}, periods, kNoon + now_ns);
        const auto billed = desk.take_billed();
        REQUIRE(billed.size() <= 1);
        if (billed.empty())
            return std::nullopt;
        CHECK(billed[0].session == 5);
        CHECK(billed[0].host == host);
        return static_cast<std::int64_t>(billed[0].through) - kNoon;
    }
    std::vector<BillSum> sums() { return bill.reader().sum({}); }
    std::int64_t lines() { return bill.reader().chain().lines; }
};

using Through = std::optional<std::int64_t>;

}  // namespace

TEST_CASE(
    "a period that ends a little later than the controller's clock waits for its time; much later is "
    "refused") {
    Desk world;
    const wire::Usage early = world.period(180 * kDeskSecond);
    CHECK(world.send({world.period(-kDeskSecond), world.period(2 * kDeskSecond), early}) ==
          Through(180 * kDeskSecond - 1));
    CHECK(world.lines() == 2);
    CHECK(world.send({early}, 3 * kDeskSecond) == Through());  // nothing of it is stored: the switch waits
    CHECK(world.send({early}, 175 * kDeskSecond) == Through(180 * kDeskSecond));
    CHECK(world.lines() == 3);
    CHECK(world.desk.counters().early == 2);

    // A year ahead of most hosts: refused for good, so that it does not end the bill and does not block the
    // queue.
    const std::int64_t year = 365 * 86'400 * kDeskSecond;
    for (const HostIndex host : {1U, 2U})
        world.send({}, 200 * kDeskSecond, host);
    CHECK(world.send({world.period(year)}, 200 * kDeskSecond) == Through(year));
    CHECK(world.desk.counters().future == 1);
    CHECK(world.notes.back().find("set the host's clock") != std::string::npos);
    CHECK(world.send({world.period(190 * kDeskSecond)}, 200 * kDeskSecond) == Through(190 * kDeskSecond));
    CHECK(world.lines() == 4);
}

TEST_CASE("of a dynamic guarantee that the cluster file has, its mean is on the bill") {
    Desk world;
    world.config.tenants[0].vnics[0].guarantee = GuaranteeKind::kDynamic;
    wire::Usage lie = world.period(-2 * kDeskSecond);
    lie.guarantee = GuaranteeKind::kDynamic;
    lie.promised = 900 * kMegabit;
    world.send({lie});
    REQUIRE(world.sums().size() == 1);
    CHECK(world.sums()[0].promised == 100.0 * kMegabit);
    CHECK(world.notes.size() == 1);
}

TEST_CASE("the promise on the bill is the controller's own, and a switch that states another one is named") {
    Desk world;
    wire::Usage lie = world.period(-2 * kDeskSecond);
    lie.promised = 900 * kMegabit;
    world.send({lie, world.period(-kDeskSecond)});
    REQUIRE(world.sums().size() == 1);
    CHECK(world.sums()[0].promised == 2.0 * 100 * kMegabit);
    CHECK(world.desk.counters().promises == 1);
    REQUIRE(world.notes.size() == 1);
    CHECK(world.notes[0].find("reports a guarantee of 900000000 bit/s, the cluster file has 100000000") !=
          std::string::npos);
    // A period with fairness has no promise; a dynamic guarantee is the switch's alone.
    lie.guarantee = GuaranteeKind::kFairness;
    lie.began = lie.ended;
    lie.ended += kDeskSecond / 2;
    wire::Usage dynamic = lie;
    dynamic.guarantee = GuaranteeKind::kDynamic;
    dynamic.began = lie.ended;
    dynamic.ended = lie.ended + kDeskSecond / 2;
    world.send({lie, dynamic}, 5 * kDeskSecond);
    CHECK(world.desk.counters().promises == 2);
}

TEST_CASE(
    "periods of vNICs that the host may not have, and with impossible amounts, are refused and "
    "acknowledged") {
    Desk world;
    world.config.tenants[0].vnics[1].host = "h2";
    wire::Usage other = world.period(-kDeskSecond);
    other.vnic = world.id("a2");
    wire::Usage unknown = other;
    unknown.vnic = 999;
    wire::Usage huge = world.period(-kDeskSecond);
    huge.delivered = std::uint64_t{1} << 61;
    CHECK(world.send({other, unknown, huge}) == Through(-kDeskSecond));
    CHECK(world.lines() == 0);
    CHECK(world.desk.counters().foreign == 2);
    CHECK(world.desk.counters().impossible == 1);
    CHECK(world.notes.size() == 2);
}

TEST_CASE("the last periods of a vNIC that has left its host are billed, and no later ones") {
    Desk world;
    world.send({world.period(0)});
    world.cluster.place_vnic(world.id("a1"), 1, "", 0);
    CHECK(world.send({world.period(kDeskSecond)}, kDeskSecond) == Through(kDeskSecond));
    CHECK(world.lines() == 2);
    CHECK(world.send({world.period(4 * kDeskSecond)}, 4 * kDeskSecond, 1) == Through(4 * kDeskSecond));
    CHECK(world.send({world.period(3 * kDeskSecond)}, 5 * kDeskSecond) == Through(3 * kDeskSecond));
    CHECK(world.lines() == 4);
    CHECK(world.send({world.period(9 * kDeskSecond)}, 9 * kDeskSecond) == Through(9 * kDeskSecond));
    CHECK(world.lines() == 4);
    CHECK(world.desk.counters().foreign == 1);
}

TEST_CASE(
    "the last periods of a vNIC that left while no controller ran are billed, of a host that may have it") {
    Desk world;
    world.cluster.remove_vnic(world.id("a1"));
    CHECK(world.send({world.period(0)}) == Through(0));
    CHECK(world.lines() == 1);
    CHECK(world.send({world.period(kDeskSecond)}, kDeskSecond, 1) == Through(kDeskSecond));
    CHECK(world.lines() == 1);
    CHECK(world.desk.counters().foreign == 1);
    world.config.tenants[0].vnics[1].host = "h2";
    wire::Usage pinned = world.period(2 * kDeskSecond);
    pinned.vnic = world.id("a2");
    CHECK(world.send({pinned}, 2 * kDeskSecond) == Through(2 * kDeskSecond));
    CHECK(world.lines() == 1);
    CHECK(world.desk.counters().foreign == 2);
}

TEST_CASE("a repeated and an overlapping period are acknowledged, and each instant is billed once") {
    Desk world;
    world.send({world.period(0)});
    CHECK(world.send({world.period(0)}) == Through(0));
    CHECK(world.desk.counters().repeated == 1);
    CHECK(world.send({world.period(kDeskSecond / 2)}, kDeskSecond) == Through(kDeskSecond / 2));
    CHECK(world.desk.counters().clipped == 1);
    CHECK(world.notes.size() == 1);
    CHECK(world.sums()[0].seconds == Approx(1.5));
    CHECK(world.sums()[0].delivered == 150 * kMegabit);
}

TEST_CASE(
    "where most hosts are ahead of the controller, its clock is wrong: their periods wait, and are billed") {
    Desk world;
    const std::int64_t hour = 3'600 * kDeskSecond;
    CHECK(world.send({}, 0, 2) == Through());
    CHECK(world.send({world.period(hour)}) == Through());  // one of two: no majority says which one is right
    CHECK(world.send({}, 0, 1) == Through());
    CHECK(world.send({world.period(hour)}) == Through(hour));  // one of three is wrong
    CHECK(world.desk.counters().future == 1);
    wire::Usage later = world.period(hour + kDeskSecond);
    later.vnic = world.id("a2");
    world.cluster.place_vnic(later.vnic, 1, "", 0);
    CHECK(world.send({later}, 0, 1) == Through());
    CHECK(world.desk.counters().future == 1);
    CHECK(world.notes.back().starts_with("2 of 3 hosts that report are more than 600 s ahead"));
    CHECK(world.send({later}, hour + kDeskSecond, 1) == Through(hour + kDeskSecond));  // it was set
    CHECK(world.lines() == 1);
    // A host that is silent for ten minutes has no voice.
    CHECK(world.send({world.period(3 * hour)}, hour + 700 * kDeskSecond) == Through());
}

TEST_CASE("a vNIC that moves to another tenant: each has its own time on the bill, by either id") {
    Desk world;
    const std::int64_t moved = kNoon / kDeskSecond + 10;
    world.desk.set_removed(
        {{77, {77, "a1", "B", 8 * 100 * kMegabit, moved}}, {78, {78, "gone", "C", 0, moved}}});
    const auto old = [&](std::int64_t ended) {
        wire::Usage period = world.period(ended);
        period.vnic = 77;
        return period;
    };
    const std::int64_t now = 60 * kDeskSecond;
    world.send({world.period(5 * kDeskSecond)}, now);                            // the new id, from before
    CHECK(world.send({old(7 * kDeskSecond)}, now) == Through(7 * kDeskSecond));  // the old id
    world.send({world.period(10 * kDeskSecond + kDeskSecond / 4)}, now);  // a quarter of it behind the move
    world.send({old(20 * kDeskSecond), world.period(30 * kDeskSecond)}, now);
    wire::Usage foreign = old(8 * kDeskSecond);
    foreign.vnic = 78;  // no host has it
    world.send({foreign}, now);
    CHECK(world.desk.counters().foreign == 1);
    REQUIRE(world.send({old(6 * kDeskSecond)}, now, 1) == Through(6 * kDeskSecond));  // another host's word
    CHECK(world.desk.counters().foreign == 2);
    std::map<std::string, std::pair<double, std::uint64_t>> tenants;
    for (const BillSum& sum : world.sums()) {
        tenants[sum.tenant].first += sum.seconds;
        tenants[sum.tenant].second += sum.delivered;
    }
    CHECK(tenants.size() == 2);
    CHECK(tenants["B"].first == Approx(2.75));
    CHECK(tenants["B"].second == 275 * kMegabit);
    CHECK(tenants["A"].first == Approx(2.25));
    CHECK(tenants["A"].second == 225 * kMegabit);
}
