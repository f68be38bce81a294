// switch_metrics_host.cc - families of the switch itself: workers, memory, uplink, feedback, tunnels, and the
// link to the controller.
#include <algorithm>
#include <array>

#include "vswitch/metrics/sample_kinds.h"
#include "vswitch/metrics/switch_metrics.h"

namespace weir {
namespace {

using metrics::Labels;
using metrics::Samples;
using metrics::Type;
using Host = metrics::FamilyOf<SwitchReport>;
using Worker = metrics::FamilyOf<WorkerReport>;
using Tunnel = metrics::FamilyOf<TunnelReport>;

/// The uplink, with the sums of all workers.
struct Wire {
    const UplinkReport& report;
    const UplinkConfig& config;
    UplinkStats stats;
    std::uint64_t capacity = 0;  ///< bytes per second
};
using Uplink = metrics::FamilyOf<Wire>;
using Feedback = metrics::FamilyOf<FeedbackStats>;
using Link = metrics::FamilyOf<ControllerReport>;

constexpr std::array kHost{
    Host{{"weir_switch", Type::kInfo, "", "The program, its host, and how bytes are accounted"},
         [](const SwitchReport& report, const Samples& out) {
             Labels more;
             more.add("version", WEIR_VERSION)
                 .add("host", report.config->host)
                 .add("accounting", report.config->accounting == Accounting::kWire ? "wire" : "l2")
                 .add("poll", report.config->poll == PollMode::kBusy ? "busy" : "adaptive")
                 .add("clock", report.stepped ? "stepped" : "real");
             out(more.text(), 1);
         }},
    Host{{"weir_switch_uptime_seconds", Type::kGauge, "seconds", "Time since the start of the switch"},
         [](const SwitchReport& report, const Samples& out) { out.seconds(report.uptime_ns); }},
    Host{{"weir_switch_tsc_hertz", Type::kGauge, "hertz", "Cycles of the TSC per second"},
         [](const SwitchReport& report, const Samples& out) { out(report.tsc_hz); }},
    Host{{"weir_switch_buffers", Type::kGauge, "", "Packet buffers of each NUMA node's pool"},
         [](const SwitchReport& report, const Samples& out) { out(report.buffers); }},
    Host{{"weir_switch_buffers_free", Type::kGauge, "", "Of these that are free"},
         [](const SwitchReport& report, const Samples& out) { out(report.buffers_free); }},
    Host{{"weir_switch_mac_entries", Type::kGauge, "", "Learned MAC addresses"},
         [](const SwitchReport& report, const Samples& out) {
             std::uint32_t entries = 0;
             for (const WorkerReport& worker : report.workers)
                 entries = std::max(entries, worker.snapshot.mac_entries);
             out(entries);
         }},
    Host{{"weir_switch_vnics", Type::kGauge, "", "vNICs of the switch"},
         [](const SwitchReport& report, const Samples& out) { out(report.vnics.size()); }},
    Host{{"weir_tenant_sent_bytes", Type::kCounter, "bytes",
          "Bytes that VMs of a tenant sent to VMs of a tenant on this host; only pairs with traffic"},
         [](const SwitchReport& report, const Samples& out) {
             for (const TenantTrafficReport& pair : report.tenant_traffic)
                 out(metrics::label("tenant", pair.from).add("to_tenant", pair.to).text(), pair.bytes);
         }},
};

constexpr std::array kWorker{
    Worker{{"weir_worker_vnics", Type::kGauge, "", "vNICs that the worker owns"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.vnics); }},
    Worker{{"weir_worker_iterations", Type::kCounter, "", "Turns of the poll loop"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.iterations); }},
    Worker{
        {"weir_worker_busy_iterations", Type::kCounter, "", "Turns that found something to do"},
        [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.busy_iterations); }},
    Worker{{"weir_worker_busy_cycles", Type::kCounter, "cycles", "TSC cycles of these turns"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.busy_cycles); }},
    Worker{{"weir_worker_idle_cycles", Type::kCounter, "cycles", "TSC cycles of all other turns"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.idle_cycles); }},
    Worker{{"weir_worker_sleeps", Type::kCounter, "",
            "Sleeps that last until a guest, the NIC or a command wakes the worker"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.sleeps); }},
    Worker{{"weir_worker_packets", Type::kCounter, "packets", "Frames that the worker took from rings"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.packets); }},
    Worker{{"weir_worker_bursts", Type::kCounter, "", "Polls that gave frames"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.worker.bursts); }},
    Worker{{"weir_worker_encryption_tokens", Type::kCounter, "tokens", "Tokens of frames that it encrypted"},
           [](const WorkerReport& worker, const Samples& out) {
               out(worker.snapshot.uplink.encryption_tokens);
           }},
    Worker{{"weir_worker_encryption_cycles", Type::kCounter, "cycles", "TSC cycles of their encryption"},
           [](const WorkerReport& worker, const Samples& out) {
               out(worker.snapshot.uplink.encryption_cycles);
           }},
    Worker{{"weir_worker_handoff_packets", Type::kCounter, "packets", "Frames handed to other workers"},
           [](const WorkerReport& worker, const Samples& out) { out(worker.snapshot.handoff.posted); }},
    Worker{{"weir_worker_drops", Type::kCounter, "", "Frames that were lost between workers, by reason"},
           [](const WorkerReport& worker, const Samples& out) {
               const HandoffStats& handoff = worker.snapshot.handoff;
               out(R"(reason="vnic_gone")", handoff.vnic_gone);
               out(R"(reason="copies_ring_full")", handoff.copies_ring_full);
               out(R"(reason="copies_without_buffer")", handoff.copies_without_buffer);
           }},
};

