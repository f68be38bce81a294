// canned.h - answers of a switch with one worker, an uplink and two vNICs, as the command socket gives them.
#pragma once

#include <nlohmann/json.hpp>

#include "ctrl/cli/table.h"

namespace weir::cli::test {

inline constexpr Terminal kPipe{};

/// Replies that no switch of this version gives.
inline nlohmann::json canned_shapes() {
    return nlohmann::json::parse(
        R"([null, 1, "x", [], {}, {"vnics": 5}, {"vnics": [1, null, {}]}, {"vnics": {"a": 1}},
        {"workers": "x", "uplink": [], "vnics": [{"name": {"a": 1}, "from_vm": {"x": "y"}, "features": [1]}]}])");
}

/// The same for the commands that compare two readings, as texts.
inline constexpr const char* kOddReadings[] = {
    "null",
    "5",
    "[]",
    "{}",
    R"({"flows": [1, {}, {"used": 5}, {"appliance": {}}], "appliances": [1, {"port": "x"}]})",
    R"({"vnic": 5, "others": [1], "uplink": [], "flows": {"a": 1}, "uptime_s": "x"})",
    R"({"vnic": {"name": {"a": 1}, "limit_bps": "x"}, "others": {"x": {"name": 1, "uplink_bytes": "y"}}})"};

inline nlohmann::json canned_status() {
    return nlohmann::json::parse(R"({
        "host": "h1", "version": "0.1.0", "uptime_s": 7383.5, "accounting": "wire", "isolation": true, "poll": "busy",
        "workers": [{"id": 0, "core": 1, "vnics": 2, "iterations": 1000, "busy_iterations": 400, "busy_cycles": 420000,
                     "idle_cycles": 580000, "packets": 3000, "bursts": 250, "mean_burst": 12.0,
                     "cycles_per_packet": 140.0, "busy_percent": 42.0}],
        "uplink": {"device": "net_tap0", "driver": "net_tap", "state": "up", "rate_bps": 10000000000,
                   "capacity_bps": 9000000000, "mtu": 1500, "rx": {"packets": 1000, "bytes": 100000},
                   "tx": {"packets": 2000, "bytes": 3000000}, "drops": {"nic_queue_full": 7}},
        "memory": {"buffers": 16384, "buffers_free": 12000}, "mac_entries": 3, "tsc_hz": 2000000000,
        "vnics": [{"name": "vm1", "id": 0, "worker": 0, "state": "up",
                   "steering": {"mode": "software", "reason": "net_tap has no rules"}},
                  {"name": "vm2", "id": 1, "worker": 0, "state": "down", "steering": {"mode": "hardware", "reason": ""}}]})");
}

inline nlohmann::json canned_vnic() {
    return nlohmann::json::parse(R"({
        "name": "vm1", "id": 0, "tenant": "A", "mac": "52:54:00:00:00:01", "vlan": 10, "socket": "/run/weir/vm/vm1.sock",
        "device": "", "mode": "client", "state": "up", "worker": 0, "queues": 2, "reservation_bps": 2000000000,
        "reservation_pps": 500000, "limit_bps": 8000000000, "limit_pps": 2000000, "shares": 100, "cycle_shares": 50, "mtu": 1500,
        "anti_spoofing": true, "checksum": true, "tso": true, "mergeable": true, "packed": true,
        "features": ["mrg_rxbuf", "ring_packed"],
        "steering": {"mode": "software", "reason": "net_tap has no rules"},
        "from_vm": {"offered": {"packets": 1000, "bytes": 1524000}, "admitted": {"packets": 990, "bytes": 1508760},
                    "delivered": {"packets": 980, "bytes": 1493520}, "queued": {"packets": 10, "bytes": 15240},
                    "dropped": {"packets": 10, "bytes": 15240}, "drops": {"foreign_mac": 8, "queue_full": 2}},
        "to_vm": {"offered": {"packets": 500, "bytes": 50000}, "delivered": {"packets": 500, "bytes": 50000},
                  "dropped": {"packets": 0, "bytes": 0}, "drops": {}},
        "held_back_ns": {"total": 1500000000, "limit": 1000000000, "uplink": 500000000, "buffers": 0, "receiver": 0},
        "cycles": 140000, "bursts": 80, "mean_burst": 12.5, "ring_errors": 0,
        "queue_delay_ns": {"p50": 1800, "p99": 9400, "max": 21000}})");
}

inline nlohmann::json canned_other_vnic() {
    return nlohmann::json::parse(R"({
        "name": "vm2", "id": 1, "tenant": "", "mac": null, "vlan": 0, "socket": "", "device": "net_tap1", "mode": "client",
        "state": "down", "worker": 0, "queues": 1, "reservation_bps": 0, "limit_bps": null, "limit_pps": null,
        "shares": 100, "cycle_shares": 100, "mtu": 1500, "anti_spoofing": false})");
}

