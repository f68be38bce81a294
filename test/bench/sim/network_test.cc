// network_test.cc - links, buffers, marks and routes, by worked numbers.
#include <algorithm>
#include <vector>

#include "test/bench/sim/sim_support.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;

namespace {

/// Where a link ends in these tests: remembers when packets came and gives them back.
struct Sink final : Node {
    Sink(Engine& clock, PacketPool& packets) : engine(clock), pool(packets) {}
    void receive(Packet& packet) override {
        arrived.push_back(engine.now());
        marked += packet.congestion_marked ? 1 : 0;
        order.push_back(packet.sequence);
        pool.give_back(packet);
    }
    Engine& engine;
    PacketPool& pool;
    std::vector<Nanos> arrived;
    std::vector<std::uint64_t> order;
    unsigned marked = 0;
};

struct Link {
    explicit Link(const Port::Setup& setup) : port(engine, pool, setup, sink) {}
    void send(std::uint32_t bytes, std::uint64_t sequence = 0, bool low_priority = false, bool ecn = false) {
        Packet& packet = pool.take();
        packet.bytes = bytes;
        packet.sequence = sequence;
        packet.low_priority = low_priority;
        packet.ecn_capable = ecn;
        port.send(packet);
    }
    Engine engine;
    PacketPool pool;
    Sink sink{engine, pool};
    Port port;
};

constexpr std::uint64_t k10Gbit = 1'250'000'000;  // bytes/s

}  // namespace

