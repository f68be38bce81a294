// scenario.h - scenario of a network: switches, hosts, tenants and sources; parsed once, checked as a whole.
// Source: docs/algorithms.md 13.1.
// Units: in the field names; ns.
// Threads: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bench/sim/fabric.h"
#include "bench/sim/periodic_limit.h"
#include "bench/sim/tcp_sender.h"
#include "common/error.h"
#include "vswitch/config/config.h"

namespace weir::sim {

enum class Isolation { kOff, kEyeqLinear, kRateLimits, kWeir };

struct HostsSpec {
    double headroom = 0.10;                                  ///< of the link, 0..0.5
    Nanos feedback_period = 200'000;                         ///< of the meters
    Nanos feedback_delay = 0;                                ///< added to each feedback frame's way
    std::uint32_t ring = 128;                                ///< packets that a guest may have waiting
    std::uint32_t nic_descriptors = 1024;                    ///< packets that wait in the NIC, without Weir
    Nanos stack_delay = 0;                                   ///< of the receiving guest
    const SchedulerEntry* scheduler = &kSchedulers.front();  ///< of the uplink
    bool overcommit = false;                                 ///< more may be promised than the link has
};

/// One vNIC on each of its hosts, all with the same promises.
struct TenantSpec {
    std::string name;
    std::vector<std::uint32_t> hosts;
    std::uint64_t reservation_bps = 0;
    std::uint64_t limit_bps = 0;  ///< 0 = none
    std::uint32_t shares = 100;
};

/// Flow sizes: bytes and the fraction of flows up to them, rising to 1; linear in between and from 0.
using SizeTable = std::vector<std::pair<double, double>>;

enum class SourceKind { kUdp, kTcp, kRequests, kPoisson };

struct SourceSpec {
    std::string name;
    SourceKind kind = SourceKind::kUdp;
    std::uint32_t tenant = 0;         ///< index
    std::vector<std::uint32_t> from;  ///< hosts
    std::vector<std::uint32_t> to;    ///< hosts; a host never sends to itself
    Nanos start = 0;
    Nanos stop = kNever;

    // udp
    std::uint64_t rate_bps = 0;  ///< on the wire, of each stream while it is on
    std::uint32_t frame = 1514;  ///< bytes without FCS
    Nanos on = kNever;
    Nanos off = 0;
    bool in_turn = false;  ///< each burst goes to the next destination; else one stream to each
    bool stagger = false;  ///< each sender starts anywhere in its period
    bool ecn = false;      ///< its packets may be marked

    // tcp, requests, poisson
    TcpProfile tcp;
    std::uint32_t connections = 1;  ///< of each pair
    std::uint64_t bytes = 0;        ///< tcp: of each connection; 0 = without end

    // requests
    std::uint64_t request = 1;
    std::uint64_t response = 1;
    std::uint32_t outstanding = 1;   ///< of each connection, when there is no request_rate
    std::uint32_t request_rate = 0;  ///< 1/s of each pair, Poisson; 0 = as fast as answers come
    Nanos service = 0;               ///< from request to response
    bool service_varies = false;     ///< exponentially distributed about that mean; else constant

    // poisson
    double load = 0;  ///< of each sending host's link
    SizeTable sizes;
};

struct Scenario {
    std::string title;
    std::uint64_t seed = 1;
    Nanos duration = 100'000'000;
    Nanos warmup = 0;
    Nanos sample = 1'000'000;
    Isolation isolation = Isolation::kWeir;
    FabricSpec network;
    HostsSpec hosts;
    PeriodicLimitSpec rate_limits;  ///< with Isolation::kRateLimits
    std::vector<TenantSpec> tenants;
    std::vector<SourceSpec> sources;
    std::vector<std::uint32_t> watch;  ///< hosts whose arrivals and queue are in the series
};

/// Parses JSON with comments; on any fault returns all of them. Never throws on input.
/// @param folder where relative file names (`sizes`) start
[[nodiscard]] std::variant<Scenario, Faults> parse_scenario(std::string_view text, const std::string& folder);
[[nodiscard]] std::variant<Scenario, Faults> load_scenario(const std::string& path);

/// off, eyeq-linear, rate-limits, weir
[[nodiscard]] std::string_view isolation_name(Isolation isolation);
/// @return false if there is none of that name
[[nodiscard]] bool find_isolation(std::string_view name, Isolation& out);

}  // namespace weir::sim
