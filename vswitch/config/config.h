// config.h - the switch's configuration: one struct, parsed once and validated as a whole.
// Source: docs/design.md 5.2. Units: in the field names; Nanos.
// Threads: made at start or by the agent; read-only afterwards. configs/default.jsonc documents the keys.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/config/metrics_config.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "common/ip_address.h"
#include "vswitch/esp/esp_sizes.h"
#include "vswitch/qos/feedback/registry.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir {

enum class VhostMode { kClient, kServer };  ///< client: QEMU listens on the socket; server: the switch
enum class Accounting { kWire, kL2 };       ///< bytes of a frame with or without FCS, preamble and gap
enum class FlowOffload { kAuto, kOff };     ///< steering of frames by the NIC (rte_flow)
enum class PollMode { kBusy, kAdaptive };
enum class DhcpRole { kClient, kServer };

/// A MAC address. The low 6 bytes of `bits` are its bytes in the order on the wire (memcpy on a little-endian
/// machine).
struct MacAddress {
    std::uint64_t bits = 0;
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] static std::optional<MacAddress> parse(std::string_view text);
    auto operator<=>(const MacAddress&) const = default;
};

/// A vNIC's part of an appliance, and of the links to it and back. An absent limit is none.
struct VnicApplianceConfig {
    std::string name;                           ///< of an entry of `appliances`
    std::optional<std::uint64_t> limit_tokens;  ///< per second, at the appliance
    std::optional<std::uint64_t> uplink_bps;    ///< limit of the requests on this host's uplink
    std::optional<std::uint64_t> downlink_bps;  ///< limit of the responses on the way back
    Nanos burst = 1'000'000'000;                ///< 1ms..10s: size of the buckets, as time at their rates
    std::optional<std::uint64_t> cycles;        ///< limit of the worker's cycles per second
    std::uint64_t reservation_tokens = 0;       ///< per second, in the appliance's window; 0 = none
    std::uint32_t shares = 100;                 ///< 1..10000, of the window
    bool multi_resource = true;                 ///< false: only the first limit counts, for comparisons
};

/// A shared service whose requests are charged by their costs.
struct ApplianceConfig {
    std::string name;     ///< 1..31 of [A-Za-z0-9._-], unique
    std::string address;  ///< IPv4 or IPv6, as text
    std::uint16_t port = 0;
    std::string protocol;  ///< a name of kProtocolEntries
    std::string cost;      ///< its cost table: a file, or the name of a shipped table
    std::string program;   ///< file of an eBPF program that corrects the table's cost; empty = none
    std::optional<std::uint64_t> window_tokens;  ///< outstanding from this host at most; absent = no bound
    const SchedulerEntry* scheduler = &kSchedulers.front();  ///< of requests that wait for the window
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
    std::string key;  ///< 64 hexadecimal digits; empty = they are in key_file
    std::string key_file;
    std::string device = "auto";        ///< driver of the crypto device; auto = the fastest that starts
    std::vector<std::string> networks;  ///< addresses behind the other end, as prefixes
    std::string cost;  ///< its cost table, as of an appliance; the parser fills in the default
    Nanos rekey = 3600 * kNanosPerSec;  ///< 1s..24h: greatest age of keys
};

