// switch_metrics_vnics.cc - families of the vNICs.
#include <algorithm>
#include <array>

#include "common/config/field_kinds.h"
#include "vswitch/metrics/sample_kinds.h"
#include "vswitch/metrics/switch_metrics.h"

namespace weir {
namespace {

using metrics::Samples;
using metrics::Type;
using Vnic = metrics::FamilyOf<VnicReport>;

/// A family with a sample for each direction.
template <auto Of>
void both(const VnicReport& vnic, const Samples& out) {
    out(kOfVnic.out, Of(vnic.stats.from_vm));
    out(kOfVnic.in, Of(vnic.stats.to_vm));
}

constexpr std::array kTraffic{
    Vnic{{"weir_vnic_offered_packets", Type::kCounter, "packets", "Frames that came from the VM, or for it"},
         both<[](const DirectionStats& stats) { return stats.offered.packets; }>},
    Vnic{{"weir_vnic_offered_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
         both<[](const DirectionStats& stats) { return stats.offered.bytes; }>},
    Vnic{{"weir_vnic_admitted_packets", Type::kCounter, "packets",
          "Frames of the VM that passed its own limit"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.admitted.packets); }},
    Vnic{{"weir_vnic_admitted_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.admitted.bytes); }},
    Vnic{{"weir_vnic_delivered_packets", Type::kCounter, "packets",
          "Frames that the uplink, another vNIC or the VM took"},
         both<[](const DirectionStats& stats) { return stats.delivered.packets; }>},
    Vnic{{"weir_vnic_delivered_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
         both<[](const DirectionStats& stats) { return stats.delivered.bytes; }>},
    Vnic{{"weir_vnic_queued_packets", Type::kGauge, "packets", "Frames that wait in the switch now"},
         both<[](const DirectionStats& stats) { return stats.queued.packets; }>},
    Vnic{{"weir_vnic_queued_bytes", Type::kGauge, "bytes", "Bytes of these frames"},
         both<[](const DirectionStats& stats) { return stats.queued.bytes; }>},
    Vnic{{"weir_vnic_dropped_packets", Type::kCounter, "packets", "Frames that were dropped, for any reason"},
         both<[](const DirectionStats& stats) { return stats.dropped.packets; }>},
    Vnic{{"weir_vnic_dropped_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
         both<[](const DirectionStats& stats) { return stats.dropped.bytes; }>},
    Vnic{{"weir_vnic_drops", Type::kCounter, "", "Dropped frames by reason; only reasons that occurred"},
         [](const VnicReport& vnic, const Samples& out) {
             write_drops(out, kOfVnic.out, vnic.stats.from_vm);
             write_drops(out, kOfVnic.in, vnic.stats.to_vm);
         }},
    Vnic{{"weir_vnic_uplink_bytes", Type::kCounter, "bytes",
          "Bytes of delivered frames that went to the uplink"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.uplink_bytes); }},
    Vnic{{"weir_vnic_sent_bytes", Type::kCounter, "bytes",
          "Bytes of delivered frames of the VM, by where they went"},
         [](const VnicReport& vnic, const Samples& out) {
             const std::uint64_t all = vnic.stats.from_vm.delivered.bytes;
             const std::uint64_t wire = std::min(vnic.stats.uplink_bytes, all);
             const std::uint64_t cluster = std::min(vnic.stats.cluster_bytes, wire);
             out(R"(destination="host")", all - wire);
             out(R"(destination="cluster")", cluster);
             out(R"(destination="outside")", wire - cluster);
         }},
    Vnic{{"weir_vnic_straight_packets", Type::kCounter, "packets",
          "Frames to the VM that were copied once, out of their senders' memory"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.straight); }},
    Vnic{{"weir_vnic_held_back_seconds", Type::kCounter, "seconds",
          "Time that the VM's ring was not polled, by reason"},
         [](const VnicReport& vnic, const Samples& out) {
             for (std::size_t i = 0; i < kHoldReasons; ++i)
                 out.seconds(metrics::label("reason", kHoldReasonNames[i]).text(), vnic.stats.held_ns[i]);
         }},
    Vnic{{"weir_vnic_queue_delay_seconds", Type::kSummary, "seconds",
          "Wait of admitted frames in the switch, since the vNIC came"},
         [](const VnicReport& vnic, const Samples& out) {
             write_quantiles(out, vnic.queue_delay_p50, vnic.queue_delay_p99, vnic.queue_delay_max);
         }},
    Vnic{{"weir_vnic_bursts", Type::kCounter, "", "Polls of the VM's ring that gave frames"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.bursts); }},
    Vnic{{"weir_vnic_cycles", Type::kCounter, "cycles", "TSC cycles of the worker for this VM"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.cycles); }},
    Vnic{{"weir_vnic_flood_copies", Type::kCounter, "",
          "Copies of its broadcast, multicast and unknown frames"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.flood_copies); }},
    Vnic{{"weir_vnic_ecn_marked_packets", Type::kCounter, "packets", "Frames of the VM that were marked CE"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.ecn_marked); }},
    Vnic{{"weir_vnic_encryption_tokens", Type::kCounter, "tokens", "Tokens charged for encryption"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.encryption_tokens); }},
    Vnic{{"weir_vnic_ring_errors", Type::kCounter, "",
          "Chains of descriptors that break a rule, and stopped rings"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.ring_errors); }},
    Vnic{{"weir_vnic_link_losses", Type::kCounter, "", "Times that its device lost the link"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.link.losses); }},
    Vnic{{"weir_vnic_send_errors", Type::kCounter, "", "Frames that its device took and could not send"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.link.send_errors); }},
};

