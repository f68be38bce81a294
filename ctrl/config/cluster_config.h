// cluster_config.h - the cluster file of weir-ctrl as one struct: hosts, appliances, tenants, pools.
// Source: docs/design.md 5.2; Pulsar 2.2, 4.1
// Units: in the field names; all rates are per second. Threads: built at start; read-only afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/config/config_reader.h"
#include "common/config/json_text.h"
#include "common/config/metrics_config.h"
#include "common/config/vnic_promise.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "ctrl/alloc/vdc.h"
#include "ctrl/billing/price.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

inline constexpr std::uint64_t kLinkRateMax = 400'000'000'000;     // bit/s
inline constexpr std::uint64_t kTokenRateMax = 1'000'000'000'000;  // tokens/s
inline constexpr Range kTokenRange{1, kTokenRateMax};

/// A tenant's weight when the rest is divided among tenants: the part that it reserved, the weight in
/// the file, or 1.
enum class GlobalWeights : std::uint8_t { kGuarantees, kWeights, kEqual };

struct RackConfig {
    std::string name{};
    std::uint64_t uplink_bps = 0;  ///< each way, shared by all its hosts

    bool operator==(const RackConfig&) const = default;
};

struct HostConfig {
    std::string name{};
    std::uint64_t uplink_bps = 10'000'000'000;  ///< each way
    std::uint64_t encryption_tokens = 0;        ///< per second, of its switch's workers; 0 = not stated
    std::string rack{};                         ///< empty = traffic to other hosts shares no rack's uplink
    std::string key{};                          ///< CURVE public key, 40 characters of Z85; empty = ipc only
    std::uint32_t vms_max = 0;                  ///< VMs that placement may put there; 0 = any number
    bool drain = false;                         ///< no further vNIC comes that has no host of its own

    bool operator==(const HostConfig&) const = default;
};

/// A shared service whose capacity is between two known bounds.
struct ClusterApplianceConfig {
    std::string name{};              ///< as in the switches' files
    std::string host{};              ///< the host whose uplink it shares; empty = it has a link of its own
    std::uint64_t link_bps = 0;      ///< its own link, each way; 0 = never short
    std::uint64_t capacity_min = 0;  ///< tokens/s that it certainly has: the most that may be reserved
    std::uint64_t capacity_max = 0;  ///< tokens/s that it certainly does not exceed
    Nanos latency = 0;  ///< that pools hold it to, instead of a search for its capacity; 0 = search

    bool operator==(const ClusterApplianceConfig&) const = default;
};

struct TenantVnicConfig {
    std::string name{};                 ///< as in the switch's file; unique in the cluster
    std::string host{};                 ///< where it must be; empty = any host
    std::uint64_t reservation_bps = 0;  ///< each way, to and from the tenant's other vNICs (hose)
    std::optional<std::uint64_t> limit_bps{};
    std::uint32_t weight = 100;  ///< among the tenant's vNICs, and its shares of its host's uplink
    std::optional<GuaranteeKind> guarantee{};  ///< absent = strict with a reservation, fairness without
    std::uint64_t size_bytes = 0;              ///< of a dynamic guarantee, whose reservation is size / time
    Nanos time = 0;                            ///< likewise
    WorkerPromise worker{};                    ///< absent values are those of the switch's file
    std::string mac{};                         ///< that it must have, lower case; empty = any
    std::optional<std::uint16_t> vlan{};       ///< likewise; 0 = untagged

    bool operator==(const TenantVnicConfig&) const = default;
};

/// A virtual appliance: the tenant's part of a shared one.
struct TenantApplianceConfig {
    std::string name{};  ///< of the appliance
    std::uint64_t reservation_tokens = 0;
    std::optional<std::uint64_t> limit_tokens{};
    /// Reserved to and from it, each way; absent = the sum of the tenant's vNICs' reservations.
    std::optional<std::uint64_t> bandwidth_bps{};

    bool operator==(const TenantApplianceConfig&) const = default;
};

