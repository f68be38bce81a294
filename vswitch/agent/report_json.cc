// report_json.cc - JSON of the status, the vNICs, the uplink and the drops.
#include "vswitch/agent/report_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/config/field_kinds.h"
#include "common/units.h"
#include "cost_functions/cycle_costs.h"

namespace weir {
namespace {

using nlohmann::json;

json tally_json(const Tally& tally) {
    return {{"packets", tally.packets}, {"bytes", tally.bytes}};
}

json reasons_json(const DirectionStats& stats) {
    json reasons = json::object();
    for (std::size_t i = 0; i < kDropReasons; ++i)
        if (stats.drops[i] != 0)
            reasons[kDropReasonTexts[i].name] = stats.drops[i];
    return reasons;
}

json direction_json(const DirectionStats& stats) {
    return {{"offered", tally_json(stats.offered)},
            {"delivered", tally_json(stats.delivered)},
            {"queued", tally_json(stats.queued)},
            {"dropped", tally_json(stats.dropped)},
            {"drops", reasons_json(stats)}};
}

json steering_json(const Steering& steering) {
    return {{"mode", steering.hardware ? "hardware" : "software"}, {"reason", steering.reason}};
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Frames lost between workers, which are no port's drops.
json handoff_losses(const HandoffStats& handoff) {
    return {{"vnic_gone", handoff.vnic_gone},
            {"copies_ring_full", handoff.copies_ring_full},
            {"copies_without_buffer", handoff.copies_without_buffer}};
}

/// Encryption of one worker's core: its capacity, as measured while it encrypted, and the reserved part.
json encryption_json(const SwitchReport& report, const WorkerReport& worker) {
    const UplinkStats& stats = worker.snapshot.uplink;
    std::uint64_t reserved = 0;
    for (const VnicReport& vnic : report.vnics)
        if (vnic.worker == worker.id)
            reserved += vnic.config.encrypt_reservation;
    json capacity;
    if (stats.encryption_cycles != 0)
        capacity = std::llround(ratio(stats.encryption_tokens, stats.encryption_cycles) *
                                static_cast<double>(report.tsc_hz));
    return {{"tokens", stats.encryption_tokens},
            {"cycles", stats.encryption_cycles},
            {"capacity", std::move(capacity)},
            {"reserved", reserved}};
}

template <typename T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json or_null(const std::string& fault) {
    return fault.empty() ? json(nullptr) : json(fault);
}

json worker_json(const SwitchReport& report, const WorkerReport& worker) {
    const WorkerStats& stats = worker.snapshot.worker;
    json handoff = handoff_losses(worker.snapshot.handoff);
    handoff["posted"] = worker.snapshot.handoff.posted;
    return {{"id", worker.id},
            {"core", worker.core},
            {"numa_node", or_null(worker.node)},
            {"vnics", worker.vnics},
            {"iterations", stats.iterations},
            {"busy_iterations", stats.busy_iterations},
            {"busy_cycles", stats.busy_cycles},
            {"idle_cycles", stats.idle_cycles},
            {"sleeps", stats.sleeps},
            {"packets", stats.packets},
            {"bursts", stats.bursts},
            {"mean_burst", ratio(stats.packets, stats.bursts)},
            {"cycles_per_packet", ratio(stats.busy_cycles, stats.packets)},
            {"busy_percent", 100.0 * ratio(stats.busy_cycles, stats.busy_cycles + stats.idle_cycles)},
            {"encryption", encryption_json(report, worker)},
            {"handoff", std::move(handoff)}};
}

json uplink_drops(const UplinkStats& stats) {
    json reasons = reasons_json(stats.rx);
    const json sent = reasons_json(stats.tx);
    for (const auto& [name, count] : sent.items())
        reasons[name] = reasons.value(name, std::uint64_t{0}) + count.get<std::uint64_t>();
    return reasons;
}

/// null while feedback is off.
json feedback_json(const SwitchReport& report) {
    if (!report.config->feedback.is_on())
        return nullptr;
    const FeedbackStats sum = report.feedback_stats();
    return {{"sent", sum.sent},       {"unsent", sum.unsent},         {"received", sum.received},
            {"stale", sum.stale},     {"malformed", sum.malformed},   {"forged", sum.forged},
            {"unknown", sum.unknown}, {"table_full", sum.table_full}, {"limiters", sum.limiters}};
}

/// null while feedback is on, and while it is not enabled.
json feedback_off_json(const FeedbackConfig& feedback) {
    return feedback.enabled && !feedback.is_on() ? json(kFeedbackWithoutKey) : json(nullptr);
}

/// null while cycles of requests are charged, and without appliances.
json cycles_off_json(const SwitchConfig& config) {
    return config.appliances.empty() || !config.cycle_costs.empty() ? json(nullptr) : json(kNoCycleCosts);
}

json tunnel_json(const SwitchReport& report, const TunnelReport& tunnel) {
    const TunnelConfig& config = report.config->tunnels[tunnel.config];
    return {{"name", tunnel.name},
            {"state", tunnel.up ? "up" : "down"},
            {"local", config.local},
            {"remote", config.remote},
            {"algorithm", kEspAlgorithmTexts[static_cast<std::size_t>(config.algorithm)].name},
            {"device", tunnel.device},
            {"sessions", tunnel.sessions},
            {"key_age_s", to_seconds(tunnel.key_age)},
            {"silence_s", to_seconds(tunnel.silence)},
            {"forged", tunnel.forged},
            {"mismatched", tunnel.mismatched},
            {"key_messages", tunnel.stats.key_messages},
            {"tokens", tunnel.stats.tokens},
            {"encrypted", tally_json(tunnel.stats.out)},
            {"from_wire", direction_json(tunnel.stats.in)}};
}

/// null while feedback is off.
json receive_json(const VnicReading& stats) {
    if (stats.advertised_rate == 0)
        return nullptr;
    return {{"received_bps", stats.received_rate * kBitsPerByte},
            {"capacity_bps", stats.receive_capacity * kBitsPerByte},
            {"advertised_bps", stats.advertised_rate * kBitsPerByte}};
}

json held_json(const VnicStats& stats) {
    const auto& held = stats.held_ns;
    json members = {{"total", std::accumulate(held.begin(), held.end(), Nanos{0})}};
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        members[kHoldReasonNames[i]] = held[i];
    return members;
}

/// The addresses that the guest may use: configured ones and assigned ones; null while any address is
/// accepted.
json guard_json(const VnicReport& vnic) {
    const VnicConfig& config = vnic.config;
    if (config.addresses.empty() && !config.dhcp && !config.router)
        return nullptr;
    json addresses = json::array();
    for (const IpNetwork& network : config.addresses)
        addresses.push_back(network.to_string());
    json learned = json::array();
    for (const LearnedReport& each : vnic.learned)
        learned.push_back({{"address", each.address}, {"from", each.from}, {"left_ns", or_null(each.left)}});
    const json role =
        config.dhcp ? json(*config.dhcp == DhcpRole::kClient ? "client" : "server") : json(nullptr);
    return {{"addresses", std::move(addresses)},
            {"dhcp", role},
            {"router", config.router.value_or(false)},
            {"learned", std::move(learned)}};
}

json guarantee_json(const VnicReport& vnic) {
    json out{{"kind", guarantee_name(vnic.guarantee.kind)}, {"rate_bps", vnic.guarantee.rate_bps}};
    if (vnic.config.guarantee == GuaranteeKind::kDynamic)
        out["dynamic"] = {{"size_bytes", vnic.config.size_bytes},
                          {"time_ns", vnic.config.time},
                          {"left_bytes", vnic.guarantee.left_bytes},
                          {"time_left_ns", vnic.guarantee.time_left}};
    return out;
}

/// null: the switch has no controller.
json vnic_promise_json(const std::optional<VnicPromiseReport>& promise) {
    if (!promise)
        return nullptr;
    json differences = json::array();
    for (const PromiseDifference& each : promise->differences)
        differences.push_back({{"key", each.key}, {"promised", each.promised}, {"file", each.file}});
    return {{"from", promise->from}, {"differences", std::move(differences)}};
}

/// null: no controller has promised anything yet.
json promises_json(const PromiseReport& promises) {
    if (promises.confirmed == 0)
        return nullptr;
    return {{"unix_s", promises.confirmed},
            {"age_s", promises.age},
            {"from", promises.of_file ? "file" : "controller"},
            {"in_force", promises.in_force}};
}

json refused_json(const VnicReport& vnic, const ControllerConfig& config) {
    const bool is_held = service_of(vnic.refusal, config) == OnRefused::kHold;
    return {
        {"name", vnic.config.name}, {"why", vnic.refusal.why}, {"service", is_held ? "hold" : "best_effort"}};
}

json controller_json(const SwitchReport& report) {
    const std::optional<ControllerReport>& controller = report.controller;
    if (!controller)
        return nullptr;
    const ControllerLinkCounters& counters = controller->counters;
    json refused = json::array();
    for (const VnicReport& vnic : report.vnics)
        if (!vnic.refusal.why.empty())
            refused.push_back(refused_json(vnic, report.config->controller));
    return {{"state", controller->state},
            {"refusal", controller->refusal},
            {"fault", controller->fault},
            {"ignored", controller->ignored},
            {"cluster", controller->cluster},
            {"epoch", controller->epoch},
            {"interval", controller->interval},
            {"flows", controller->flows},
            {"refused_vnics", std::move(refused)},
            {"demands", counters.demands},
            {"asks", counters.asks},
            {"allocations", counters.allocations},
            {"malformed", counters.malformed},
            {"stale", counters.stale},
            {"foreign", counters.foreign},
            {"refused_records", counters.refused_records},
            {"unsent", controller->unsent},
            {"unbilled_periods", controller->unbilled_periods},
            {"unbilled_bytes", controller->unbilled_bytes},
            {"peers_left_out", controller->peers_left_out},
            {"promises", promises_json(controller->promises)}};
}

}  // namespace

json uplink_json(const SwitchReport& report) {
    if (!report.uplink)
        return nullptr;
    const UplinkConfig& config = report.config->uplink;
    const UplinkStats stats = report.uplink_stats();
    std::uint64_t capacity = 0;
    for (const WorkerReport& worker : report.workers)
        capacity += worker.snapshot.uplink_capacity;
    return {{"device", config.device},
            {"driver", report.uplink->driver},
            {"state", report.uplink->up ? "up" : "down"},
            {"link_fault", or_null(report.uplink->link.fault)},
            {"link_losses", report.uplink->link.losses},
            {"send_errors", report.uplink->link.send_errors},
            {"rate_bps", config.rate_bps},
            {"capacity_bps", capacity * kBitsPerByte},
            {"mtu", config.mtu},
            {"rx", tally_json(stats.rx.offered)},
            {"tx", tally_json(stats.tx.delivered)},
            {"offered", tally_json(stats.tx.offered)},
            {"queued", tally_json(stats.tx.queued)},
            {"from_wire", direction_json(stats.rx)},
            {"to_wire", direction_json(stats.tx)},
            {"drops", uplink_drops(stats)}};
}

json vnic_json(const VnicReport& vnic) {
    const VnicConfig& config = vnic.config;
    json from_vm = direction_json(vnic.stats.from_vm);
    from_vm["admitted"] = tally_json(vnic.stats.admitted);
    from_vm["uplink_bytes"] = vnic.stats.uplink_bytes;
    from_vm["cluster_bytes"] = vnic.stats.cluster_bytes;
    from_vm["limit_left_bytes"] = or_null(vnic.stats.limit_left);
    json to_vm = direction_json(vnic.stats.to_vm);
    to_vm["straight_packets"] = vnic.straight;
    return {{"name", config.name},
            {"id", vnic.id},
            {"tenant", config.tenant},
            {"mac", config.mac ? json(config.mac->to_string()) : json(nullptr)},
            {"vlan", config.vlan},
            {"socket", config.socket},
            {"device", config.device},
            {"mode", config.mode == VhostMode::kClient ? "client" : "server"},
            {"state", vnic.up ? "up" : "down"},
            {"worker", vnic.worker},
            {"workers", vnic.workers},
            {"queues", config.queues},
            {"reservation_bps", config.reservation_bps},
            {"reservation_pps", config.reservation_pps},
            {"guarantee", guarantee_json(vnic)},
            {"promise", vnic_promise_json(vnic.promise)},
            {"limit_bps", or_null(config.limit_bps)},
            {"limit_pps", or_null(config.limit_pps)},
            {"shares", config.shares},
            {"cycle_shares", config.cycle_shares},
            {"receive_reservation_bps", or_null(config.receive_reservation_bps)},
            {"receive_limit_bps", or_null(config.receive_limit_bps)},
            {"receive_shares", or_null(config.receive_shares)},
            {"mtu", config.mtu},
            {"anti_spoofing", config.anti_spoofing},
            {"guard", guard_json(vnic)},
            {"checksum", config.checksum},
            {"tso", config.tso},
            {"mergeable", config.mergeable},
            {"packed", config.packed},
            {"features", vnic.features},
            {"steering", steering_json(vnic.steering)},
            {"receive", receive_json(vnic.stats)},
            {"from_vm", from_vm},
            {"to_vm", to_vm},
            {"held_back_ns", held_json(vnic.stats)},
            {"cycles", vnic.stats.cycles},
            {"bursts", vnic.stats.bursts},
            {"flood_copies", vnic.stats.flood_copies},
            {"ecn_marked", vnic.stats.ecn_marked},
            {"limiters", vnic.stats.limiters},
            {"encrypt", config.encrypt},
            {"encrypt_reservation", config.encrypt_reservation},
            {"encrypt_limit", or_null(config.encrypt_limit)},
            {"encryption_tokens", vnic.stats.encryption_tokens},
            {"mean_burst", ratio(vnic.stats.from_vm.offered.packets, vnic.stats.bursts)},
            {"ring_errors", vnic.ring_errors},
            {"front_end_fault", or_null(vnic.front_end_fault)},
            {"ring_fault", or_null(vnic.ring_fault)},
            {"socket_fault", or_null(vnic.socket_fault)},
            {"link_fault", or_null(vnic.link.fault)},
            {"refusal", or_null(vnic.refusal.why)},
            {"link_losses", vnic.link.losses},
            {"send_errors", vnic.link.send_errors},
            {"queue_delay_ns",
             {{"p50", vnic.queue_delay_p50}, {"p99", vnic.queue_delay_p99}, {"max", vnic.queue_delay_max}}}};
}

json vnics_json(const SwitchReport& report) {
    json vnics = json::array();
    for (const VnicReport& vnic : report.vnics)
        vnics.push_back(vnic_json(vnic));
    return {{"vnics", vnics}};
}

json drops_json(const SwitchReport& report) {
    json vnics = json::array();
    for (const VnicReport& vnic : report.vnics)
        vnics.push_back({{"name", vnic.config.name},
                         {"refusal", or_null(vnic.refusal.why)},
                         {"from_vm", reasons_json(vnic.stats.from_vm)},
                         {"to_vm", reasons_json(vnic.stats.to_vm)}});
    json workers = json::object();
    for (const WorkerReport& worker : report.workers) {
        const json losses = handoff_losses(worker.snapshot.handoff);
        for (const auto& [reason, count] : losses.items())
            if (count != 0)
                workers[std::to_string(worker.id)][reason] = count;
    }
    json tunnels = json::object();
    for (const TunnelReport& tunnel : report.tunnels)
        if (json reasons = reasons_json(tunnel.stats.in); !reasons.empty())
            tunnels[tunnel.name] = std::move(reasons);
    return {{"vnics", vnics},
            {"uplink", uplink_drops(report.uplink_stats())},
            {"tunnels", tunnels},
            {"workers", workers}};
}

json tenant_traffic_json(const SwitchReport& report) {
    json pairs = json::array();
    for (const TenantTrafficReport& pair : report.tenant_traffic)
        pairs.push_back({{"from", pair.from}, {"to", pair.to}, {"bytes", pair.bytes}});
    return pairs;
}

json status_json(const SwitchReport& report) {
    json workers = json::array();
    std::uint32_t mac_entries = 0;
    for (const WorkerReport& worker : report.workers) {
        workers.push_back(worker_json(report, worker));
        mac_entries = std::max(mac_entries, worker.snapshot.mac_entries);
    }
    json vnics = json::array();
    for (const VnicReport& vnic : report.vnics)
        vnics.push_back({{"name", vnic.config.name},
                         {"id", vnic.id},
                         {"worker", vnic.worker},
                         {"workers", vnic.workers},
                         {"state", vnic.up ? "up" : "down"},
                         {"refusal", or_null(vnic.refusal.why)},
                         {"promise", vnic_promise_json(vnic.promise)},
                         {"steering", steering_json(vnic.steering)}});
    json tunnels = json::array();
    for (const TunnelReport& tunnel : report.tunnels)
        tunnels.push_back(tunnel_json(report, tunnel));
    return {{"host", report.config->host},
            {"version", WEIR_VERSION},
            {"uptime_s", to_seconds(report.uptime_ns)},
            {"clock", report.stepped ? "stepped" : "real"},
            {"now_ns", report.uptime_ns},
            {"accounting", report.config->accounting == Accounting::kWire ? "wire" : "l2"},
            {"isolation", report.config->isolation},
            {"poll", report.config->poll == PollMode::kBusy ? "busy" : "adaptive"},
            {"workers", workers},
            {"uplink", uplink_json(report)},
            {"feedback", feedback_json(report)},
            {"feedback_off", feedback_off_json(report.config->feedback)},
            {"cycles_off", cycles_off_json(*report.config)},
            {"controller", controller_json(report)},
            {"memory", {{"buffers", report.buffers}, {"buffers_free", report.buffers_free}}},
            {"mac_entries", mac_entries},
            {"tsc_hz", report.tsc_hz},
            {"tunnels", tunnels},
            {"tenant_traffic", tenant_traffic_json(report)},
            {"vnics", vnics}};
}

}  // namespace weir
