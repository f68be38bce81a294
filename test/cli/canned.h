// canned.h - answers of a switch with one worker, an uplink and two vNICs, as the command socket gives them.
#pragma once

#include <nlohmann/json.hpp>

namespace weir::cli::test {

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
        "name": "vm1", "id": 0, "tenant": "A", "mac": "52:54:00:00:00:01", "vlan": 10, "socket": "/run/weir/vm1.sock",
        "device": "", "mode": "client", "state": "up", "worker": 0, "queues": 2, "reservation_bps": 2000000000,
        "limit_bps": 8000000000, "limit_pps": 2000000, "shares": 100, "cycle_shares": 50, "mtu": 1500,
        "anti_spoofing": true, "checksum": true, "tso": true, "mergeable": true, "packed": true,
        "features": ["mrg_rxbuf", "ring_packed"],
        "steering": {"mode": "software", "reason": "net_tap has no rules"},
        "from_vm": {"offered": {"packets": 1000, "bytes": 1524000}, "admitted": {"packets": 990, "bytes": 1508760},
                    "delivered": {"packets": 980, "bytes": 1493520}, "queued": {"packets": 10, "bytes": 15240},
                    "dropped": {"packets": 10, "bytes": 15240}, "drops": {"foreign_mac": 8, "queue_full": 2}},
        "to_vm": {"offered": {"packets": 500, "bytes": 50000}, "delivered": {"packets": 500, "bytes": 50000},
                  "dropped": {"packets": 0, "bytes": 0}, "drops": {}},
        "held_back_ns": {"total": 1500000000, "limit": 1000000000, "uplink": 500000000, "buffers": 0},
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

}  // namespace weir::cli::test