struct TenantConfig {
    std::string name{};
    alloc::SharingRule sharing_rule = alloc::SharingRule::kMinimum;  ///< of the reservations
    /// Divides the tenant's reservations among its flows
    const alloc::MechanismEntry* local = alloc::find_mechanism("drf");
    std::uint32_t weight = 100;  ///< among tenants, with GlobalWeights::kWeights
    std::vector<TenantVnicConfig> vnics;
    std::vector<TenantApplianceConfig> appliances;

    bool operator==(const TenantConfig&) const = default;
};

/// Where weir-ctrl answers the HTTP API, and to which tokens.
struct ApiConfig {
    std::string listen{};            ///< IP address and port; empty = nowhere
    std::string token_file{};        ///< names, roles and hashes of the tokens
    std::string certificate_file{};  ///< PEM; empty = no TLS, and `listen` is a loopback address
    std::string key_file{};          ///< of the certificate, PEM

    bool operator==(const ApiConfig&) const = default;
};

struct ClusterConfig {
    std::string name = "weir";
    Nanos interval = kNanosPerSec;  ///< 100ms..60s
    std::vector<std::string> listen{"ipc:///run/weir/admin/ctrl.ipc"};
    std::string secret_key_file{};  ///< CURVE secret key, 40 characters of Z85; needed by tcp
    std::string control_socket = "/run/weir/admin/ctrl.sock";
    std::string control_read_socket{};  ///< for commands that change nothing; empty = none
    std::string store = "/var/lib/weir/ctrl.db";
    MetricsConfig metrics{};
    ApiConfig api{};
    double headroom = 0.03;        ///< 0..0.5: part of every link that is left to new flows
    double resolve_change = 0.25;  ///< a demand that changes by this part of a resource is solved for at once
    /// 0..1h: guarantees of a host whose switch is silent are given to no other flow for so long
    Nanos keep_silent = 60 * kNanosPerSec;
    double confirm_above = 0.2;  ///< part of the vNICs: a change that concerns more is to be confirmed
    bool overcommit = false;     ///< reservations may exceed capacities, within the next two values
    double overcommit_utilization = 0.15;     ///< part of its reservation that a vNIC uses on average
    double overcommit_failure_max = 0.05;     ///< part of the time that reservations of a resource may fail
    std::optional<billing::Prices> prices{};  ///< rates in Mbit/s; absent = nothing is billed
    Nanos billing_period = kBillingPeriod;    ///< 1s..1h
    /// Divides the rest of the capacities among tenants
    const alloc::MechanismEntry* global = alloc::find_mechanism("hdrf");
    GlobalWeights global_weights = GlobalWeights::kGuarantees;
    std::vector<RackConfig> racks;
    std::vector<HostConfig> hosts;
    std::vector<ClusterApplianceConfig> appliances;
    std::vector<TenantConfig> tenants;
    std::vector<PoolConfig> pools;
};

/// The largest file of 100,000 vNICs has 2,220,000 values and 55 MB of text besides blanks.
inline constexpr JsonBounds kClusterBounds{.bytes = 128U << 20, .values = 2'400'000};

/// A check beyond the file's form, such as placement_faults() of ctrl/placement.
using ClusterCheck = std::function<Faults(const ClusterConfig&)>;

/// Parses JSON with comments. Never throws on input.
/// @param check is called once with the configuration as read, even with faults; empty: only the form is
/// checked
/// @return the configuration, or all faults in the order of the text
[[nodiscard]] std::variant<ClusterConfig, Faults> parse_cluster(std::string_view text,
                                                                const ClusterCheck& check = {});
/// Reads and parses a file; a file that cannot be read is a fault too.
[[nodiscard]] std::variant<ClusterConfig, Faults> load_cluster(const std::string& path,
                                                               const ClusterCheck& check = {});

/// Reads the list `pools`, which scenarios of the simulator have too.
void read_pools(ObjectReader& root, std::vector<PoolConfig>& out, Faults& faults);

}  // namespace weir
