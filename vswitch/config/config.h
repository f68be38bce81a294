// config.h - the switch's configuration as one struct; parsed once, validated whole, then passed in pieces.
// Source: design section 5 (names are the contract). Units: in the field names.
// Threads: built at start or by the agent; read-only afterwards.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "vswitch/esp/esp_sizes.h"

namespace weir {

enum class VhostMode { kClient, kServer };          ///< who listens on the socket: QEMU (client), we (server)
enum class Accounting { kWire, kL2 };               ///< what a byte is at links
enum class Scheduler { kWrr, kFulfillment, kRls };  ///< of the uplink, or of an appliance's window
enum class FlowOffload { kAuto, kOff };             ///< rte_flow steering
enum class PollMode { kBusy, kAdaptive };
enum class FeedbackLaw { kLog, kLinear };  ///< how the advertised rate follows the measured one

/// A 48-bit MAC address in wire order, low byte of the integer first: memcpy of the first 6 bytes of a frame.
struct MacAddress {
    std::uint64_t bits = 0;
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] static std::optional<MacAddress> parse(std::string_view text);
    auto operator<=>(const MacAddress&) const = default;
};

/// A vNIC's part of an appliance (a shared service) and of the links to it and back; absent = none.
struct VnicApplianceConfig {
    std::string name;                           ///< of an entry of `appliances`
    std::optional<std::uint64_t> limit_tokens;  ///< appliance tokens per second
    std::optional<std::uint64_t> uplink_bps;    ///< what its requests may use of this host's uplink
    std::optional<std::uint64_t> downlink_bps;  ///< what the responses to them may use on the way back
    Nanos burst = 1'000'000'000;                ///< 1ms..10s: what may go at once, as time at the rate
    std::optional<std::uint64_t> cycles;        ///< of the worker, per second
    std::uint64_t reservation_tokens = 0;       ///< per second, of the appliance's window; 0 = none
    std::uint32_t shares = 100;                 ///< 1..10000, of the window
    bool multi_resource = true;                 ///< false: the first of the limits alone decides (to compare)
};

/// A shared service whose requests are charged by what they ask for.
struct ApplianceConfig {
    std::string name;     ///< 1..31 of [A-Za-z0-9._-], unique
    std::string address;  ///< IPv4 or IPv6, as text
    std::uint16_t port = 0;
    std::string protocol;  ///< a name of kProtocolEntries
    std::string cost;      ///< its cost table: a file, or the name of one that comes with the switch
    std::string program;   ///< file of the operator's eBPF program after the table; empty = none
    std::optional<std::uint64_t> window_tokens;  ///< that this host may have outstanding there; absent = any
    Scheduler scheduler = Scheduler::kWrr;       ///< of those who wait for the window
};

/// An ESP tunnel to another Weir switch.
struct TunnelConfig {
    std::string name;                     ///< 1..31 of [A-Za-z0-9._-], unique
    std::string local;                    ///< this end's address on the wire, IPv4 or IPv6, as text
    std::string remote;                   ///< the other end's, of the same family
    std::optional<MacAddress> local_mac;  ///< absent = the uplink's own
    MacAddress remote_mac;                ///< the other end's, or that of the router to it
    std::uint32_t spi_out = 0;            ///< a multiple of 4096; the other end's spi_in
    std::uint32_t spi_in = 0;
    EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
    std::string key;                    ///< 64 hexadecimal digits; or empty, and
    std::string key_file;               ///< a file that holds them
    std::string device = "auto";        ///< the driver of the crypto device; auto = the fastest that starts
    std::vector<std::string> networks;  ///< addresses that are reached through it
    std::string cost;                   ///< its cost table, as an appliance's; resolved by the parser
    Nanos rekey = 3600 * kNanosPerSec;  ///< 1s..24h: keys are no older
};

struct VnicConfig {
    std::string name;    ///< 1..31 of [A-Za-z0-9._-], unique
    std::string socket;  ///< vhost-user socket path (absolute), or empty when `device` is set
    std::string device;  ///< any DPDK device (PCI address or vdev string) instead of a socket
    VhostMode mode = VhostMode::kClient;
    std::string tenant;
    std::optional<MacAddress> mac;           ///< required unless anti_spoofing is false
    std::uint16_t vlan = 0;                  ///< access VLAN 1..4094; 0 = untagged
    bool anti_spoofing = true;               ///< drop foreign source MACs and any VLAN tag from the guest
    std::optional<GuaranteeKind> guarantee;  ///< absent = strict with a reservation, shares without
    std::uint64_t reservation_bps = 0;       ///< 0 = none; of a dynamic guarantee size / time
    std::uint64_t size_bytes = 0;            ///< of a dynamic guarantee
    Nanos time = 0;                          ///< of a dynamic guarantee
    std::optional<std::uint64_t> limit_bps;  ///< absent = none
    std::optional<std::uint64_t> limit_pps;  ///< absent = none
    std::uint32_t shares = 100;              ///< 1..10000
    std::uint32_t cycle_shares = 100;        ///< 1..10000: weight in the worker's polling time
    std::uint32_t queues = 1;                ///< queue pairs, 1..kQueuesMax
    std::uint32_t mtu = 0;      ///< 68..9600; resolved by the parser to the uplink's, never 0 after it
    std::uint32_t buffers = 0;  ///< mbufs it may hold in queues; 0 = default
    bool tso = true;            ///< offer TSO (and the checksum offload that it needs)
    bool checksum = true;       ///< offer checksum offload
    bool mergeable = true;
    bool packed = true;
    std::vector<VnicApplianceConfig> appliances;  ///< services whose requests are tracked for this vNIC
    bool encrypt = false;  ///< what goes over the wire goes through a tunnel, or not at all
    std::optional<std::uint64_t> encrypt_limit;  ///< tokens per second of the tunnels' cost; absent = none
    bool isolation = true;                       ///< resolved: global `isolation` switch
    std::optional<std::uint16_t> worker;         ///< index into `workers`; absent = least loaded
};