constexpr std::array kPromises{
    Vnic{{"weir_vnic_guaranteed_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Rate from the VM that is guaranteed now; 0: none"},
         [](const VnicReport& vnic, const Samples& out) { write_rate(out, vnic.guarantee.rate_bps); }},
    Vnic{{"weir_vnic_guarantee_left_bytes", Type::kGauge, "bytes",
          "Bytes that a dynamic guarantee still has to deliver; no sample: another kind"},
         [](const VnicReport& vnic, const Samples& out) {
             if (vnic.config.guarantee == GuaranteeKind::kDynamic)
                 out(vnic.guarantee.left_bytes);
         }},
    Vnic{{"weir_vnic_guarantee_left_seconds", Type::kGauge, "seconds",
          "Time until its deadline; no sample: another kind"},
         [](const VnicReport& vnic, const Samples& out) {
             if (vnic.config.guarantee == GuaranteeKind::kDynamic)
                 out.seconds("", vnic.guarantee.time_left);
         }},
    Vnic{{"weir_vnic_reservation_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Configured reservation; 0: none"},
         [](const VnicReport& vnic, const Samples& out) { write_rate(out, vnic.config.reservation_bps); }},
    Vnic{{"weir_vnic_reservation_packets_per_second", Type::kGauge, "packets_per_second",
          "Configured reservation_pps; 0: none"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.config.reservation_pps); }},
    Vnic{{"weir_vnic_encryption_reservation_tokens_per_second", Type::kGauge, "tokens_per_second",
          "Configured encrypt_reservation; 0: none"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.config.encrypt_reservation); }},
    Vnic{{"weir_vnic_limit_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Configured limit; no sample: none"},
         [](const VnicReport& vnic, const Samples& out) { write_rate(out, vnic.config.limit_bps); }},
    Vnic{{"weir_vnic_limit_left_bytes", Type::kGauge, "bytes",
          "Bytes that its limit pays for at once now, negative in debt; no sample: no limit"},
         [](const VnicReport& vnic, const Samples& out) {
             if (vnic.stats.limit_left)
                 out.real(static_cast<double>(*vnic.stats.limit_left));
         }},
    Vnic{{"weir_vnic_limit_packets_per_second", Type::kGauge, "packets_per_second",
          "Configured limit_pps; no sample: none"},
         [](const VnicReport& vnic, const Samples& out) {
             if (vnic.config.limit_pps)
                 out(*vnic.config.limit_pps);
         }},
    Vnic{{"weir_vnic_receive_reservation_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Configured receive_reservation; no sample: as for sending"},
         [](const VnicReport& vnic, const Samples& out) {
             write_rate(out, vnic.config.receive_reservation_bps);
         }},
    Vnic{{"weir_vnic_receive_limit_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Configured receive_limit; no sample: none"},
         [](const VnicReport& vnic, const Samples& out) { write_rate(out, vnic.config.receive_limit_bps); }},
    Vnic{{"weir_vnic_shares", Type::kGauge, "", "Configured shares"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.config.shares); }},
    Vnic{{"weir_vnic_cycle_shares", Type::kGauge, "", "Configured cycle_shares"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.config.cycle_shares); }},
};