struct VnicConfig {
    std::string name;    ///< 1..31 of [A-Za-z0-9._-], unique
    std::string socket;  ///< vhost-user socket path (absolute), or empty when `device` is set
    std::string device;  ///< any DPDK device (PCI address or vdev string) instead of a socket
    VhostMode mode = VhostMode::kClient;
    std::string socket_group;  ///< of a socket that the switch makes; empty = its folder's rule
    std::optional<std::uint32_t> socket_mode;  ///< of it, such as 0660; absent = as the umask leaves it
    std::string tenant;
    std::optional<MacAddress> mac;  ///< required unless anti_spoofing is false
    std::uint16_t vlan = 0;         ///< access VLAN 1..4094; 0 = untagged
    bool anti_spoofing = true;      ///< drop foreign source MACs and any VLAN tag from the guest
    // With one of these three the guest's addresses are guarded.
    std::vector<IpNetwork> addresses{};      ///< that the guest may use, at most kVnicAddressesMax
    std::optional<DhcpRole> dhcp;            ///< client: may use addresses assigned to it; server: may assign
    std::optional<bool> router;              ///< may advertise itself, and send packets of other sources
    std::optional<GuaranteeKind> guarantee;  ///< absent = strict with a reservation, fairness without
    std::uint64_t reservation_bps = 0;       ///< 0 = none; size / time of a dynamic guarantee
    std::uint64_t reservation_pps = 0;       ///< packets of 64 bytes taken from its ring; 0 = none
    std::uint64_t size_bytes = 0;            ///< of a dynamic guarantee
    Nanos time = 0;                          ///< of a dynamic guarantee
    std::optional<std::uint64_t> limit_bps;  ///< absent = none
    std::optional<std::uint64_t> limit_pps;  ///< absent = none
    std::uint32_t shares = 100;              ///< 1..10000
    std::optional<std::uint64_t>
        receive_reservation_bps;                     ///< of the downlink; absent = as reserved for sending
    std::optional<std::uint64_t> receive_limit_bps;  ///< of all that it receives; absent = none
    std::optional<std::uint32_t> receive_shares;     ///< 1..10000; absent = `shares`
    std::uint32_t cycle_shares = 100;                ///< 1..10000: weight in the worker's polling time
    std::uint32_t queues = 1;                        ///< queue pairs, 1..kQueuesMax
    bool spread = false;                             ///< several workers poll its queue pairs
    std::uint32_t members = 1;                       ///< workers that do; filled in by the parser
    std::uint32_t mtu = 0;                           ///< 68..9600; the parser fills in the uplink's
    std::uint32_t buffers = 0;                       ///< mbufs it may hold in queues; 0 = default
    bool tso = true;                                 ///< offer TSO (and the checksum offload that it needs)
    bool checksum = true;                            ///< offer checksum offload
    bool mergeable = true;
    bool packed = true;
    std::vector<VnicApplianceConfig> appliances;  ///< whose requests are tracked for this vNIC
    bool encrypt = false;                         ///< send over the wire only through tunnels
    std::uint64_t encrypt_reservation = 0;        ///< tokens per second of the tunnels' cost; 0 = none
    std::optional<std::uint64_t> encrypt_limit;   ///< tokens per second of the tunnels' cost; absent = none
    bool isolation = true;                        ///< filled in by the parser from the switch's `isolation`
    std::optional<std::uint16_t> worker;          ///< index into `workers`; absent = least loaded
};

struct UplinkConfig {
    std::string device;  ///< PCI address or vdev string; empty = no uplink
    std::uint64_t rate_bps = 10'000'000'000;
    double headroom = 0.10;  ///< 0..0.5
    const SchedulerEntry* scheduler = &kSchedulers.front();
    FlowOffload flow_offload = FlowOffload::kAuto;
    std::uint32_t mtu = 1500;          ///< 68..9600
    std::uint32_t descriptors = 1024;  ///< power of two, 64..4096
    // Marks of frames from vNICs without a reservation; absent = the guest's marks stay.
    std::optional<std::uint8_t> best_effort_dscp;  ///< 0..63
    std::optional<std::uint8_t> best_effort_pcp;   ///< 0..7, of frames with a VLAN tag

    /// The rate that can be reserved and scheduled: `rate_bps` less the headroom, in bit/s.
    [[nodiscard]] std::uint64_t capacity_bps() const;
};

/// Feedback from receivers to senders (EyeQ): a receiver's switch advertises rates to the senders' switches.
struct FeedbackConfig {
    bool enabled = false;    ///< default of a configuration with the section: true
    Nanos period = 200'000;  ///< 50us..10ms between two measurements of the rates
    const RateLawEntry* law = &kRateLaws.front();
    std::uint64_t rate_min_bps = 10'000'000;  ///< 1Mbit..1Gbit: least rate that is advertised
    std::string key_file;                     ///< file with the cluster's secret, 32 hexadecimal digits

    /// Feedback is on. Without a key any machine on the wire could set rates, so that it stays off.
    [[nodiscard]] bool is_on() const { return enabled && !key_file.empty(); }
};
/// Why feedback that is enabled is off.
inline constexpr const char* kFeedbackWithoutKey =
    "no feedback.key_file: without a key any machine on the wire could set rates";

/// The controller of the cluster; empty `connect` = none.
/// The service of a vNIC that the controller refuses.
enum class OnRefused : std::uint8_t {
    kHold,        ///< none: its frames wait
    kBestEffort,  ///< without reservation, after all others
};

