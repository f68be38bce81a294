// link_test.cc - a switch's session and the controller, over a line that loses, repeats and reorders.
#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/new_revision.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/agent/controller_session.h"

using namespace weir;
using State = ControllerSession::State;
using test::kInterval;

namespace {

constexpr Nanos kTick = 10'000'000;
// After all periods that the tests bill.
constexpr std::int64_t kUnixTime = 1'795'260'000;
constexpr std::uint64_t kNone = wire::kNoStatement;

const char* const kTwoHosts =
    R"({"name": "test", "headroom": "0%", "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "a1"}], "appliances": [{"name": "disk", "reservation": "400tokens"}]},
                {"name": "B", "vnics": [{"name": "b1"}], "appliances": [{"name": "disk", "reservation": "200tokens"}]}]})";

// A switch with one vNIC whose requests cost `asks` tokens of the disk per second.
struct Host {
    Peer peer;
    std::unique_ptr<ControllerSession> link;
    std::string vnic;
    double asks = 0;
    double used = 0;
    std::uint64_t queued = 0;
    double owed_per_second = 0;  ///< of `asks`: sent to the disk and never answered
    FlowRates rates;
    std::uint64_t believed = kNone;  ///< rate of the appliance; none = the file's own limits

    Host(const char* host, const char* name, std::uint32_t first) : vnic(name) {
        peer.route = host;
        start(host, first);
    }
    void start(const char* host, std::uint32_t first) {
        link = std::make_unique<ControllerSession>(first, 0);
        link->set_hello(
            {.host = host, .version = "t", .vnics = {{.name = vnic}}, .appliances = {{.name = "disk"}}});
    }
    void tick(Nanos now) {
        used += asks * static_cast<double>(kTick) / 1e9;
        const FlowSample sample{.flow = {vnic, 0},
                                .used = {0, static_cast<std::uint64_t>(used), 0},
                                .queued = {0, queued, 0},
                                .outstanding_tokens = static_cast<std::uint64_t>(
                                    owed_per_second * static_cast<double>(now) / 1e9)};
        link->add_samples({&sample, 1}, now);
        link->tick(now);
        if (link->update_rates(rates))
            believed = rates.empty() ? kNone : rates.begin()->second[1];
    }
};

struct LossyLines {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kTwoHosts, placement_faults));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    Host h1{"h1", "a1", 100};
    Host h2{"h2", "b1", 900};
    Nanos now = kNanosPerSec;
    Nanos next_tick = 0;
    unsigned loss_percent = 0;
    testing::Random32 random{5};
    std::deque<std::pair<Host*, ControllerSession::Message>> late;

    LossyLines() { restart(); }
    void restart() {
        controller = std::make_unique<Controller>(config, solver, store, kUnixTime);
        next_tick = now + kInterval;
    }
    bool lost() { return random() % 100 < loss_percent; }
    void up(Host& host) {
        for (ControllerSession::Message& message : host.link->take_outgoing()) {
            if (!controller || lost())
                continue;
            if (loss_percent != 0 && random() % 4 == 0)
                late.emplace_back(&host, message);
            controller->on_message(host.peer, message.header, message.body, now);
        }
        if (!late.empty() && controller && random() % 3 == 0) {  // a late copy
            controller->on_message(late.front().first->peer, late.front().second.header,
                                   late.front().second.body, now);
            late.pop_front();
        }
    }
    void down() {
        for (const Outgoing& message : controller->take_outgoing())
            for (Host* host : {&h1, &h2})
                if (host->peer.route == message.route && !lost())
                    for (unsigned times = lost() ? 2 : 1; times > 0; --times)
                        host->link->on_message(message.header, message.body, now);
    }
    void run(Nanos span) {
        for (const Nanos end = now + span; now < end;) {
            now += kTick;
            for (Host* host : {&h1, &h2}) {
                host->tick(now);
                up(*host);
            }
            if (!controller)
                continue;
            if (now >= next_tick) {
                controller->tick(now, kUnixTime);
                next_tick += kInterval;
            } else if (controller->early_solve_due()) {
                controller->solve_early(now);
            }
            down();
        }
    }
};

}  // namespace

TEST_CASE("a switch has its guarantees at once, and a rate by its demand within two intervals") {
    LossyLines world;
    world.run(100'000'000);
    CHECK(world.h1.link->state() == State::kWelcomed);
    CHECK(world.h1.believed == 400);
    CHECK(world.h2.believed == 200);
    world.h1.asks = 900;
    world.h2.asks = 300;
    world.run(3 * kInterval);
    CHECK(world.h1.link->state() == State::kConnected);
    CHECK(world.h1.believed == Approx(700).margin(10));  // b1 has 300 of the disk's 1000 tokens/s
    CHECK(world.h2.believed == Approx(300).margin(10));
}