template <auto Of>
void both(const Wire& wire, const Samples& out) {
    out(kOfUplink.out, Of(wire.stats.tx));
    out(kOfUplink.in, Of(wire.stats.rx));
}

constexpr std::array kUplink{
    Uplink{{"weir_uplink_up", Type::kGauge, "", "1: the uplink has a link"},
           [](const Wire& wire, const Samples& out) { out(wire.report.up ? 1 : 0); }},
    Uplink{{"weir_uplink_rate_bytes_per_second", Type::kGauge, "bytes_per_second", "Configured rate"},
           [](const Wire& wire, const Samples& out) { write_rate(out, wire.config.rate_bps); }},
    Uplink{{"weir_uplink_capacity_bytes_per_second", Type::kGauge, "bytes_per_second",
            "Rate less the headroom, as the workers divide it"},
           [](const Wire& wire, const Samples& out) { out(wire.capacity); }},
    Uplink{{"weir_uplink_offered_packets", Type::kCounter, "packets", "Frames for the wire, or from it"},
           both<[](const DirectionStats& stats) { return stats.offered.packets; }>},
    Uplink{{"weir_uplink_offered_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
           both<[](const DirectionStats& stats) { return stats.offered.bytes; }>},
    Uplink{{"weir_uplink_delivered_packets", Type::kCounter, "packets",
            "Frames that the device took, or that went to vNICs"},
           both<[](const DirectionStats& stats) { return stats.delivered.packets; }>},
    Uplink{{"weir_uplink_delivered_bytes", Type::kCounter, "bytes", "Bytes of these frames"},
           both<[](const DirectionStats& stats) { return stats.delivered.bytes; }>},
    Uplink{{"weir_uplink_queued_packets", Type::kGauge, "packets", "Frames that wait in the scheduler now"},
           both<[](const DirectionStats& stats) { return stats.queued.packets; }>},
    Uplink{{"weir_uplink_queued_bytes", Type::kGauge, "bytes", "Bytes of these frames"},
           both<[](const DirectionStats& stats) { return stats.queued.bytes; }>},
    Uplink{{"weir_uplink_drops", Type::kCounter, "", "Dropped frames by reason; only reasons that occurred"},
           [](const Wire& wire, const Samples& out) {
               write_drops(out, kOfUplink.out, wire.stats.tx);
               write_drops(out, kOfUplink.in, wire.stats.rx);
           }},
    Uplink{{"weir_uplink_link_losses", Type::kCounter, "", "Times that the uplink lost its link"},
           [](const Wire& wire, const Samples& out) { out(wire.report.link.losses); }},
    Uplink{{"weir_uplink_send_errors", Type::kCounter, "", "Frames that the device took and could not send"},
           [](const Wire& wire, const Samples& out) { out(wire.report.link.send_errors); }},
};

constexpr std::array kFeedback{
    Feedback{{"weir_feedback_sent_packets", Type::kCounter, "packets", "Feedback frames that were sent"},
             [](const FeedbackStats& stats, const Samples& out) { out(stats.sent); }},
    Feedback{{"weir_feedback_received_packets", Type::kCounter, "packets",
              "Feedback frames that set or confirmed a rate"},
             [](const FeedbackStats& stats, const Samples& out) { out(stats.received); }},
    Feedback{{"weir_feedback_ignored_packets", Type::kCounter, "packets",
              "Feedback frames that were not sent or not accepted, by reason"},
             [](const FeedbackStats& stats, const Samples& out) {
                 out(R"(reason="unsent")", stats.unsent);
                 out(R"(reason="stale")", stats.stale);
                 out(R"(reason="malformed")", stats.malformed);
                 out(R"(reason="forged")", stats.forged);
                 out(R"(reason="unknown")", stats.unknown);
                 out(R"(reason="table_full")", stats.table_full);
             }},
    Feedback{{"weir_feedback_limiters", Type::kGauge, "", "Destinations that have a limiter now"},
             [](const FeedbackStats& stats, const Samples& out) { out(stats.limiters); }},
};

constexpr std::array kTunnel{
    Tunnel{{"weir_tunnel_up", Type::kGauge, "", "1: both ends have keys"},
           [](const TunnelReport& tunnel, const Samples& out) { out(tunnel.up ? 1 : 0); }},
    Tunnel{{"weir_tunnel_key_age_seconds", Type::kGauge, "seconds", "Age of the keys in use"},
           [](const TunnelReport& tunnel, const Samples& out) { out.seconds(tunnel.key_age); }},
    Tunnel{{"weir_tunnel_silence_seconds", Type::kGauge, "seconds",
            "Time since the last message of the other end; 0: none came yet"},
           [](const TunnelReport& tunnel, const Samples& out) { out.seconds(tunnel.silence); }},
    Tunnel{{"weir_tunnel_key_messages", Type::kCounter, "", "Key messages of the other end"},
           [](const TunnelReport& tunnel, const Samples& out) { out(tunnel.stats.key_messages); }},
    Tunnel{{"weir_tunnel_refused_messages", Type::kCounter, "",
            "Key messages that were made without the key, or of another algorithm or version"},
           [](const TunnelReport& tunnel, const Samples& out) {
               out(R"(reason="forged")", tunnel.forged);
               out(R"(reason="mismatched")", tunnel.mismatched);
           }},
    Tunnel{{"weir_tunnel_tokens", Type::kCounter, "tokens", "Tokens charged to senders for encryption"},
           [](const TunnelReport& tunnel, const Samples& out) { out(tunnel.stats.tokens); }},
    Tunnel{{"weir_tunnel_encrypted_bytes", Type::kCounter, "bytes", "Bytes sent through the tunnel"},
           [](const TunnelReport& tunnel, const Samples& out) { out(tunnel.stats.out.bytes); }},
    Tunnel{{"weir_tunnel_received_bytes", Type::kCounter, "bytes", "Bytes that came through the tunnel"},
           [](const TunnelReport& tunnel, const Samples& out) { out(tunnel.stats.in.offered.bytes); }},
    Tunnel{{"weir_tunnel_drops", Type::kCounter, "", "Dropped frames by reason; only reasons that occurred"},
           [](const TunnelReport& tunnel, const Samples& out) { write_drops(out, "", tunnel.stats.in); }},
};

constexpr std::array kLinkStates{"connecting", "refused", "welcomed", "connected", "silent"};

constexpr std::array kLink{
    Link{{"weir_switch_controller_state", Type::kGauge, "",
          "1: the link to the controller is in this state; 0 for all others"},
         [](const ControllerReport& link, const Samples& out) {
             for (const char* state : kLinkStates)
                 out(metrics::label("state", state).text(), link.state == state ? 1 : 0);
         }},
    Link{{"weir_switch_controller_epoch", Type::kGauge, "", "Epoch of the controller; 0: none"},
         [](const ControllerReport& link, const Samples& out) { out(link.epoch); }},
    Link{{"weir_switch_controller_interval", Type::kGauge, "",
          "Last interval of the controller in that epoch"},
         [](const ControllerReport& link, const Samples& out) { out(link.interval); }},
    Link{{"weir_switch_controller_rates", Type::kGauge, "",
          "Flows with a rate or a guarantee of the controller"},
         [](const ControllerReport& link, const Samples& out) { out(link.flows); }},
    Link{{"weir_switch_controller_messages", Type::kCounter, "",
          "Messages of the link: sent demands and asks, accepted allocations, and those that did not count"},
         [](const ControllerReport& link, const Samples& out) {
             out(R"(kind="demand")", link.counters.demands);
             out(R"(kind="ask")", link.counters.asks);
             out(R"(kind="allocation")", link.counters.allocations);
             out(R"(kind="malformed")", link.counters.malformed);
             out(R"(kind="stale")", link.counters.stale);
             out(R"(kind="foreign")", link.counters.foreign);
             out(R"(kind="unsent")", link.unsent);
         }},
    Link{{"weir_switch_controller_refused_records", Type::kCounter, "",
          "Records of accepted messages that were refused"},
         [](const ControllerReport& link, const Samples& out) { out(link.counters.refused_records); }},
    Link{{"weir_switch_controller_peers_left_out", Type::kGauge, "",
          "Destinations without a rate of the controller, because there are too many"},
         [](const ControllerReport& link, const Samples& out) { out(link.peers_left_out); }},
    Link{{"weir_switch_unbilled_periods", Type::kCounter, "",
          "Billing periods of vNICs that the controller does not know"},
         [](const ControllerReport& link, const Samples& out) { out(link.unbilled_periods); }},
    Link{{"weir_switch_unbilled_bytes", Type::kCounter, "bytes", "Bytes delivered in these periods"},
         [](const ControllerReport& link, const Samples& out) { out(link.unbilled_bytes); }},
    Link{{"weir_switch_promises_in_force", Type::kGauge, "",
          "1: guarantees of the controller hold while it is away, by the place they come from"},
         [](const ControllerReport& link, const Samples& out) {
             const PromiseReport& promises = link.promises;
             out(R"(from="controller")", promises.in_force && !promises.of_file ? 1 : 0);
             out(R"(from="file")", promises.in_force && promises.of_file ? 1 : 0);
         }},
    Link{{"weir_switch_promise_age_seconds", Type::kGauge, "seconds",
          "Time since the controller confirmed its promises; no sample: it has promised nothing"},
         [](const ControllerReport& link, const Samples& out) {
             if (link.promises.confirmed != 0)
                 out(static_cast<std::uint64_t>(std::max<std::int64_t>(link.promises.age, 0)));
         }},
};

Wire wire_of(const SwitchReport& report) {
    Wire wire{*report.uplink, report.config->uplink, report.uplink_stats()};
    for (const WorkerReport& worker : report.workers)
        wire.capacity += worker.snapshot.uplink_capacity;
    return wire;
}

/// The heads of all families, and samples where the subject is there.
template <typename Table, typename Subject>
void write_optional(metrics::Exposition& page, const Table& table, const Subject* subject) {
    for (const auto& entry : table) {
        page.begin(entry.family);
        if (subject != nullptr)
            entry.write(*subject, Samples(page, {}));
    }
}

}  // namespace

void write_host_metrics(const SwitchReport& report, metrics::Exposition& page) {
    write_families(page, kHost, report);
    std::vector<Labels> workers;
    for (const WorkerReport& worker : report.workers)
        workers.push_back(
            metrics::label("worker", std::to_string(worker.id)).add("core", std::to_string(worker.core)));
    write_families(page, kWorker, report.workers, workers);
    const std::optional<Wire> wire = report.uplink ? std::optional(wire_of(report)) : std::nullopt;
    write_optional(page, kUplink, wire ? &*wire : nullptr);
    const FeedbackStats feedback = report.feedback_stats();
    write_optional(page, kFeedback, report.config->feedback.is_on() ? &feedback : nullptr);
    std::vector<Labels> tunnels;
    for (const TunnelReport& tunnel : report.tunnels)
        tunnels.push_back(metrics::label("tunnel", tunnel.name));
    write_families(page, kTunnel, report.tunnels, tunnels);
    write_optional(page, kLink, report.controller ? &*report.controller : nullptr);
}

void write_switch_metrics(const SwitchReport& report, metrics::Exposition& page) {
    write_host_metrics(report, page);
    write_vnic_metrics(report, page);
    write_request_metrics(report, page);
}

}  // namespace weir
