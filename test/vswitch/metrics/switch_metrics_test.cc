// switch_metrics_test.cc - the switch's report as metrics: values in base units, and labels.
#include "vswitch/metrics/switch_metrics.h"

#include "test/support/catch.h"
#include "test/support/open_metrics.h"
#include "test/support/text.h"
#include "test/vswitch/agent/fake_control.h"

using namespace weir;
using weir::test::OpenMetricsPage;
using weir::testing::FakeControl;

namespace {

std::string text_of(const SwitchReport& report, metrics::Format format = metrics::Format::kOpenMetrics) {
    metrics::Exposition page(format);
    write_switch_metrics(report, page);
    return page.finish();
}

/// A switch with all parts that a report may have.
struct FullSwitch {
    FakeControl control;
    SwitchReport report;

    FullSwitch() {
        control.state.feedback.enabled = true;
        control.state.feedback.key_file = "/k";
        control.state.appliances.emplace_back().name = "disk";
        control.state.tunnels.emplace_back().name = "t1";
        control.state.vnics[0].tenant = "A \"1\"";
        control.state.vnics[0].reservation_bps = 80'000'000;
        control.state.vnics[0].limit_bps = 160'000'000;
        control.state.vnics[0].appliances.emplace_back().name = "disk";
        control.requests.used = {80, 1, 2, 3};
        control.requests.limit = {1'000, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        control.requests.blocked_ns = {1'500'000'000, 0, 0, 0, 250'000'000};
        control.requests.latency_p99 = 2'000'000;
        control.workers.emplace_back();
        control.workers[0].core = 3;
        control.workers[0].snapshot.uplink.tx.delivered.add(5, 500);
        control.workers[0].snapshot.uplink.rx.add_missed(7);
        control.workers[0].snapshot.uplink_capacity = 125'000'000;
        control.workers[0].snapshot.feedback.forged = 4;
        ControllerReport link;
        link.state = "silent";
        link.promises = {.confirmed = 1, .age = 12, .of_file = true, .in_force = true};
        control.controller = link;
        report = control.report();
        report.uptime_ns = 2'500'000'000;
        report.uplink.emplace();
        report.uplink->up = true;
        report.tunnels.emplace_back().name = "t1";
        report.vnics[0].guarantee.rate_bps = 80'000'000;
        report.vnics[0].queue_delay_p99 = 40'000;
        report.vnics[0].config.guarantee = GuaranteeKind::kDynamic;
        report.vnics[0].guarantee.left_bytes = 4'000;
        report.vnics[0].guarantee.time_left = 1'500'000'000;
        report.vnics[0].stats.uplink_bytes = report.vnics[0].stats.from_vm.delivered.bytes / 2;
        report.vnics[0].stats.cluster_bytes = 300;
        report.vnics[0].stats.limit_left = -1'500;
        report.vnics[1].refusal.why = "its host is h2";
        report.tenant_traffic = {{"A", "B", 700}, {kOtherTenants, "A", 60}};
    }
};

}  // namespace