/// Values of feedback have no sample while it is off.
void write_if_on(const VnicReport& vnic, const Samples& out, std::uint64_t value) {
    if (vnic.stats.advertised_rate != 0)
        out(value);
}

constexpr std::array kStates{
    Vnic{{"weir_vnic", Type::kInfo, "", "The vNIC's address, kind of guarantee, worker and steering"},
         [](const VnicReport& vnic, const Samples& out) {
             metrics::Labels more;
             more.add("mac", vnic.config.mac ? vnic.config.mac->to_string() : "")
                 .add("vlan", std::to_string(vnic.config.vlan))
                 .add("guarantee_kind", guarantee_name(vnic.guarantee.kind))
                 .add("worker", std::to_string(vnic.worker))
                 .add("steering", vnic.steering.hardware ? "hardware" : "software");
             out(more.text(), 1);
         }},
    Vnic{{"weir_vnic_up", Type::kGauge, "", "1: the guest is connected, or the device has a link"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.up ? 1 : 0); }},
    Vnic{{"weir_vnic_refused", Type::kGauge, "", "1: the controller refuses the vNIC"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.refusal.why.empty() ? 0 : 1); }},
    Vnic{{"weir_vnic_fault", Type::kGauge, "",
          "1: weirctl vnic show has such a fault: of a ring, the socket, the front-end or the link"},
         [](const VnicReport& vnic, const Samples& out) {
             out(R"(kind="ring")", vnic.ring_fault.empty() ? 0 : 1);
             out(R"(kind="socket")", vnic.socket_fault.empty() ? 0 : 1);
             out(R"(kind="front_end")", vnic.front_end_fault.empty() ? 0 : 1);
             out(R"(kind="link")", vnic.link.fault.empty() ? 0 : 1);
         }},
    Vnic{{"weir_vnic_limiters", Type::kGauge, "",
          "Destinations with a limiter because they advertised a rate"},
         [](const VnicReport& vnic, const Samples& out) { out(vnic.stats.limiters); }},
    Vnic{
        {"weir_vnic_received_bytes_per_second", Type::kGauge, "bytes_per_second",
         "With feedback: rate from the wire in the last period"},
        [](const VnicReport& vnic, const Samples& out) { write_if_on(vnic, out, vnic.stats.received_rate); }},
    Vnic{{"weir_vnic_receive_capacity_bytes_per_second", Type::kGauge, "bytes_per_second",
          "With feedback: its part of the wire"},
         [](const VnicReport& vnic, const Samples& out) {
             write_if_on(vnic, out, vnic.stats.receive_capacity);
         }},
    Vnic{{"weir_vnic_advertised_bytes_per_second", Type::kGauge, "bytes_per_second",
          "With feedback: rate for each of its senders"},
         [](const VnicReport& vnic, const Samples& out) {
             write_if_on(vnic, out, vnic.stats.advertised_rate);
         }},
};

}  // namespace

void write_vnic_metrics(const SwitchReport& report, metrics::Exposition& page) {
    std::vector<metrics::Labels> labels;
    labels.reserve(report.vnics.size());
    for (const VnicReport& vnic : report.vnics)
        labels.push_back(metrics::label("vnic", vnic.config.name).add("tenant", vnic.config.tenant));
    write_families(page, kStates, report.vnics, labels);
    write_families(page, kPromises, report.vnics, labels);
    write_families(page, kTraffic, report.vnics, labels);
}

}  // namespace weir
