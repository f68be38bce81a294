// metrics_bench.cc - the text of a page of metrics: a switch with 1,000 vNICs, a controller with 2,000 hosts
// and 1,000 tenants. Source: docs/metrics.md. Units: ns; `samples` and `bytes` of the page. Threads: one.
#include <benchmark/benchmark.h>

#include "ctrl/metrics/controller_metrics.h"
#include "vswitch/metrics/switch_metrics.h"

namespace weir::bench {
namespace {

void count(benchmark::State& state, const std::string& text) {
    state.counters["bytes"] = static_cast<double>(text.size());
    const std::size_t at = text.find("\nweir_metrics_series ") + std::string("\nweir_metrics_series ").size();
    state.counters["samples"] = std::stod(text.substr(at));
}

/// vNICs with guarantees, traffic, and a few kinds of drops.
void switch_page(benchmark::State& state) {
    SwitchConfig config;
    SwitchReport report;
    report.config = &config;
    report.workers.resize(4);
    report.vnics.resize(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i < report.vnics.size(); ++i) {
        VnicReport& vnic = report.vnics[i];
        vnic.config.name = "instance-" + std::to_string(100'000 + i);
        vnic.config.tenant = "tenant-" + std::to_string(i % 50);
        vnic.config.mac = MacAddress{i};
        vnic.config.limit_bps = 1'000'000'000;
        vnic.stats.from_vm.offered.add(123'456'789 + i, 98'765'432'101 + i);
        vnic.stats.from_vm.delivered.add(123'456'000 + i, 98'765'000'000 + i);
        vnic.stats.to_vm = vnic.stats.from_vm;
        vnic.stats.from_vm.drop(DropReason::kMacSpoof, 5, 500);
        vnic.stats.to_vm.drop(DropReason::kVmRingFull, 7, 700);
        vnic.stats.held_ns = {1'234'567'891, 987'654'321, 0, 0, 12'345, 0};
        vnic.queue_delay_p99 = 41'234 + i;
    }
    std::string text;
    for (auto _ : state) {
        metrics::Exposition page(metrics::Format::kOpenMetrics);
        write_switch_metrics(report, page);
        text = page.finish();
        benchmark::DoNotOptimize(text);
    }
    count(state, text);
}
BENCHMARK(switch_page)->Arg(1'000)->Unit(benchmark::kMillisecond);

void controller_page(benchmark::State& state) {
    ControllerReading reading;
    reading.hosts.resize(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i < reading.hosts.size(); ++i)
        reading.hosts[i] = {.name = "host-" + std::to_string(i),
                            .state = "connected",
                            .link = {.planned = 1'212'500'000, .reserved = 600'000'000},
                            .vnics = 12,
                            .has_session = true,
                            .silence = 100'000'000 + i,
                            .flows = 100};
    reading.tenants.resize(reading.hosts.size() / 2);
    for (std::size_t i = 0; i < reading.tenants.size(); ++i)
        reading.tenants[i] = {.name = "tenant-" + std::to_string(i),
                              .vnics = 24,
                              .reserved = 1'200'000'000,
                              .used = 123'456'789.5 + static_cast<double>(i),
                              .allocated = 2'345'678'901};
    std::string text;
    for (auto _ : state) {
        metrics::Exposition page(metrics::Format::kOpenMetrics);
        write_controller_metrics(reading, page);
        text = page.finish();
        benchmark::DoNotOptimize(text);
    }
    count(state, text);
}
BENCHMARK(controller_page)->Arg(2'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
