// controller_metrics_counters.cc - families of messages, connections, the store and the bill.
#include <array>

#include "common/metrics/family_table.h"
#include "ctrl/metrics/controller_metrics.h"

namespace weir {
namespace {

using metrics::Samples;
using metrics::Type;
using Whole = metrics::FamilyOf<ControllerReading>;

void write_refused_messages(const ControllerCounters& counters, const Samples& out) {
    for (std::size_t i = 1; i < wire::kMalformedReasons; ++i) {
        const std::string reason =
            std::string("malformed: ") + wire::name_of(static_cast<wire::Malformed>(i));
        out(metrics::label("reason", reason).text(), counters.malformed[i]);
    }
    out(R"(reason="bad_json")", counters.bad_json);
    out(R"(reason="wrong_type")", counters.wrong_type);
    out(R"(reason="stale")", counters.stale);
    out(R"(reason="foreign")", counters.foreign);
    out(R"(reason="refused_host")", counters.refused_hosts);
}

/// Refusals by budget: an object of reasons.
void write_budgets(const ControllerReading& reading, const Samples& out) {
    const nlohmann::json::json_pointer place("/budgets/refused");
    if (!reading.loop.contains(place))
        return;
    for (const auto& [reason, times] : reading.loop[place].items())
        if (times.is_number_integer())
            out(metrics::label("reason", reason).text(), times.get<std::uint64_t>());
}

/// Time since a failure began; 0: the last write succeeded.
void write_failing(const ControllerReading& reading, const Samples& out, std::int64_t since) {
    out(since == 0 ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(reading.unix_time - since, 1)));
}

constexpr std::array kMessages{
    Whole{{"weir_ctrl_messages", Type::kCounter, "", "Messages of switches"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.counters.messages); }},
    Whole{{"weir_ctrl_records", Type::kCounter, "",
           "Records of demands that counted, and of rates that were sent"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(direction="in")", reading.counters.records);
              out(R"(direction="out")", reading.counters.records_out);
          }},
    Whole{{"weir_ctrl_message_bytes", Type::kCounter, "bytes", "Bytes of messages"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(direction="in")", reading.counters.bytes_in);
              out(R"(direction="out")", reading.counters.bytes_out);
          }},
    Whole{{"weir_ctrl_tables", Type::kCounter, "", "Messages of TABLES that were sent"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.counters.tables); }},
    Whole{{"weir_ctrl_asked_addresses", Type::kCounter, "",
           "Addresses that switches asked for: known, unknown, and too many in one interval"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(answer="known")", reading.counters.asked - reading.counters.asked_unknown);
              out(R"(answer="unknown")", reading.counters.asked_unknown);
              out(R"(answer="late")", reading.counters.asked_late);
          }},
    Whole{{"weir_ctrl_refused_messages", Type::kCounter, "", "Messages that changed nothing, by reason"},
          [](const ControllerReading& reading, const Samples& out) {
              write_refused_messages(reading.counters, out);
          }},
    Whole{{"weir_ctrl_refused_records", Type::kCounter, "",
           "Records that did not count: with impossible values, of flows that the host may not have, or of "
           "pairs beyond 8,192"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(reason="impossible")", reading.counters.refused_records);
              out(R"(reason="foreign")", reading.counters.foreign_flows);
              out(R"(reason="surplus")", reading.counters.surplus_flows);
          }},
    Whole{{"weir_ctrl_over_budget_messages", Type::kCounter, "", "Messages over a peer's budget, by reason"},
          write_budgets},
    Whole{{"weir_ctrl_connections", Type::kCounter, "",
           "Connections: of switches with a host's key, without a known one, beyond those that a key may "
           "have, with messages that did not end; on this machine ended by a bound"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(outcome="admitted")", reading.connections.admitted);
              out(R"(outcome="denied")", reading.connections.denied);
              out(R"(outcome="surplus")", reading.connections.surplus);
              out(R"(outcome="unfinished")", reading.connections.unfinished);
              out(R"(outcome="ended")", reading.connections.ended);
          }},
    Whole{{"weir_ctrl_lost_messages", Type::kCounter, "",
           "Messages that were lost: the switch had gone, its queue was full, or the socket failed"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(reason="unreachable")", reading.connections.unreachable);
              out(R"(reason="full")", reading.connections.full);
              out(R"(reason="fault")", reading.connections.faults);
              out(R"(reason="odd_frames")", reading.connections.odd_frames);
          }},
};

constexpr std::array kStore{
    Whole{{"weir_ctrl_store_failing_seconds", Type::kGauge, "seconds",
           "Time since the store could last be written; 0: the last write succeeded"},
          [](const ControllerReading& reading, const Samples& out) {
              write_failing(reading, out, reading.store.failing_since);
          }},
    Whole{{"weir_ctrl_store_refused_writes", Type::kCounter, "", "Writes of the store that failed"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.store.refused); }},
    Whole{{"weir_ctrl_audit_waiting", Type::kGauge, "", "Entries of the audit trail that wait in memory"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.audit_waiting); }},
    Whole{{"weir_ctrl_audit_lost", Type::kCounter, "",
           "Entries of the audit trail without a place in memory, or beyond 200 in an interval"},
          [](const ControllerReading& reading, const Samples& out) {
              out(R"(reason="full")", reading.store.audit_lost);
              out(R"(reason="omitted")", reading.store.audit_omitted);
          }},
    Whole{{"weir_ctrl_bill_failing_seconds", Type::kGauge, "seconds",
           "Time since the bill could last be written; 0: the last write succeeded"},
          [](const ControllerReading& reading, const Samples& out) {
              write_failing(reading, out, reading.bill.failing_since);
          }},
    Whole{{"weir_ctrl_bill_refused_writes", Type::kCounter, "", "Writes of the bill that failed"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.bill.refused); }},
    Whole{{"weir_ctrl_bill_waiting", Type::kGauge, "", "Billing periods that wait to be written"},
          [](const ControllerReading& reading, const Samples& out) { out(reading.bill.waiting); }},
    Whole{{"weir_ctrl_bill_periods", Type::kCounter, "",
           "Billing periods: stored, on the bill already, early, and those refused, by reason"},
          [](const ControllerReading& reading, const Samples& out) {
              const UsageCounters& periods = reading.periods;
              out(R"(outcome="stored")", periods.stored);
              out(R"(outcome="repeated")", periods.repeated);
              out(R"(outcome="early")", periods.early);
              out(R"(outcome="refused_future")", periods.future);
              out(R"(outcome="refused_foreign")", periods.foreign);
              out(R"(outcome="refused_impossible")", periods.impossible);
          }},
};

}  // namespace

void write_controller_counters(const ControllerReading& reading, metrics::Exposition& page) {
    write_families(page, kMessages, reading);
    write_families(page, kStore, reading);
}

}  // namespace weir
