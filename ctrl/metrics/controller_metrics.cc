// controller_metrics.cc - families of the cluster and the loop.
#include "ctrl/metrics/controller_metrics.h"

#include <array>

#include "common/metrics/family_table.h"

namespace weir {
namespace {

using metrics::Samples;
using metrics::Type;
using Whole = metrics::FamilyOf<ControllerReading>;

/// A number of the loop's report, such as "/loop/lag_ns/p99"; 0 where it is not there.
std::uint64_t of_loop(const ControllerReading& reading, const char* place) {
    const nlohmann::json::json_pointer pointer(place);
    return reading.loop.contains(pointer) && reading.loop[pointer].is_number_integer()
               ? reading.loop[pointer].get<std::uint64_t>()
               : 0;
}

constexpr std::array kHostStates{"absent", "welcomed", "connected", "silent"};

template <typename Subject>
std::uint64_t sum_of(const std::vector<Subject>& subjects, std::uint64_t Subject::*part) {
    std::uint64_t sum = 0;
    for (const Subject& subject : subjects)
        sum += subject.*part;
    return sum;
}

constexpr std::array kCluster{
    Whole{{"weir_ctrl", Type::kInfo, "", "The program and its cluster"},
          [](const ControllerReading& reading, const Samples& out) {
              out(metrics::Labels().add("version", WEIR_VERSION).add("cluster", reading.cluster).text(), 1);
          }},
    Whole{{"weir_ctrl_epoch", Type::kGauge, "", "Number of this start of the controller"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.epoch); }},
    Whole{{"weir_ctrl_revision", Type::kGauge, "", "Revision of the specification in force"},
          [](const ControllerReading& reading, const Samples& out) {
              out(static_cast<std::uint64_t>(reading.revision));
          }},
    Whole{{"weir_ctrl_interval_seconds", Type::kGauge, "seconds", "Configured time between two allocations"},
          [](const ControllerReading& reading, const Samples& out) { out.seconds(reading.interval_length); }},
    Whole{{"weir_ctrl_intervals", Type::kCounter, "",
           "Allocations of this epoch, those between intervals not counted"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.interval); }},
    Whole{
        {"weir_ctrl_intervals_missed", Type::kCounter, "",
         "Intervals that were left out because the loop was late by a whole one"},
        [](const ControllerReading& reading, const Samples& out) { out(of_loop(reading, "/loop/missed")); }},
    Whole{{"weir_ctrl_loop_lag_seconds", Type::kSummary, "seconds",
           "How late intervals began after they were due, since the start"},
          [](const ControllerReading& reading, const Samples& out) {
              out.seconds(R"(quantile="0.99")", of_loop(reading, "/loop/lag_ns/p99"));
              out.seconds(R"(quantile="1")", of_loop(reading, "/loop/lag_ns/max"));
          }},
    Whole{{"weir_ctrl_loop_last_lag_seconds", Type::kGauge, "seconds", "How late the last interval began"},
          [](const ControllerReading& reading, const Samples& out) {
              out.seconds(of_loop(reading, "/loop/lag_ns/last"));
          }},
    Whole{{"weir_ctrl_tick_seconds", Type::kGauge, "seconds",
           "Time that the work at the last interval's end took: allocating, and the messages with the rates"},
          [](const ControllerReading& reading, const Samples& out) {
              out.seconds(of_loop(reading, "/loop/solve_ns/last"));
          }},
    Whole{{"weir_ctrl_tick_max_seconds", Type::kGauge, "seconds", "The longest such time since the start"},
          [](const ControllerReading& reading, const Samples& out) {
              out.seconds(of_loop(reading, "/loop/solve_ns/max"));
          }},
    Whole{{"weir_ctrl_early_solves", Type::kCounter, "",
           "Allocations between two intervals, after a large change"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.counters.early_solves); }},
    Whole{{"weir_ctrl_early_solve_seconds", Type::kCounter, "seconds", "Time that these took"},
          [](const ControllerReading& reading, const Samples& out) {
              out.seconds(of_loop(reading, "/loop/early_solve_ns/sum"));
          }},
    Whole{{"weir_ctrl_reading_seconds", Type::kGauge, "seconds",
           "Time of the loop that the reading of this page took, after an interval's work"},
          [](const ControllerReading& reading, const Samples& out) { out.seconds(reading.took); }},
    Whole{{"weir_ctrl_tenants", Type::kGauge, "", "Tenants of the specification"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.tenants.size()); }},
    Whole{{"weir_ctrl_vnics", Type::kGauge, "", "vNICs of the specification"},
          [](const ControllerReading& reading, const Samples& out) {
              out(sum_of(reading.tenants, &TenantReading::vnics));
          }},
    Whole{{"weir_ctrl_vnics_placed", Type::kGauge, "", "vNICs that have a place on a host now"},
          [](const ControllerReading& reading, const Samples& out) {
              out(sum_of(reading.hosts, &HostReading::vnics));
          }},
    Whole{{"weir_ctrl_vnics_refused", Type::kGauge, "", "vNICs of switches that are refused now"},
          [](const ControllerReading& reading, const Samples& out) {
              out(sum_of(reading.hosts, &HostReading::refused));
          }},
    Whole{{"weir_ctrl_promises_broken", Type::kGauge, "",
           "vNICs whose reservation is not kept now: its host's link carries less than is reserved there, or "
           "its switch has it and it is refused"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(reason="cut")", sum_of(reading.hosts, &HostReading::cut_vnics));
              out(R"(reason="refused")", sum_of(reading.hosts, &HostReading::unkept));
          }},
    Whole{{"weir_ctrl_flows", Type::kGauge, "", "Flows with a demand"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.flows); }},
    Whole{{"weir_ctrl_hosts", Type::kGauge, "", "Hosts of the specification by the state of their switches"},
          [](const ControllerReading& reading, const Samples& out) {
              for (const char* state : kHostStates) {
                  std::uint64_t count = 0;
                  for (const HostReading& host : reading.hosts)
                      count += host.state == std::string_view(state) ? 1 : 0;
                  out(metrics::label("state", state).text(), count);
              }
          }},
};

}  // namespace

void write_controller_metrics(const ControllerReading& reading, metrics::Exposition& page) {
    write_families(page, kCluster, reading);
    write_controller_counters(reading, page);
    write_controller_subjects(reading, page);
}

}  // namespace weir
