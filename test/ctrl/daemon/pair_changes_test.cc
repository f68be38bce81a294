// pair_changes_test.cc - how soon a change of demand between VMs has its allocation: real sessions, intake,
// schedule and solver in virtual time, with a model of the queue to a peer.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/units.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/intake.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/schedule.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "vswitch/agent/controller_session.h"
#include "vswitch/base/limits.h"

using namespace weir;
using test::kInterval;
using weir::testing::kMs;

namespace {

constexpr Nanos kPairTurn = 10 * kMs;
constexpr double kPairGbit = 1e9 / kBitsPerByte;
constexpr double kOffersAll = 1e18;  // offers as much as the queue takes, as a TCP does

const char* const kTwoUplinks = R"({"topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"},
    {"name": "h2", "uplink": "10Gbit"}]}, "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}]},
    {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2"}]}]})";

std::string pair_mac(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

/// Frames of a vNIC to a peer: the queue of 128 KiB in front of the allocated rate.
struct PairTraffic {
    double offers = 0;  // bytes per second
    double sent = 0;
    double refused = 0;
    double waiting = 0;

    void pass(double allocated, double seconds) {
        const double most = std::min(allocated, 10 * kPairGbit) * seconds;
        const double room = most + limits::kQueueBytesMax - waiting;
        waiting += offers == kOffersAll ? room : offers * seconds;
        const double moved = std::min(waiting, most);
        sent += moved;
        const double left = std::min<double>(waiting - moved, limits::kQueueBytesMax);
        refused += waiting - moved - left;
        waiting = left;
    }
};

struct TrafficHost {
    Peer peer;
    ControllerSession session;
    std::map<PeerPair, PairTraffic> pairs;
    FlowRates rates;

    TrafficHost(const std::string& host, const std::vector<std::string>& vnics, std::uint32_t seed)
        : session(100, seed) {
        peer.route = host;
        wire::Hello hello{.host = host, .version = "t", .uplink_bps = 9'700'000'000};
        hello.capabilities = {std::string(wire::capability::kTablesByNeed)};
        for (const std::string& vnic : vnics)
            hello.vnics.push_back({.name = vnic, .mac = pair_mac(vnic)});
        session.set_hello(hello);
    }
    PairTraffic& to(const std::string& vnic, const std::string& other) {
        return pairs[{vnic, pair_mac(other)}];
    }
    [[nodiscard]] double rate(const std::string& vnic, const std::string& other) const {
        const auto found = rates.find({vnic, 0, pair_mac(other)});
        return found == rates.end() ? -1 : static_cast<double>(found->second[wire::kThere]);
    }
    void turn(Nanos now) {
        std::vector<FlowSample> samples;
        std::vector<PeerPair> unknown;
        for (auto& [pair, traffic] : pairs) {
            const auto rate = rates.find({pair.vnic, 0, pair.mac});
            const bool is_known = rate != rates.end();
            traffic.pass(is_known ? static_cast<double>(rate->second[wire::kThere]) : kOffersAll,
                         to_seconds(kPairTurn));
            const auto whole = [](double bytes) { return static_cast<std::uint64_t>(bytes); };
            if (is_known)
                samples.push_back({.flow = {pair.vnic, 0, pair.mac},
                                   .used = {whole(traffic.sent), 0, 0},
                                   .queued = {whole(traffic.waiting), 0, 0},
                                   .refused = whole(traffic.refused)});
            else if (traffic.offers > 0)
                unknown.push_back(pair);
        }
        session.add_samples(samples, now);
        session.add_destinations(unknown, now);
        session.tick(now);
        (void)session.update_rates(rates);
    }
};

struct PairWorld {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kTwoUplinks));
    IntervalSolver solver{config};
    Store store{":memory:"};
    Controller controller{config, solver, store, 1'000};
    Intake intake{controller, config};
    Nanos now = kNanosPerSec;
    Schedule schedule{{.tick = [this](Nanos at) { controller.tick(at, 1'000); },
                       .solve_early = [this](Nanos at) { controller.solve_early(at); },
                       .early_solve_due = [this] { return controller.early_solve_due(); },
                       .clock = [this] { return now; }},
                      kInterval,
                      now};
    TrafficHost h1;
    TrafficHost h2;

    /// @param seed of the moment in the interval at which the switches report
    explicit PairWorld(std::uint32_t seed) : h1("h1", {"a1", "b1"}, seed), h2("h2", {"a2", "b2"}, 3 * seed) {}
    void turn() {
        now += kPairTurn;
        for (TrafficHost* host : {&h1, &h2}) {
            host->turn(now);
            for (const ControllerSession::Message& message : host->session.take_outgoing())
                intake.on_message(host->peer, message.header, message.body, now);
        }
        schedule.run_due(now);
        for (const Outgoing& message : controller.take_outgoing())
            (message.route == "h1" ? h1 : h2).session.on_message(message.header, message.body, now);
        for (TrafficHost* host : {&h1, &h2})
            (void)host->session.update_rates(host->rates);
    }
    void run(Nanos span) {
        for (const Nanos end = now + span; now < end;)
            turn();
    }
    /// Time until the rate from a1 to a2 is at least so much.
    Nanos until_allocated(double bytes_per_sec) {
        const Nanos began = now;
        while (h1.rate("a1", "a2") < bytes_per_sec && now - began < 3 * kInterval)
            turn();
        return now - began;
    }
    [[nodiscard]] std::uint64_t refused_solves() const {
        return intake.budgets().describe(0)["refused"]["early_solves"];
    }
};

}  // namespace

TEST_CASE("a pair of VMs that begins has its rate within 100 ms, on a link that another one fills",
          "[pairs]") {
    const std::uint32_t seed = GENERATE(0U, 170U, 430U, 990U);
    PairWorld world(seed);
    world.h1.to("b1", "b2").offers = kOffersAll;
    world.h1.to("a1", "a2").offers = 1'000;  // known, and nearly idle
    world.run(4 * kInterval);
    CHECK(world.h1.rate("b1", "b2") > 9 * kPairGbit);
    world.h1.to("a1", "a2").offers = 0;
    world.run(6 * kInterval);
    // In every part of the interval.
    for (Nanos phase = 0; phase < kInterval; phase += 70 * kMs) {
        world.run(6 * kInterval + phase);  // idle, and no flow any more
        world.h1.to("a1", "a2").offers = 2 * kPairGbit;
        INFO("seed " << seed << ", phase " << phase / kMs << " ms");
        CHECK(world.until_allocated(1.98 * kPairGbit) <= 100 * kMs);
        world.run(3 * kInterval);
        CHECK(world.h1.rate("a1", "a2") >= 1.98 * kPairGbit);
        CHECK(world.h1.rate("b1", "b2") >= 7 * kPairGbit);
        world.h1.to("a1", "a2").offers = 0;
    }
}

TEST_CASE("a closed loop between VMs that begins has its equal part of a full link within 100 ms",
          "[pairs]") {
    PairWorld world(GENERATE(0U, 170U, 430U, 990U));
    world.h1.to("b1", "b2").offers = kOffersAll;
    world.run(4 * kInterval);
    world.h1.to("a1", "a2").offers = kOffersAll;
    CHECK(world.until_allocated(4.8 * kPairGbit) <= 100 * kMs);
    world.run(3 * kInterval);
    CHECK(world.h1.rate("a1", "a2") == Approx(4.85 * kPairGbit).epsilon(0.02));
    CHECK(world.h1.rate("b1", "b2") == Approx(4.85 * kPairGbit).epsilon(0.02));
}

TEST_CASE("a pair of VMs that sends little and then much has its rate within 100 ms", "[pairs]") {
    PairWorld world(GENERATE(0U, 430U));
    world.h1.to("b1", "b2").offers = kOffersAll;
    world.h1.to("a1", "a2").offers = 0.01 * kPairGbit;
    for (Nanos phase = 0; phase < kInterval; phase += 130 * kMs) {
        world.run(12 * kInterval + phase);
        CHECK(world.h1.rate("a1", "a2") < 0.2 * kPairGbit);
        world.h1.to("a1", "a2").offers = 3 * kPairGbit;
        INFO("phase " << phase / kMs << " ms");
        CHECK(world.until_allocated(2.97 * kPairGbit) <= 100 * kMs);
        world.h1.to("a1", "a2").offers = 0.01 * kPairGbit;
        world.run(20 * kInterval);
    }
}

TEST_CASE("a pair whose demand swings makes ten early solves at once, and then two a second", "[pairs]") {
    PairWorld world(0);
    world.h1.to("b1", "b2").offers = kOffersAll;
    world.run(4 * kInterval);
    const std::uint64_t before = world.controller.counters().early_solves;
    constexpr unsigned kSeconds = 20;
    for (unsigned i = 0; i < kSeconds * 10; ++i) {
        world.h1.to("a1", "a2").offers = i % 2 == 0 ? 4 * kPairGbit : 0;
        world.run(100 * kMs);
    }
    const std::uint64_t solves = world.controller.counters().early_solves - before;
    CHECK(solves >= 2);
    CHECK(solves <= 10 + 2 * kSeconds);
    CHECK(world.h1.session.counters().demands <= 11 * (kSeconds + 5));
}