inline nlohmann::json canned_list() {
    return {{"vnics", {canned_vnic(), canned_other_vnic()}}};
}

inline nlohmann::json canned_drops() {
    return nlohmann::json::parse(
        R"({"vnics": [{"name": "vm1", "from_vm": {"foreign_mac": 8}, "to_vm": {"vm_ring_full": 1234}},
                                               {"name": "vm2", "from_vm": {}, "to_vm": {}}],
                                     "uplink": {"nic_queue_full": 7}, "workers": {}})");
}

/// db and batch ask a disk; one reading, and how much more of db's was used in the second one.
inline nlohmann::json canned_flow(const char* vnic, std::uint64_t used, std::uint64_t blocked_ms) {
    constexpr std::uint64_t kNanosPerMilli = 1'000'000;
    nlohmann::json flow = nlohmann::json::parse(R"({
        "appliance": "disk", "limit": {"appliance": 800, "uplink": null, "downlink": 5000, "cycles": null},
        "queued": {"appliance": 160, "uplink": 200, "downlink": 1188}, "responses": 90, "failed": 1, "plain_bytes": 0,
        "held": 2, "held_total": 9, "outstanding": 1, "outstanding_tokens": 80, "overdue_tokens": 0,
        "connections": 1,
        "latency_ns": {"p50": 210000, "p99": 1900000, "max": 2100000}})");
    flow["vnic"] = vnic;
    flow["used"] = {{"appliance", used}, {"uplink", used}, {"downlink", 6 * used}, {"cycles", 10 * used}};
    flow["blocked_ns"] = {{"appliance", blocked_ms * kNanosPerMilli},
                          {"uplink", 0},
                          {"downlink", blocked_ms * kNanosPerMilli / 4},
                          {"cycles", 0},
                          {"window", 0}};
    flow["requests"] = used / 80;
    return flow;
}

inline nlohmann::json canned_flows() {
    return {{"uptime_s", 100.0},
            {"accounting", "wire"},
            {"appliances",
             {{{"name", "disk"},
               {"address", "10.0.0.5"},
               {"port", 10809},
               {"protocol", "nbd"},
               {"cost", "ssd_file_store"},
               {"window_tokens", nullptr},
               {"outstanding", 2},
               {"outstanding_tokens", 160}},
              {{"name", "cache"},
               {"address", "fd00::6"},
               {"port", 11211},
               {"protocol", "memcached"},
               {"cost", "/etc/weir/cache.json"},
               {"window_tokens", 64000},
               {"outstanding", 0},
               {"outstanding_tokens", 0}}}},
            {"flows", {canned_flow("db", 8000, 4000), canned_flow("batch", 4000, 100)}}};
}

/// Two seconds later: db has used 1600 tokens and was blocked for 0.82 s of them, batch 1200 and not at all.
inline nlohmann::json canned_flows_later() {
    nlohmann::json flows = canned_flows();
    flows["uptime_s"] = 102.0;
    flows["flows"] = {canned_flow("db", 9600, 4820), canned_flow("batch", 5200, 100)};
    return flows;
}

inline nlohmann::json canned_why() {
    nlohmann::json why = canned_flows();
    why["isolation"] = true;
    why["uplink"] = canned_status()["uplink"];
    why["uplink"]["capacity_bps"] = 900'000'000;
    why["vnic"] = canned_vnic();
    why["vnic"]["name"] = "db";
    why["vnic"]["limiters"] = 0;
    why["others"] = {{{"name", "batch"}, {"uplink_bytes", 1'000'000}},
                     {{"name", "web"}, {"uplink_bytes", 5}}};
    return why;
}

/// Two seconds later.
inline nlohmann::json canned_why_later() {
    nlohmann::json why = canned_why();
    const nlohmann::json flows = canned_flows_later();
    why["uptime_s"] = flows["uptime_s"];
    why["flows"] = flows["flows"];
    why["uplink"]["tx"]["bytes"] = 3'000'000 + 225'000'000;
    why["others"][0]["uplink_bytes"] = 1'000'000 + 150'000'000;
    nlohmann::json& vnic = why["vnic"];
    vnic["from_vm"]["offered"]["bytes"] = 1'524'000 + 75'000'000;
    vnic["from_vm"]["admitted"]["bytes"] = 1'508'760 + 75'000'000;
    vnic["from_vm"]["delivered"]["bytes"] = 1'493'520 + 50'000'000;
    vnic["from_vm"]["drops"]["destination_congested"] = 24;
    vnic["held_back_ns"] = {{"total", 2'750'000'000},
                            {"limit", 1'250'000'000},
                            {"uplink", 1'500'000'000},
                            {"buffers", 0},
                            {"receiver", 0}};
    vnic["limiters"] = 1;
    return why;
}

}  // namespace weir::cli::test