TEST_CASE("a report becomes a page that the strict reader takes, in seconds and bytes") {
    const FullSwitch full;
    const OpenMetricsPage page(text_of(full.report));
    const std::string vm1 = R"({vnic="vm1",tenant="A \"1\"")";
    CHECK(page.at("weir_switch_uptime_seconds") == 2.5);
    CHECK(page.at("weir_vnic_offered_bytes_total" + vm1 + R"(,direction="from_vm"})") == 1'200);
    CHECK(page.at("weir_vnic_queued_packets" + vm1 + R"(,direction="from_vm"})") == 1);
    CHECK(page.at("weir_vnic_drops_total" + vm1 + R"(,direction="from_vm",reason="mac_spoof"})") == 2);
    CHECK_FALSE(page.has("weir_vnic_drops_total" + vm1 + R"(,direction="from_vm",reason="runt"})"));
    CHECK(page.at("weir_vnic_held_back_seconds_total" + vm1 + R"(,reason="uplink"})") == 6e-9);
    CHECK(page.at("weir_vnic_queue_delay_seconds" + vm1 + R"(,quantile="0.99"})") == 40e-6);
    CHECK(page.at("weir_vnic_guaranteed_bytes_per_second" + vm1 + "}") == 10'000'000);
    CHECK(page.at("weir_vnic_guarantee_left_bytes" + vm1 + "}") == 4'000);
    CHECK(page.at("weir_vnic_guarantee_left_seconds" + vm1 + "}") == 1.5);
    CHECK_FALSE(page.has(R"(weir_vnic_guarantee_left_bytes{vnic="vm2",tenant=""})"));
    const std::string sent = "weir_vnic_sent_bytes_total" + vm1;
    CHECK(page.at(sent + R"(,destination="host"})") == 450);
    CHECK(page.at(sent + R"(,destination="cluster"})") == 300);
    CHECK(page.at(sent + R"(,destination="outside"})") == 150);
    CHECK(page.at("weir_vnic_limit_left_bytes" + vm1 + "}") == -1'500);
    CHECK_FALSE(page.has(R"(weir_vnic_limit_left_bytes{vnic="vm2",tenant=""})"));
    CHECK(page.at(R"(weir_tenant_sent_bytes_total{tenant="A",to_tenant="B"})") == 700);
    CHECK(page.at(R"-(weir_tenant_sent_bytes_total{tenant="(others)",to_tenant="A"})-") == 60);
    CHECK(page.at("weir_vnic_limit_bytes_per_second" + vm1 + "}") == 20'000'000);
    CHECK_FALSE(page.has(R"(weir_vnic_limit_bytes_per_second{vnic="vm2",tenant=""})"));
    CHECK(page.at(R"(weir_vnic_refused{vnic="vm2",tenant=""})") == 1);
    CHECK(page.at(R"(weir_uplink_delivered_bytes_total{direction="to_wire"})") == 500);
    CHECK(page.at(R"(weir_uplink_drops_total{direction="from_wire",reason="nic_missed"})") == 7);
    CHECK(page.at("weir_uplink_capacity_bytes_per_second") == 125'000'000);
    CHECK(page.at(R"(weir_feedback_ignored_packets_total{reason="forged"})") == 4);
    CHECK(page.at(R"(weir_worker_vnics{worker="0",core="3"})") == 0);
    CHECK(page.at(R"(weir_tunnel_up{tunnel="t1"})") == 0);
    CHECK(page.at(R"(weir_switch_controller_state{state="silent"})") == 1);
    CHECK(page.at(R"(weir_switch_controller_state{state="connected"})") == 0);
    CHECK(page.at(R"(weir_switch_promises_in_force{from="file"})") == 1);
    CHECK(page.at("weir_switch_promise_age_seconds") == 12);
    const std::string requests = vm1 + R"(,appliance="disk")";
    CHECK(page.at("weir_requests_used_tokens_total" + requests + "}") == 80);
    CHECK(page.at("weir_requests_limit_tokens_per_second" + requests + "}") == 1'000);
    CHECK(page.at("weir_requests_blocked_seconds_total" + requests + R"(,bucket="appliance"})") == 1.5);
    CHECK(page.at("weir_requests_blocked_seconds_total" + requests + R"(,bucket="window"})") == 0.25);
    CHECK(page.at("weir_requests_latency_seconds" + requests + R"(,quantile="0.99"})") == 0.002);
}

TEST_CASE("a switch without uplink, controller and vNICs has the same families") {
    const FullSwitch full;
    FakeControl control;
    control.state.vnics.clear();
    const OpenMetricsPage bare(text_of(control.report()));
    CHECK(bare.families() == OpenMetricsPage(text_of(full.report)).families());
    CHECK(bare.samples().size() < 20);
}

TEST_CASE("a vNIC has a bounded number of samples, whatever it sends to") {
    FullSwitch full;
    const auto samples = [&] { return OpenMetricsPage(text_of(full.report)).samples().size(); };
    const std::size_t before = samples();
    full.report.vnics.push_back(full.report.vnics[1]);
    full.report.vnics.back().config.name = "vm3";
    full.report.vnics.back().stats.limiters = 50'000;
    CHECK(samples() - before <= 64);
}