TEST_CASE("a 1500-byte frame takes 1219.2 ns on 10 Gbit/s and 1 us to propagate") {
    Link link({.rate = k10Gbit, .delay = 1'000});
    link.send(1524);
    link.engine.run_until(kNever);
    CHECK(link.sink.arrived == std::vector<Nanos>{2'220});
}

TEST_CASE("a thousand frames back to back keep the link's rate within 2 parts per million") {
    Link link({.rate = k10Gbit, .delay = 0});
    for (int i = 0; i < 1'000; ++i)
        link.send(1538);  // 1230.4 ns each
    link.engine.run_until(kNever);
    CHECK(link.sink.arrived.back() <= 1'230'400);
    CHECK(link.sink.arrived.back() >= 1'230'398);
}

TEST_CASE("a full buffer drops the newest, and what waits never exceeds it") {
    Link link({.rate = k10Gbit, .delay = 0, .buffer = 15'000});
    for (std::uint64_t i = 0; i < 20; ++i)
        link.send(1'500, i);
    CHECK(link.port.queue_bytes() == 15'000);
    CHECK(link.port.stats().dropped == 9);  // one is being sent, ten wait
    CHECK(link.port.packets() == 11);
    link.engine.run_until(kNever);
    CHECK(link.sink.order == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(link.pool.in_use() == 0);
}

TEST_CASE("a port takes shared memory only beyond its own, and gives it back") {
    SharedBuffer shared{.bytes = 6'000, .threshold = 1e3};
    Link link({.rate = k10Gbit, .delay = 0, .buffer = 3'000, .shared = &shared});
    for (int i = 0; i < 10; ++i)
        link.send(1'500);
    CHECK(link.port.queue_bytes() == 9'000);
    CHECK(shared.used == 6'000);
    CHECK(link.port.stats().dropped == 3);
    link.engine.run_until(2'401);  // the second has left the queue
    CHECK(shared.used == 3'000);
    link.engine.run_until(kNever);
    CHECK(shared.used == 0);
}

TEST_CASE("with a dynamic threshold of 1 a single hot port takes half of the shared memory") {
    SharedBuffer shared{.bytes = 60'000, .threshold = 1};
    Link link({.rate = k10Gbit, .delay = 0, .buffer = 3'000, .shared = &shared});
    for (int i = 0; i < 100; ++i)
        link.send(1'500);
    CHECK(shared.used == 30'000);
    CHECK(link.port.queue_bytes() == 33'000);
}

TEST_CASE("packets are marked when they find more than the threshold") {
    Link link({.rate = k10Gbit, .delay = 0, .ecn_threshold = 3'000});
    for (int i = 0; i < 6; ++i)
        link.send(1'500, 0, false, true);
    link.send(1'500);  // not capable
    link.engine.run_until(kNever);
    CHECK(link.sink.marked == 2);  // one is being sent; the next five find 0, 1500 .. 6000 bytes waiting
}

TEST_CASE("best effort leaves when nothing else waits") {
    Link link({.rate = k10Gbit, .delay = 0});
    link.send(1'500, 1, true);  // begins at once
    link.send(1'500, 2, true);
    link.send(1'500, 3, false);
    link.send(1'500, 4, false);
    link.engine.run_until(kNever);
    CHECK(link.sink.order == std::vector<std::uint64_t>{1, 3, 4, 2});
}

TEST_CASE("sent is delivered, dropped or in flight, at every moment") {
    for (const char* isolation : {"off", "weir", "eyeq-linear", "rate-limits"}) {
        Scenario scenario = valid(R"({"duration": "5ms", "network": {"hosts": 5, "shared_buffer": "100kB"},
            "hosts": {"stack_delay": "10us"}, "tenants": [{"name": "t", "reservation": "8Gbit"}],
            "sources": [{"name": "flood", "kind": "udp", "tenant": "t", "from": "1-4", "to": "0"},
                        {"name": "bulk", "kind": "tcp", "tenant": "t", "from": "1", "to": "0"}]})");
        REQUIRE(find_isolation(isolation, scenario.isolation));
        Run run(scenario);
        for (Nanos now = 0; now < scenario.duration; now += 97'000) {
            run.simulation.run_until(now);
            const PacketCounts counts = run.simulation.packets();
            INFO(isolation << " at " << now);
            REQUIRE(counts.sent + counts.feedback == counts.delivered + counts.feedback_received +
                                                         counts.dropped_in_hosts + counts.dropped_at_edge +
                                                         counts.dropped_in_core + counts.in_flight);
            REQUIRE(counts.in_flight == run.simulation.world().pool.in_use());
        }
        CHECK(run.simulation.packets().delivered > 3'000);
    }
}

TEST_CASE("ECMP spreads flows over the spines, and packets evenly") {
    for (const char* ecmp : {"flow", "packet"}) {
        Scenario scenario = valid(R"({"duration": "2ms", "isolation": "off",
            "network": {"hosts": 16, "leaves": 2, "spines": 4, "uplink_rate": "40Gbit"}, "tenants": [{"name": "t"}],
            "sources": [{"name": "cross", "kind": "udp", "tenant": "t", "from": "0-7", "to": "8-15",
                         "rate": "1Gbit"}]})");
        scenario.network.ecmp = std::string_view(ecmp) == "flow" ? Ecmp::kFlow : Ecmp::kPacket;
        Run run(scenario);
        run.simulation.run();
        std::vector<std::uint64_t> up;  // of leaf 0, by spine
        for (std::size_t spine = 0; spine < 4; ++spine)
            up.push_back(run.simulation.fabric().core_ports()[spine * 4]->stats().sent);
        const auto [least, most] = std::minmax_element(up.begin(), up.end());
        INFO(ecmp << ": " << *least << " to " << *most);
        CHECK(*least > 0);
        // 64 flows over 4 spines are 16 each, give or take 3.5; 10,400 packets are 2,600, give or take 44.
        CHECK(static_cast<double>(*most) <
              static_cast<double>(*least) * (scenario.network.ecmp == Ecmp::kFlow ? 3.5 : 1.1));
    }
}

TEST_CASE("the packets of a flow arrive in order with per-flow ECMP") {
    Run run(R"({"duration": "20ms", "isolation": "off",
        "network": {"hosts": 8, "leaves": 2, "spines": 4, "port_buffer": "1MB"}, "tenants": [{"name": "t"}],
        "sources": [{"name": "bulk", "kind": "tcp", "tenant": "t", "from": "0", "to": "7"}]})");
    const auto result = run.finish();
    CHECK(result["summary"]["sources"]["bulk"]["retransmits"] == 0);
}
