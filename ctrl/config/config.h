// config.h - the cluster file as one struct: hosts, appliances, tenants and what each was promised.
// Source: design section 5 ("Cluster file"), Pulsar 2.2 and 4.1. Units: in the field names.
// Threads: built at start; read-only afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "ctrl/alloc/vdc.h"
#include "ctrl/billing/price.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

/// By what tenants weigh when what is left is divided.
enum class GlobalWeights : std::uint8_t { kGuarantees, kWeights, kEqual };

struct RackConfig {
    std::string name{};
    std::uint64_t uplink_bps = 0;  ///< of all its hosts together, each way
};

struct HostConfig {
    std::string name{};
    std::uint64_t uplink_bps = 10'000'000'000;  ///< each way
    std::string rack{};                         ///< empty = no link is shared on the way to others
    std::string key{};          ///< its CURVE public key, 40 characters of Z85; empty = ipc only
    std::uint32_t vms_max = 0;  ///< that placement may put there; 0 = any number
};

/// A shared service with an unknown capacity between two known bounds.
struct ClusterApplianceConfig {
    std::string name{};              ///< as in the switches' own files
    std::string host{};              ///< behind whose uplink it is; empty = behind a link of its own
    std::uint64_t link_bps = 0;      ///< of its own link, each way; 0 = never short
    std::uint64_t capacity_min = 0;  ///< tokens per second that it surely has: what may be promised
    std::uint64_t capacity_max = 0;  ///< that it surely has not more than
    Nanos latency = 0;  ///< within which it is held where pools divide it; 0 = its capacity is searched for
};

/// A VM in a pool: what it may have of the pool's appliance.
struct TenantVnicConfig {
    std::string name{};                 ///< as in the switch's own file, unique in the cluster
    std::string host{};                 ///< where it must be; empty = where a switch says it has it
    std::uint64_t reservation_bps = 0;  ///< each way, to and from the tenant's other vNICs (hose)
    std::optional<std::uint64_t> limit_bps{};
    std::uint32_t weight = 100;  ///< among the tenant's vNICs

    bool operator==(const TenantVnicConfig&) const = default;
};

/// A virtual appliance: the tenant's part of a shared one.
struct TenantApplianceConfig {
    std::string name{};  ///< of the appliance
    std::uint64_t reservation_tokens = 0;
    std::optional<std::uint64_t> limit_tokens{};
    /// Guaranteed to and from it, each way; absent = what the tenant's vNICs have together.
    std::optional<std::uint64_t> bandwidth_bps{};

    bool operator==(const TenantApplianceConfig&) const = default;
};

struct TenantConfig {
    std::string name{};
    alloc::SharingRule sharing_rule = alloc::SharingRule::kMinimum;
    /// How it divides what it reserved among its flows.
    const alloc::MechanismEntry* local = alloc::find_mechanism("drf");
    std::uint32_t weight = 100;  ///< among tenants, where `global.weights` says so
    std::vector<TenantVnicConfig> vnics;
    std::vector<TenantApplianceConfig> appliances;

    bool operator==(const TenantConfig&) const = default;
};

struct ClusterConfig {
    std::string name = "weir";
    Nanos interval = kNanosPerSec;  ///< 100ms..60s
    std::vector<std::string> listen{"ipc:///run/weir/ctrl.ipc"};
    std::string secret_key_file{};  ///< CURVE secret key, 40 characters of Z85; needed by tcp
    std::string control_socket = "/run/weir/ctrl.sock";
    std::string store = "/var/lib/weir/ctrl.db";
    double headroom = 0.03;        ///< 0..0.5 of every link, for new flows
    double resolve_change = 0.25;  ///< a demand that changes by this part of a resource is solved at once
    bool overcommit = false;       ///< promises may exceed what surely is there, as often as the next two say
    double overcommit_utilisation = 0.15;  ///< of what it was promised a vNIC uses so much on average
    double overcommit_failure_max = 0.05;  ///< promises of a link or appliance may fail for this part of time
    std::optional<billing::Prices> prices{};  ///< rates in Mbit/s; absent = nothing is billed
    Nanos billing_period = kBillingPeriod;    ///< 1s..1h
    const alloc::MechanismEntry* global = alloc::find_mechanism("hdrf");
    GlobalWeights global_weights = GlobalWeights::kGuarantees;
    std::vector<RackConfig> racks;
    std::vector<HostConfig> hosts;
    std::vector<ClusterApplianceConfig> appliances;
    std::vector<TenantConfig> tenants;
    std::vector<PoolConfig> pools;
};

/// What is asked of a configuration beyond its form: ctrl/placement's placement_faults().
using ClusterCheck = std::function<Faults(const ClusterConfig&)>;

/// Parses JSON with comments; on any fault returns all of them, in the order of the text. Never throws on
/// input. @param check called once with what was read, however faulty; empty: form alone
[[nodiscard]] std::variant<ClusterConfig, Faults> parse_cluster(std::string_view text,
                                                                const ClusterCheck& check = {});
/// Reads the file; a missing or unreadable file is a fault too.
[[nodiscard]] std::variant<ClusterConfig, Faults> load_cluster(const std::string& path,
                                                               const ClusterCheck& check = {});

}  // namespace weir
