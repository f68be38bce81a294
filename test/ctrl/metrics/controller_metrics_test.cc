// controller_metrics_test.cc - a real controller's reading as metrics: hosts, tenants, appliances, broken
// promises, the store, and the bound of its samples.
#include "ctrl/metrics/controller_metrics.h"

#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"
#include "test/support/open_metrics.h"

using namespace weir;
using namespace weir::test;

namespace {

const char* const kMeasured =
    R"({"name": "c1", "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]},
    "appliances": [{"name": "disk", "capacity_min": "5ktokens", "capacity_max": "10ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "a1", "reservation": "4Gbit"}, {"name": "a2", "reservation": "2Gbit"},
                                        {"name": "a3"}],
                 "appliances": [{"name": "disk", "reservation": "1ktokens"}]},
                {"name": "B", "vnics": [{"name": "b1"}]}]})";

struct MeasuredWorld : ControllerWorld {
    FakeSwitch h1{"h1", {"a1", "x9"}, "r1"};
    FakeSwitch h2{"h2", {"a2"}, "r2"};
    MeasuredWorld() : ControllerWorld(kMeasured) {
        switches = {&h1, &h2};
        now = 5 * kNanosPerSec;
        join(h1);
        join(h2);
        pass_interval({&h1, &h2});
    }
    [[nodiscard]] ControllerReading reading() const { return controller->read({.denied = 3}, now); }
    [[nodiscard]] OpenMetricsPage page() const { return page_of(reading()); }
    static OpenMetricsPage page_of(const ControllerReading& reading) {
        metrics::Exposition page(metrics::Format::kOpenMetrics);
        write_controller_metrics(reading, page);
        return OpenMetricsPage(page.finish());
    }
};

}  // namespace