struct UplinkConfig {
    std::string device;  ///< PCI address or vdev string; empty = no uplink
    std::uint64_t rate_bps = 10'000'000'000;
    double headroom = 0.10;  ///< 0..0.5
    Scheduler scheduler = Scheduler::kWrr;
    FlowOffload flow_offload = FlowOffload::kAuto;
    std::uint32_t mtu = 1500;          ///< 68..9600
    std::uint32_t descriptors = 1024;  ///< power of two, 64..4096
    /// Frames of vNICs without a reservation are marked so; absent = left as the guest made them.
    std::optional<std::uint8_t> best_effort_dscp;  ///< 0..63
    std::optional<std::uint8_t> best_effort_pcp;   ///< 0..7, where they carry a VLAN tag

    /// What may be promised and scheduled: the rate less the headroom, in bit/s.
    [[nodiscard]] std::uint64_t capacity_bps() const;
};

/// Receiver to sender: who receives more than its part tells the senders' switches (EyeQ).
struct FeedbackConfig {
    bool enabled = false;    ///< true with the section, unless it says otherwise
    Nanos period = 200'000;  ///< 50us..10ms: how often rates are measured
    FeedbackLaw law = FeedbackLaw::kLog;
    std::uint64_t rate_min_bps = 10'000'000;  ///< 1Mbit..1Gbit: no sender is ever told less
    std::string key_file;  ///< 32 hexadecimal digits, the cluster's secret; empty = frames carry no secret
};

/// The controller of the cluster; empty `connect` = none.
struct ControllerConfig {
    std::string connect;          ///< tcp://HOST:PORT or ipc:///PATH
    std::string server_key;       ///< its CURVE public key; needed by tcp
    std::string secret_key_file;  ///< this host's secret key; needed by tcp
};

struct SwitchConfig {
    std::string host;                  ///< load_config fills in the machine's name when absent
    std::vector<std::string> eal;      ///< extra EAL arguments
    std::vector<unsigned> workers{1};  ///< cores, one worker each
    std::optional<unsigned>
        agent_core;           ///< core of the agent and DPDK's control threads; absent = any but workers'
    bool overcommit = false;  ///< true: reservations may exceed the uplink's capacity
    bool isolation = true;    ///< false: forward only; no limits, reservations, WRR, cycle shares
    Accounting accounting = Accounting::kWire;
    UplinkConfig uplink;
    FeedbackConfig feedback;
    ControllerConfig controller;
    std::vector<ApplianceConfig> appliances;
    std::vector<TunnelConfig> tunnels;
    std::vector<VnicConfig> vnics;
    std::string control_socket = "/run/weir/switch.sock";
    PollMode poll = PollMode::kBusy;
    Nanos poll_sleep_max = 100'000;  ///< 10us..1ms
    Nanos poll_coalesce = 4'000;  ///< 0..50us: how long a ring with small bursts is left to fill; 0 = never
    Nanos mac_ageing = 300 * kNanosPerSec;
    std::uint64_t flood_limit_pps =
        20'000;                 ///< broadcast, multicast and unknown frames per vNIC (and uplink)
    std::uint32_t buffers = 0;  ///< mbufs in the pool; 0 = computed sum
};

/// Parses JSON with comments; on any fault returns all of them. Never throws on input.
[[nodiscard]] std::variant<SwitchConfig, Faults> parse_config(std::string_view text);
/// Reads the file; a missing or unreadable file is a fault too. Relative paths of cost tables and programs
/// are meant from its folder, and are made so.
[[nodiscard]] std::variant<SwitchConfig, Faults> load_config(const std::string& path);

/// One vNIC, as in `vnics[]`, for `weirctl vnic add`; `path` prefixes the faults. Checks against `others`.
[[nodiscard]] std::variant<VnicConfig, Faults> parse_vnic(const nlohmann::json& object,
                                                          const std::string& path, const SwitchConfig& base,
                                                          const std::vector<VnicConfig>& others);
/// Applies a partial object to a vNIC (`weirctl vnic set`): reservation, limit, limit_pps, shares,
/// cycle_shares, buffers may change at run time (null removes a limit); any other key is a fault that says
/// so.
[[nodiscard]] std::variant<VnicConfig, Faults> change_vnic(const VnicConfig& current,
                                                           const nlohmann::json& change,
                                                           const std::string& path, const SwitchConfig& base,
                                                           const std::vector<VnicConfig>& others);

/// The vNIC as JSON in the configuration's own words and units (round-trips through parse_vnic).
[[nodiscard]] nlohmann::json vnic_to_json(const VnicConfig& vnic);

/// What DPDK knows a device by: the PCI address in full, or a vdev's name. Two strings with the same identity
/// are the same device.
[[nodiscard]] std::string device_identity(std::string_view device);

}  // namespace weir
