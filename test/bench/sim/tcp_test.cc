// tcp_test.cc - TCP by itself: fills links, repairs losses, waits for its timer only when it must.
#include "bench/sim/tcp_source.h"
#include "test/bench/sim/sim_support.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;
using nlohmann::json;

namespace {

/// One receiver (host 0) and bulk senders, with isolation off.
Scenario bulk(const char* network, const char* source) {
    return valid(
        std::string(R"({"duration": "50ms", "warmup": "10ms", "isolation": "off", "network": )") + network +
        R"(, "tenants": [{"name": "t"}], "sources": [{"name": "bulk", "kind": "tcp", "tenant": "t", "to": "0", )" +
        source + "}]}");
}

double mean_gbit(const Run& run, std::size_t from) {
    const auto& rate = run.simulation.recorder().received(0);
    double sum = 0;
    for (std::size_t i = from; i < rate.size(); ++i)
        sum += static_cast<double>(rate[i]);
    return sum / static_cast<double>(rate.size() - from) / 1e9;
}

}  // namespace

TEST_CASE("one TCP connection fills a 10 Gbit/s link") {
    Run run(bulk(R"({"hosts": 2})", R"("from": "1")"));
    const json result = run.finish();
    CHECK(mean_gbit(run, 10) > 9.9);
    CHECK(result["summary"]["sources"]["bulk"]["timeouts"] == 0);
    CHECK(result["summary"]["sources"]["bulk"]["retransmits"] == 0);
}

TEST_CASE("the first 10 segments of a connection leave at once, then 20 a round trip later") {
    Scenario scenario = bulk(R"({"hosts": 2, "delay": "100us"})", R"("from": "1")");
    scenario.duration = 900'000;  // two round trips of 400 us
    scenario.sample = 100'000;
    Run run(scenario);
    const json result = run.finish();
    CHECK(result["summary"]["sources"]["bulk"]["segments"] >= 10 + 20 + 40);
    CHECK(result["summary"]["sources"]["bulk"]["segments"].get<int>() <=
          10 + 20 + 40 + 35);  // and acknowledgements
}

TEST_CASE("eight connections into one link lose segments, repair them without timeouts, and fill it") {
    Run run(bulk(R"({"hosts": 9, "port_buffer": "300kB", "shared_buffer": "0B"})", R"("from": "1-8")"));
    const json source = run.finish()["summary"]["sources"]["bulk"];
    CHECK(mean_gbit(run, 10) > 9.5);
    CHECK(source["retransmits"] > 0);
    CHECK(source["timeouts"].get<int>() <= 8);  // of the slow starts that overran together
}

TEST_CASE("DCTCP keeps the queue near the threshold and loses nothing") {
    Run run(
        bulk(R"({"hosts": 3, "ecn_threshold": "100kB"})", R"("from": "1-2", "congestion_control": "dctcp")"));
    const json result = run.finish();
    CHECK(mean_gbit(run, 10) > 9.5);
    CHECK(result["summary"]["sources"]["bulk"]["retransmits"] == 0);
    CHECK(result["summary"]["queues"]["edge_bytes"]["max"] < 250'000);
    CHECK(result["summary"]["queues"]["edge_bytes"]["max"] > 50'000);
}

TEST_CASE("a transfer of a known size takes its time at the link's rate") {
    // 10 MB are 6,907 segments of 1538 wire bytes: 8.5 ms, and the round trips of slow start.
    Run run(bulk(R"({"hosts": 2})", R"("from": "1", "bytes": "10MB")"));
    const json completion = run.finish()["summary"]["sources"]["bulk"]["completion_ns"];
    CHECK(completion["count"] == 1);
    CHECK(completion["max"] > 8'490'000);
    CHECK(completion["max"] < 8'600'000);
}

TEST_CASE("per-packet routes reorder, which a higher threshold of duplicates forgives") {
    // All pairs of four senders and four receivers fill four spines; 16 windows of 64 segments fit the
    // buffers.
    const auto retransmits = [](std::uint32_t threshold) {
        Scenario scenario = valid(R"({"duration": "20ms", "isolation": "off", "tenants": [{"name": "t"}],
            "network": {"hosts": 8, "leaves": 2, "spines": 4, "ecmp": "packet", "port_buffer": "1MB"},
            "sources": [{"name": "bulk", "kind": "tcp", "tenant": "t", "from": "4-7", "to": "0-3", "window": 64}]})");
        scenario.sources[0].tcp.duplicate_threshold = threshold;
        return Run(scenario).finish()["summary"]["sources"]["bulk"]["retransmits"].get<std::uint64_t>();
    };
    CHECK(retransmits(3) > 100);
    CHECK(retransmits(64) == 0);
}

TEST_CASE("a request is answered after the service time, and the next one follows") {
    // There and back: four links of 84 + 7 bytes... 73 ns and 1 us each, the service, twice the guests'
    // stacks.
    Run run(
        R"({"duration": "10ms", "isolation": "off", "network": {"hosts": 2}, "hosts": {"stack_delay": "20us"},
        "tenants": [{"name": "t"}],
        "sources": [{"name": "ask", "kind": "requests", "tenant": "t", "from": "1", "to": "0", "service": "10us"}]})");
    const json latency = run.finish()["summary"]["sources"]["ask"]["latency_ns"];
    CHECK(latency["p50"].get<double>() == Approx(50'000 + 4 * 1'073).margin(10));
    CHECK(latency["max"] == latency["p50"]);
    CHECK(latency["count"].get<double>() == Approx(10e6 / 54'292).margin(1));
}

TEST_CASE("Poisson flows offer the load of the scenario") {
    Run run(R"({"duration": "200ms", "isolation": "off", "network": {"hosts": 4, "port_buffer": "1MB"},
        "tenants": [{"name": "t"}],
        "sources": [{"name": "web", "kind": "poisson", "tenant": "t", "from": "all", "to": "all", "load": "50%",
                     "sizes": "sizes/web-search.txt"}]})");
    const json web = run.finish()["summary"]["sources"]["web"];
    // 4 hosts at 5 Gbit/s for 0.2 s are 500 MB in about 292 flows: give or take 10 %.
    CHECK(web["offered_bytes"].get<double>() == Approx(500e6).epsilon(0.25));
    CHECK(web["flows"].get<int>() > 240);
    CHECK(web["finished"].get<int>() > 200);
}

TEST_CASE("the tables that are shipped have the means of their sources") {
    const auto mean = [](const char* file) {
        return mean_size(
            valid(std::string(R"({"tenants": [{"name": "t"}], "sources": [{"name": "s", "kind": "poisson",
            "tenant": "t", "from": "0", "to": "1", "load": "50%", "sizes": "sizes/)") +
                  file + "\"}]}")
                .sources[0]
                .sizes);
    };
    CHECK(mean("web-search.txt") == Approx(1'711'250).epsilon(0.001));
    CHECK(mean("data-mining.txt") == Approx(12'658'199).epsilon(0.001));
    CHECK(mean("eyeq-fabric.txt") == Approx(2'400'000).epsilon(0.01));
}