namespace {

// Two switches with a vNIC each of tenants A and B; a1 sends 2 MB/s to a2, over a link of 1 MB/s.
struct PairOfSwitches {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(R"({"headroom": "0%", "topology": {"hosts":
        [{"name": "h1", "uplink": "8Mbit"}, {"name": "h2", "uplink": "8Mbit"}]}, "tenants": [
            {"name": "A", "vnics": [{"name": "a1", "reservation": "3Mbit"}, {"name": "a2", "reservation": "2Mbit"}]},
            {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2"}]}]})",
                                                                 placement_faults));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    Controller controller{config, solver, store, 1'000};
    ControllerSession one{100, 0};
    ControllerSession two{200, 0};
    Nanos now = kNanosPerSec;
    std::uint64_t sent = 0;
    FlowRates rates;
    const LocalFlow flow{"a1", 0, "52:54:00:00:00:03"};

    PairOfSwitches() {
        one.set_hello(
            hello("h1", {{"a1", "A", "52:54:00:00:00:01", 0}, {"b1", "B", "52:54:00:00:00:02", 0}}));
        two.set_hello(
            hello("h2", {{"a2", "A", "52:54:00:00:00:03", 0}, {"b2", "B", "52:54:00:00:00:04", 0}}));
    }
    static wire::Hello hello(const char* host, std::vector<wire::HelloVnic> vnics) {
        return {.host = host,
                .version = "t",
                .vnics = std::move(vnics),
                .capabilities = {std::string(wire::capability::kPairFloors)}};
    }
    void turn(ControllerSession& session, const char* route, bool is_received) {
        session.tick(now);
        for (const ControllerSession::Message& message : session.take_outgoing())
            if (is_received)
                controller.on_message({.route = route, .host = ""}, message.header, message.body, now);
    }
    void run(Nanos span, bool is_received) {
        for (Nanos passed = 0; passed < span; passed += kTick) {
            now += kTick;
            sent += 20'000;
            const FlowSample sample{.flow = flow, .used = {sent, 0, 0}};
            one.add_samples({&sample, 1}, now);
            turn(one, "r1", is_received);
            turn(two, "r2", is_received);
            if (is_received && (passed + kTick) % kInterval == 0)
                controller.tick(now, 1'000);
            for (const Outgoing& message : controller.take_outgoing())
                (message.route == "r1" ? one : two).on_message(message.header, message.body, now);
            (void)one.update_rates(rates);
        }
    }
};

}  // namespace

TEST_CASE("traffic between VMs of a tenant on two hosts is reported and allocated") {
    PairOfSwitches world;
    world.run(kInterval + 2 * kTick, true);
    CHECK(world.rates.size() == 2);  // a1 to a2 and b1 to b2: no flows between tenants or within a host
    REQUIRE(world.rates.contains(world.flow));
    world.run(3 * kInterval, true);
    CHECK(static_cast<double>(world.rates.at(world.flow)[0]) == Approx(1e6).epsilon(0.01));
    CHECK(world.rates.at(world.flow)[1] == kNone);
}

TEST_CASE("while the controller is silent each pair of VMs has the smaller floor of its ends") {
    PairOfSwitches world;
    world.run(4 * kInterval, true);
    world.run(5 * kInterval, false);
    CHECK(world.one.state() == State::kSilent);
    CHECK(world.rates.at(world.flow)[0] ==
          250'000);  // 2 Mbit/s to the one peer, as a2 has for one; never unlimited
    CHECK(world.rates.at({"b1", 0, "52:54:00:00:00:04"})[0] == 1);  // no reservation, no headroom
    // A vNIC that leaves meanwhile changes no rate of the others.
    world.one.set_hello(PairOfSwitches::hello("h1", {{"a1", "A", "52:54:00:00:00:01", 0}}));
    world.run(2 * kTick, false);
    CHECK(world.rates.size() == 1);
    CHECK(world.rates.at(world.flow)[0] == 250'000);
    world.run(4 * kInterval, true);
    CHECK(world.one.state() == State::kConnected);
    CHECK(static_cast<double>(world.rates.at(world.flow)[0]) == Approx(1e6).epsilon(0.01));
}

TEST_CASE("requests that an appliance does not answer do not count as served") {
    LossyLines world;
    world.h1.asks = 500;
    world.h1.owed_per_second = 200;
    world.run(3 * kInterval);
    CHECK(world.h1.believed == Approx(300).epsilon(0.05));
}

TEST_CASE("a new flow is reported before the interval ends") {
    LossyLines world;
    world.run(5 * kInterval + kInterval / 2);
    const auto before = world.h1.link->counters().demands;
    world.h1.asks = 900;
    world.run(150'000'000);
    CHECK(world.h1.link->counters().demands > before);
    CHECK(world.controller->counters().early_solves >= 1);
    CHECK(world.h1.believed >= 800);
}

TEST_CASE(
    "without controller: the last rates for three intervals, then the guarantees; with it: rates again") {
    LossyLines world;
    world.h1.asks = 900;
    world.run(4 * kInterval);
    const std::uint64_t allocated = world.h1.believed;
    CHECK(allocated >= 890);
    world.controller.reset();
    world.run(2 * kInterval);
    CHECK(world.h1.believed == allocated);
    world.run(2 * kInterval);
    CHECK(world.h1.link->state() == State::kSilent);
    CHECK(world.h1.believed == 400);
    world.restart();
    world.run(4 * kInterval);
    CHECK(world.h1.link->state() == State::kConnected);
    CHECK(world.h1.link->epoch() == world.controller->epoch());
    CHECK(world.h1.believed >= 890);
}

TEST_CASE("a controller that restarts in between changes no rate") {
    LossyLines world;
    world.h1.asks = 900;
    world.run(4 * kInterval);
    const std::uint64_t allocated = world.h1.believed;
    for (int restart = 0; restart < 5; ++restart) {
        world.restart();
        for (int i = 0; i < 30; ++i) {
            world.run(kInterval / 10);
            REQUIRE(world.h1.believed == Approx(allocated).epsilon(0.02));
        }
    }
}

TEST_CASE("a switch that restarts is known again within an interval") {
    LossyLines world;
    world.h1.asks = 900;
    world.run(4 * kInterval);
    world.h1.start("h1", 5'000);
    world.h1.used = 0;
    world.h1.believed = kNone;
    world.run(kInterval / 2);
    CHECK(world.h1.believed != kNone);
    world.run(3 * kInterval);
    CHECK(world.h1.link->state() == State::kConnected);
    CHECK(world.h1.believed >= 890);
    CHECK(world.controller->status(world.now)["hosts"][0]["state"] == "connected");
}

TEST_CASE("a switch that is not in the file gets the reason, and uses its own limits") {
    LossyLines world;
    world.h1.link->set_hello({.host = "h9", .version = "t", .vnics = {{.name = "a1"}}, .appliances = {}});
    world.run(3 * kInterval);
    CHECK(world.h1.link->state() == State::kRefused);
    CHECK(world.h1.link->refusal() == "there is no host h9 in the cluster file");
    CHECK(world.h1.believed == kNone);
}

TEST_CASE(
    "a switch whose controller speaks another protocol says so, and a header of another version ends no "
    "session") {
    ControllerSession link(100, 0);
    link.set_hello({.host = "h1"});
    link.tick(kNanosPerSec);
    wire::Header sent;
    const auto hello = link.take_outgoing();
    REQUIRE(wire::decode_header(hello.front().header, hello.front().body.size(), sent) ==
            wire::Malformed::kNo);
    const std::string text =
        wire::to_text(wire::Welcome{.interval = kInterval, .validity = 3, .protocol = 2});
    const wire::Header header{.type = wire::Type::kWelcome,
                              .epoch = 1,
                              .session = sent.session,
                              .sequence = 1,
                              .count = static_cast<std::uint32_t>(text.size())};
    const wire::Bytes body(text.begin(), text.end());
    link.on_message(wire::encode_header(header), body, kNanosPerSec);
    CHECK(link.state() == State::kRefused);
    CHECK(link.refusal() ==
          "the controller's weir-ctrl speaks protocol 2, and this weir-switch knows protocol 1 only: upgrade "
          "this "
          "weir-switch");
    wire::HeaderBytes later = wire::encode_header(header);
    later[4] = 5;
    link.on_message(later, body, kNanosPerSec);
    CHECK(link.refusal().find("speaks protocol 5") != std::string::npos);

    LossyLines world;
    world.run(3 * kInterval);
    world.h1.link->on_message(later, body, world.now);
    CHECK(world.h1.link->state() == State::kConnected);
    CHECK(world.h1.link->refusal().empty());
}

TEST_CASE("losses, repetitions and late copies never cause a wrong rate, and their effects end") {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        LossyLines world;
        world.random.seed(seed);
        world.loss_percent = 30;
        for (int i = 0; i < 40; ++i) {
            world.h1.asks = world.random() % 900;
            world.h2.asks = world.random() % 900;
            world.run(kInterval / 2);
            for (const Host* host : {&world.h1, &world.h2})
                REQUIRE((host->believed == kNone || (host->believed >= 1 && host->believed <= 1'000)));
        }
        world.loss_percent = 0;
        world.late.clear();
        world.h1.asks = 900;
        world.h2.asks = 300;
        world.run(8 * kInterval);
        CHECK(world.h1.believed == Approx(700).margin(10));
        CHECK(world.h2.believed == Approx(300).margin(10));
    }
}

TEST_CASE("messages that are not the controller's change nothing") {
    LossyLines world;
    world.h1.asks = 900;
    world.run(4 * kInterval);
    const std::uint64_t allocated = world.h1.believed;
    ControllerSession& link = *world.h1.link;
    const ControllerLinkCounters before = link.counters();
    link.on_message({}, {}, world.now);
    wire::Header header{.type = wire::Type::kAllocation,
                        .flags = wire::flags::kSnapshot,
                        .epoch = link.epoch(),
                        .session = 1,
                        .sequence = 999};
    link.on_message(wire::encode_header(header), {}, world.now);
    header.type = wire::Type::kWelcome;
    header.count = 2;
    const wire::Bytes braces{'{', '}'};
    link.on_message(wire::encode_header(header), braces, world.now);
    world.h1.tick(world.now + 1);
    CHECK(link.counters().malformed == before.malformed + 1);
    CHECK(link.counters().foreign == before.foreign + 2);
    CHECK(world.h1.believed == allocated);
}

TEST_CASE(
    "every period is billed once, over a line that loses and repeats, whatever the controller lives "
    "through") {
    LossyLines world;
    world.config.prices = billing::Prices{.p0 = 1, .beta = 0.5, .link = 1000};
    world.restart();
    world.run(kInterval);
    world.loss_percent = 20;
    std::uint64_t delivered = 0;
    std::uint64_t ended = 1'795'257'000'000'000'000;
    for (int i = 0; i < 60; ++i, ended += kInterval) {
        for (Host* host : {&world.h1, &world.h2}) {
            const std::uint64_t bytes = 1'000 + world.random() % 1'000'000;
            delivered += bytes;
            host->link->add_usage({host->vnic,
                                   {.guarantee = GuaranteeKind::kStrict,
                                    .began = ended - kInterval,
                                    .ended = ended,
                                    .promised = 1'000'000,
                                    .delivered = bytes}});
        }
        if (i % 20 == 7)
            world.controller.reset();  // no controller for two seconds
        if (i % 20 == 9)
            world.restart();
        world.run(kInterval);
    }
    world.loss_percent = 0;
    world.run(20 * kInterval);
    std::uint64_t billed = 0;
    for (const BillSum& sum : world.store.bill().reader().sum({})) {
        CHECK(sum.periods == 60);
        billed += sum.delivered;
    }
    CHECK(billed == delivered);
    CHECK(world.h1.link->usage().waiting() == 0);
    CHECK_FALSE(world.store.bill().reader().check().first_altered);
}

TEST_CASE("without prices nothing is billed, and periods are acknowledged") {
    LossyLines world;
    world.run(3 * kInterval);
    world.h1.link->add_usage({"a1", {.began = 1, .ended = 2, .delivered = 1}});
    world.h1.link->add_usage({"unknown", {.began = 1, .ended = 2, .delivered = 1}});
    world.run(kInterval);
    CHECK(world.h1.link->usage().waiting() == 0);
    CHECK(world.store.bill().reader().chain().lines == 0);
}

TEST_CASE("periods of another host's vNICs are not billed") {
    LossyLines world;
    world.config.prices = billing::Prices{.p0 = 1, .beta = 0.5, .link = 1000};
    world.restart();
    world.run(3 * kInterval);
    world.h1.link->add_usage(
        {"b1", {.guarantee = GuaranteeKind::kStrict, .began = 1, .ended = 2, .delivered = 1}});
    world.run(kInterval);
    CHECK(world.store.bill().reader().chain().lines == 0);
    CHECK(world.h1.link->usage().waiting() == 0);
}

TEST_CASE("windows and reservations in them reach their host, and end when the controller is silent",
          "[link]") {
    LossyLines world;
    world.h1.asks = 100;
    world.run(3 * kInterval);
    CHECK(world.h1.link->windows().tokens.empty());
    const wire::FlowKey flow{world.store.endpoint_id("vnic", "a1"),
                             world.store.endpoint_id("appliance", "disk")};
    world.solver.window_records = {
        {0, {.flow = {wire::kWholeHost, flow.destination}, .rate = {kNone, 30, kNone}}},
        {0, {.flow = {flow.source, flow.destination | wire::kReserved}, .rate = {200, 500, kNone}}}};
    world.run(2 * kInterval);
    CHECK(world.h1.link->windows().tokens == std::map<std::uint16_t, std::uint64_t>{{0, 30}});
    CHECK(world.h1.link->windows().reservations == std::map<LocalFlow, WindowPart>{{{"a1", 0}, {500, 200}}});
    CHECK(world.h2.link->windows().tokens.empty());
    world.solver.window_records[1].record.rate[0] = kNone;  // a controller that sends no shares
    world.run(2 * kInterval);
    CHECK(world.h1.link->windows().reservations == std::map<LocalFlow, WindowPart>{{{"a1", 0}, {500, 0}}});
    world.controller.reset();
    world.run(6 * kInterval);
    CHECK(world.h1.link->windows().tokens.empty());
    CHECK(world.h1.link->windows().reservations.empty());
}

TEST_CASE(
    "a controller whose epoch is lower is ignored, with the reason in words, until one with a higher comes",
    "[link]") {
    LossyLines world;
    world.run(2 * kInterval);
    ControllerSession& link = *world.h1.link;
    CHECK(link.ignored().empty());
    const std::uint64_t epoch = link.epoch();
    // The store was lost, and the clock of its time was ahead.
    Store lost(":memory:");
    world.controller = std::make_unique<Controller>(world.config, world.solver, lost, kUnixTime - 1'000);
    world.run(6 * kInterval);
    CHECK(link.epoch() == epoch);
    CHECK(link.state() == State::kSilent);
    CHECK(link.ignored().find("restart weir-ctrl with --epoch-above " + std::to_string(epoch)) !=
          std::string::npos);
    Store above(":memory:", {.epoch_above = epoch});
    world.controller = std::make_unique<Controller>(world.config, world.solver, above, kUnixTime - 1'000);
    world.run(3 * kInterval);
    CHECK(link.epoch() == epoch + 1);
    CHECK(link.state() == State::kConnected);
    CHECK(link.ignored().empty());
    world.controller.reset();
}

TEST_CASE("the last periods of a vNIC that left its switch while no controller ran are billed", "[link]") {
    LossyLines world;
    world.config.prices = billing::Prices{.p0 = 1, .beta = 0.5, .link = 1000};
    world.restart();
    world.run(3 * kInterval);
    world.controller.reset();
    const std::uint64_t left = kUnixTime * kNanosPerSec;
    world.h1.link->add_usage({"a1", {.began = left - kNanosPerSec, .ended = left, .delivered = 1'000}});
    world.h1.link->set_hello({.host = "h1", .version = "t", .appliances = {{.name = "disk"}}});
    world.restart();
    world.run(6 * kInterval);
    const auto sums = world.store.bill().reader().sum({});
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].vnic == "a1");
    CHECK(sums[0].periods == 1);
    CHECK(world.h1.link->usage().waiting() == 0);
    CHECK(world.h1.link->usage().unbilled().periods == 0);
}

TEST_CASE("the last periods of a vNIC that was removed from the cluster file are billed to its tenant",
          "[link]") {
    LossyLines world;
    world.config.prices = billing::Prices{.p0 = 1, .beta = 0.5, .link = 1000};
    world.restart();
    world.run(3 * kInterval);
    world.controller.reset();
    const ClusterConfig before = world.config;
    world.config.tenants[0].vnics[0].name = "a9";
    (void)world.store.add_revision(new_revision(world.store, &before, world.config, "{}", kUnixTime),
                                   kUnixTime);
    const std::uint64_t removed = kUnixTime * kNanosPerSec;
    world.h1.link->add_usage({"a1", {.began = removed - kNanosPerSec, .ended = removed, .delivered = 1'000}});
    world.h1.link->add_usage(  // of the time afterwards, when it is no tenant's vNIC
        {"a1", {.began = removed, .ended = removed + kNanosPerSec, .delivered = 1'000}});
    world.restart();
    world.run(6 * kInterval);
    const auto sums = world.store.bill().reader().sum({});
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].vnic == "a1");
    CHECK(sums[0].tenant == "A");
    CHECK(sums[0].periods == 1);
    CHECK(world.h1.link->usage().waiting() == 0);
    CHECK(world.h1.link->usage().unbilled().periods == 0);
}