struct ControllerConfig {
    std::string connect;          ///< tcp://HOST:PORT or ipc:///PATH
    std::string server_key;       ///< the controller's CURVE public key; tcp needs it
    std::string secret_key_file;  ///< file with this host's secret key; tcp needs it
    std::string promises_file;    ///< where its promises outlast the switch; empty = CONTROL_SOCKET.promises
    OnRefused on_refused = OnRefused::kHold;
    OnRefused on_unknown = OnRefused::kBestEffort;  ///< of a vNIC that the controller does not know
};

struct SwitchConfig {
    std::string host;                    ///< load_config() fills in the machine's name
    std::vector<std::string> eal;        ///< additional EAL arguments
    std::vector<unsigned> workers{1};    ///< cores, one worker each
    std::optional<unsigned> agent_core;  ///< core of the agent; absent = see agent_core()
    bool balance = false;                ///< vNICs without a `worker` move between workers by themselves
    bool overcommit = false;             ///< true: reservations may exceed the uplink's capacity
    bool isolation = true;               ///< false: forward without limits, reservations and shares
    Accounting accounting = Accounting::kWire;
    UplinkConfig uplink;
    FeedbackConfig feedback;
    ControllerConfig controller;
    std::vector<ApplianceConfig> appliances;
    std::string cycle_costs;  ///< file with the cycles that requests cost this host; empty = not charged
    std::vector<TunnelConfig> tunnels;
    std::vector<VnicConfig> vnics;
    std::string control_socket = "/run/weir/admin/switch.sock";
    std::string control_read_socket;  ///< for commands that change nothing; empty = none
    MetricsConfig metrics;
    PollMode poll = PollMode::kBusy;
    Nanos poll_sleep_max = 100'000;  ///< 10us..1ms
    Nanos poll_coalesce = 4'000;  ///< 0..50us: time that a ring with small bursts is left to fill; 0 = never
    Nanos mac_aging = 300 * kNanosPerSec;
    std::uint64_t flood_limit_pps = 20'000;  ///< flooded frames per vNIC, and of the uplink
    std::uint32_t buffers = 0;  ///< mbufs in each pool; 0 = pool_buffers(), the sum of all quotas
};

/// Buffers in the pool of each NUMA node that has a worker: `buffers`, or the sum that vNICs, devices, rings
/// and workers may hold, with eight vNICs more.
[[nodiscard]] std::uint32_t pool_buffers(const SwitchConfig& config);

/// The uplink's rate that is reserved for the vNIC, in bit/s: `reservation`, or the accounted rate of
/// `reservation_pps` packets of 64 bytes if that is more. 500 kpps are 352 Mbit/s: 88 bytes each with FCS,
/// preamble and gap.
[[nodiscard]] std::uint64_t uplink_reservation_bps(const VnicConfig& vnic, Accounting accounting);

/// Parses JSON with comments; returns all faults if there are any. Never throws on input.
[[nodiscard]] std::variant<SwitchConfig, Faults> parse_config(std::string_view text);
/// Reads and parses the file; a file that cannot be read is a fault too. Relative paths of cost tables and
/// programs start at the file's folder: the result has them with it.
[[nodiscard]] std::variant<SwitchConfig, Faults> load_config(const std::string& path);

/// Parses one vNIC, as in `vnics[]`, for `weirctl vnic add`, and checks it against `others`.
/// @param path of the object, in front of the faults' paths
[[nodiscard]] std::variant<VnicConfig, Faults> parse_vnic(const nlohmann::json& object,
                                                          const std::string& path, const SwitchConfig& base,
                                                          const std::vector<VnicConfig>& others);
/// Applies a partial object to a vNIC, for `weirctl vnic set`; null removes a limit. A key that cannot change
/// at run time is a fault that lists the keys that can.
[[nodiscard]] std::variant<VnicConfig, Faults> change_vnic(const VnicConfig& current,
                                                           const nlohmann::json& change,
                                                           const std::string& path, const SwitchConfig& base,
                                                           const std::vector<VnicConfig>& others);

/// The vNIC as JSON with the configuration's keys and units: parse_vnic() reads it back.
[[nodiscard]] nlohmann::json vnic_to_json(const VnicConfig& vnic);

/// DPDK's name of a device: the full PCI address, or the vdev's name. Two strings with the same identity name
/// the same device.
[[nodiscard]] std::string device_identity(std::string_view device);

}  // namespace weir