TEST_CASE("metrics count the cluster's hosts by state, and vNICs that have a place or are refused") {
    MeasuredWorld world;
    const OpenMetricsPage page = world.page();
    CHECK(page.at(R"(weir_ctrl_hosts{state="connected"})") == 2);
    CHECK(page.at(R"(weir_ctrl_hosts{state="absent"})") == 1);
    CHECK(page.at("weir_ctrl_tenants") == 2);
    CHECK(page.at("weir_ctrl_vnics") == 4);
    CHECK(page.at("weir_ctrl_vnics_placed") == 2);
    CHECK(page.at("weir_ctrl_vnics_refused") == 1);
    CHECK(page.at(R"(weir_ctrl_host_refused_vnics{host="h1"})") == 1);
    CHECK(page.at(R"(weir_ctrl_host_connected{host="h2"})") == 1);
    CHECK_FALSE(page.has(R"(weir_ctrl_host_connected{host="h3"})"));
    CHECK(page.at(R"(weir_ctrl_host_planned_bytes_per_second{host="h1"})") == 1'212'500'000);
    CHECK(page.at(R"(weir_ctrl_host_reserved_bytes_per_second{host="h1"})") == 500'000'000);
    CHECK(page.at(R"(weir_ctrl_host_reserved_bytes_per_second{host="h3"})") == 0);
    CHECK(page.at(R"(weir_ctrl_host_kept_ratio{host="h1"})") == 1);
    CHECK(page.at(R"(weir_ctrl_promises_broken{reason="cut"})") == 0);
    CHECK(page.at(R"(weir_ctrl_promises_broken{reason="refused"})") == 0);
    CHECK(page.at(R"(weir_ctrl_appliance_capacity_min_tokens_per_second{appliance="disk"})") == 5'000);
    CHECK(page.at("weir_ctrl_intervals_total") == 1);
    CHECK(page.at(R"(weir_ctrl_connections_total{outcome="denied"})") == 3);
    CHECK(page.at("weir_ctrl_store_failing_seconds") == 0);
}

TEST_CASE("metrics show a host that falls silent, and for how long its guarantees are kept") {
    MeasuredWorld world;
    for (int i = 0; i < 4; ++i)
        world.pass_interval({&world.h1});
    const OpenMetricsPage page = world.page();
    CHECK(page.at(R"(weir_ctrl_hosts{state="silent"})") == 1);
    CHECK(page.at(R"(weir_ctrl_host_connected{host="h2"})") == 0);
    CHECK(page.at(R"(weir_ctrl_host_silence_seconds{host="h2"})") == to_seconds(4 * kInterval));
    CHECK(page.at(R"(weir_ctrl_host_kept_seconds{host="h2"})") > 50);
    CHECK(page.at(R"(weir_ctrl_host_kept_seconds{host="h1"})") == 0);
}

TEST_CASE("metrics have the loop's report in seconds, and how long the store has failed") {
    MeasuredWorld world;
    world.controller->set_loop_report([] {
        return nlohmann::json{{"loop",
                               {{"missed", 2},
                                {"lag_ns", {{"last", 1'000'000}, {"p99", 2'000'000}, {"max", 3'000'000}}},
                                {"solve_ns", {{"last", 500'000}, {"max", 700'000}}},
                                {"early_solve_ns", {{"sum", 1'500'000'000}}}}},
                              {"budgets", {{"refused", {{"bytes", 7}}}}}};
    });
    ControllerReading reading = world.reading();
    reading.store.failing_since = reading.unix_time - 40;
    const OpenMetricsPage page = MeasuredWorld::page_of(reading);
    CHECK(page.at("weir_ctrl_intervals_missed_total") == 2);
    CHECK(page.at("weir_ctrl_loop_last_lag_seconds") == 0.001);
    CHECK(page.at(R"(weir_ctrl_loop_lag_seconds{quantile="0.99"})") == 0.002);
    CHECK(page.at("weir_ctrl_tick_seconds") == 0.0005);
    CHECK(page.at("weir_ctrl_tick_max_seconds") == 0.0007);
    CHECK(page.at("weir_ctrl_early_solve_seconds_total") == 1.5);
    CHECK(page.at(R"(weir_ctrl_over_budget_messages_total{reason="bytes"})") == 7);
    CHECK(page.at("weir_ctrl_store_failing_seconds") == 40);
}

TEST_CASE("metrics count promises that a link cannot keep, and those of vNICs that are refused") {
    MeasuredWorld world;
    FakeSwitch small("h1", {"a1", "a2"}, "r3");  // a2 is on h2 already
    small.hello.uplink_bps = 1'000'000'000;
    small.session = 7;
    world.switches.push_back(&small);
    world.now += 10 * kInterval;  // h1's first switch has ended
    world.controller->tick(world.now, 1'000);
    world.give(world.h2, world.h2.send_demands());
    world.join(small);
    const OpenMetricsPage page = world.page();
    CHECK(page.at(R"(weir_ctrl_promises_broken{reason="cut"})") == 1);
    CHECK(page.at(R"(weir_ctrl_promises_broken{reason="refused"})") == 1);
    CHECK(page.at(R"(weir_ctrl_host_planned_bytes_per_second{host="h1"})") == 125'000'000);
    CHECK(page.at(R"(weir_ctrl_host_kept_ratio{host="h1"})") == 0.25);
}

TEST_CASE("metrics add up what a tenant's flows used in the last interval, and the rates that they have") {
    MeasuredWorld world;
    const double seconds = to_seconds(kInterval);
    world.h1.want("a1", "a2", {static_cast<float>(1e6 * seconds), 0, 0});
    world.h2.want("a2", "a1", {static_cast<float>(2e6 * seconds), 0, 0});
    world.pass_interval({&world.h1, &world.h2});
    const OpenMetricsPage page = world.page();
    CHECK(page.at("weir_ctrl_flows") == 2);
    CHECK(page.at(R"(weir_ctrl_tenant_reserved_bytes_per_second{tenant="A"})") == 750'000'000);
    CHECK(page.at(R"(weir_ctrl_tenant_used_bytes_per_second{tenant="A"})") == Approx(3e6));
    CHECK(page.at(R"(weir_ctrl_tenant_used_bytes_per_second{tenant="B"})") == 0);
    const double rates = static_cast<double>(world.h1.rate("a1", "a2", wire::Part::kThere) +
                                             world.h2.rate("a2", "a1", wire::Part::kThere));
    CHECK(page.at(R"(weir_ctrl_tenant_allocated_bytes_per_second{tenant="A"})") == Approx(rates));
    for (int i = 0; i < 4; ++i)
        world.pass_interval({&world.h1});
    CHECK(world.page().at(R"(weir_ctrl_tenant_used_bytes_per_second{tenant="A"})") == Approx(1e6));
}

TEST_CASE("a host, a tenant and an appliance have a bounded number of samples, whatever flows there are") {
    MeasuredWorld world;
    const ControllerReading reading = world.reading();
    const auto samples = [](const ControllerReading& of) {
        return MeasuredWorld::page_of(of).samples().size();
    };
    const std::size_t before = samples(reading);
    ControllerReading more = reading;
    more.flows = 1'000'000;
    more.hosts[0].flows = 1'000'000;
    CHECK(samples(more) == before);
    more.hosts.push_back(more.hosts[0]);
    more.hosts.back().name = "h4";
    CHECK(samples(more) - before == 11);
    more.tenants.push_back(more.tenants[0]);
    more.tenants.back().name = "C";
    CHECK(samples(more) - before == 11 + 4);
    more.appliances.push_back(more.appliances[0]);
    more.appliances.back().name = "cache";
    CHECK(samples(more) - before == 11 + 4 + 5);
}

TEST_CASE("the page of the largest cluster file is not full") {
    MeasuredWorld world;
    ControllerReading reading = world.reading();
    const auto fill = [](auto& list, std::size_t count) {
        list.resize(count, list[0]);
        for (std::size_t i = 0; i < count; ++i)
            list[i].name = "n" + std::to_string(i);
    };
    fill(reading.hosts, 10'000);
    fill(reading.tenants, 10'000);
    fill(reading.appliances, 1'000);
    metrics::Exposition page(metrics::Format::kOpenMetrics);
    write_controller_metrics(reading, page);
    CHECK(page.dropped() == 0);
}
