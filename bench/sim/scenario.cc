// scenario.cc - parser of Scenario: its sections in turn, then the checks between them.
#include "bench/sim/scenario.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/sim/scenario_fields.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::array kIsolations{
    Word<Isolation>{"off", Isolation::kOff}, Word<Isolation>{"eyeq-linear", Isolation::kEyeqLinear},
    Word<Isolation>{"rate-limits", Isolation::kRateLimits}, Word<Isolation>{"weir", Isolation::kWeir}};
constexpr std::array kSignals{Word<CongestionSignal>{"loss", CongestionSignal::kLoss},
                              Word<CongestionSignal>{"queue", CongestionSignal::kQueue}};
constexpr std::array kEcmps{Word<Ecmp>{"flow", Ecmp::kFlow}, Word<Ecmp>{"packet", Ecmp::kPacket}};
constexpr std::uint64_t kPointsMax = 100'000;  // of a series
constexpr std::uint64_t kTenantsMax = 64;
constexpr std::uint64_t kSourcesMax = 64;

void read_network(ObjectReader& root, FabricSpec& network, Faults& faults) {
    const json* object = root.take("network");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "network", faults);
    if (!object->is_object())
        return;
    reader.read_integer("hosts", network.hosts, {2, kHostsMax});
    reader.read_integer("leaves", network.leaves, {1, 64});
    reader.read_integer("spines", network.spines, {0, 64});
    reader.read_quantity("rate", Quantity::kBitRate, network.rate_bps, kRateRange);
    network.uplink_rate_bps = network.rate_bps;
    reader.read_quantity("uplink_rate", Quantity::kBitRate, network.uplink_rate_bps, kRateRange);
    reader.read_quantity("delay", Quantity::kDuration, network.delay, {0, kNanosPerSec});
    reader.read_quantity("port_buffer", Quantity::kSize, network.port_buffer, kBufferRange);
    reader.read_quantity("shared_buffer", Quantity::kSize, network.shared_buffer, kBufferRange);
    read_part(reader, "buffer_threshold", network.buffer_threshold, {10'000, 100'000'000});
    reader.read_limit("ecn_threshold", Quantity::kSize, network.ecn_threshold, kBufferRange);
    reader.read_flag("best_effort_class", network.best_effort_class);
    reader.read_word<Ecmp>("ecmp", network.ecmp, kEcmps);
    if (network.hosts % network.leaves != 0)
        reader.fault("leaves", "a divisor of \"hosts\"", "every leaf has as many hosts");
    if ((network.leaves > 1) != (network.spines > 0))
        reader.fault("spines", "spines if there are several leaves, none for a single switch",
                     "leaves and spines come together");
    reader.finish();
}

void read_hosts_section(ObjectReader& root, HostsSpec& hosts, Faults& faults) {
    const json* object = root.take("hosts");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "hosts", faults);
    read_part(reader, "headroom", hosts.headroom, {0, 500'000});
    reader.read_quantity("feedback_period", Quantity::kDuration, hosts.feedback_period, {50'000, 10'000'000});
    reader.read_quantity("feedback_delay", Quantity::kDuration, hosts.feedback_delay, {0, kNanosPerSec});
    reader.read_integer("ring", hosts.ring, {1, 4096});
    reader.read_integer("nic_descriptors", hosts.nic_descriptors, {1, 4096});
    reader.read_entry<SchedulerEntry>("scheduler", hosts.scheduler, kSchedulers);
    reader.read_flag("overcommit", hosts.overcommit);
    reader.read_quantity("stack_delay", Quantity::kDuration, hosts.stack_delay, {0, kNanosPerSec});
    reader.finish();
}

void read_rate_limits(ObjectReader& root, PeriodicLimitSpec& limits, Faults& faults) {
    const json* object = root.take("rate_limits");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "rate_limits", faults);
    reader.read_quantity("period", Quantity::kDuration, limits.period, {1'000'000, kNanosPerSec});
    reader.read_word<CongestionSignal>("signal", limits.signal, kSignals);
    reader.read_integer("queue", limits.queue, {1, 4096});
    read_part(reader, "decrease", limits.decrease, {10'000, 500'000});
    reader.read_integer("regain", limits.regain, {1, 1'000});
    read_part(reader, "ceiling", limits.ceiling, {500'000, 1'000'000});
    reader.finish();
}

void read_tenant(const json& object, const std::string& path, Scenario& scenario, Faults& faults) {
    TenantSpec& tenant = scenario.tenants.emplace_back();
    ObjectReader reader(object, path, faults);
    if (!object.is_object())
        return;
    read_required_name(reader, tenant.name);
    const auto same = [&](const TenantSpec& other) { return other.name == tenant.name; };
    if (std::count_if(scenario.tenants.begin(), scenario.tenants.end(), same) > 1)
        reader.fault("name", "a name of its own", "another tenant has this name");
    tenant.hosts = read_host_set(reader, "hosts", scenario.network.hosts, "all");
    reader.read_quantity("reservation", Quantity::kBitRate, tenant.reservation_bps, {0, kRateRange.max});
    reader.read_quantity("limit", Quantity::kBitRate, tenant.limit_bps, kRateRange);
    reader.read_integer("shares", tenant.shares, {1, 10'000});
    if (tenant.limit_bps != 0 && tenant.limit_bps < tenant.reservation_bps)
        reader.fault("limit", "at least the reservation", "the limit is below the reservation");
    reader.finish();
}

/// Reads each element of a list with read(element, path).
template <class Read>
void read_list(ObjectReader& root, std::string_view key, std::uint64_t most, Read&& read) {
    const json* list = root.take(key);
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > most) {
        root.fault(key, "a list of 1 to " + std::to_string(most) + " objects", "this cannot be simulated");
        return;
    }
    for (std::size_t i = 0; i < list->size(); ++i)
        read((*list)[i], std::string(key) + '[' + std::to_string(i) + ']');
}

/// On no host may more be promised than the link less its headroom has.
void check_reservations(const Scenario& scenario, Faults& faults) {
    const auto capacity = static_cast<std::uint64_t>(static_cast<double>(scenario.network.rate_bps) *
                                                     (1 - scenario.hosts.headroom));
    std::vector<std::uint64_t> promised(scenario.network.hosts);
    for (const TenantSpec& tenant : scenario.tenants)
        for (const std::uint32_t host : tenant.hosts)
            promised[host] += tenant.reservation_bps;
    if (scenario.hosts.overcommit)
        return;
    const auto most = std::max_element(promised.begin(), promised.end());
    if (*most > capacity)
        faults.push_back(
            {"tenants",
             "reservations of " + format_rate(*most) + " on host " + std::to_string(most - promised.begin()),
             "at most " + format_rate(capacity) + ", the link less its headroom",
             "the hosts cannot keep these promises"});
}

void read_times(ObjectReader& reader, Scenario& scenario) {
    reader.read_quantity("duration", Quantity::kDuration, scenario.duration, {1'000, 3'600 * kNanosPerSec});
    reader.read_quantity("warmup", Quantity::kDuration, scenario.warmup, {0, 3'600 * kNanosPerSec});
    reader.read_quantity("sample", Quantity::kDuration, scenario.sample, {1'000, 3'600 * kNanosPerSec});
    if (scenario.warmup >= scenario.duration)
        reader.fault("warmup", "less than \"duration\"", "nothing would be measured");
    if (scenario.sample > scenario.duration || scenario.duration / scenario.sample > kPointsMax)
        reader.fault("sample", "the duration or less, and at most 100000 samples of it",
                     "the series would have no or too many points");
}

Scenario read_scenario(const json& root, const std::string& folder, Faults& faults) {
    Scenario scenario;
    ObjectReader reader(root, "", faults);
    std::string schema;  // for editors
    reader.read_text("$schema", schema);
    reader.read_text("title", scenario.title);
    reader.read_integer("seed", scenario.seed, {0, INT64_MAX});
    read_times(reader, scenario);
    reader.read_word<Isolation>("isolation", scenario.isolation, kIsolations);
    read_network(reader, scenario.network, faults);
    read_hosts_section(reader, scenario.hosts, faults);
    read_rate_limits(reader, scenario.rate_limits, faults);
    read_list(reader, "tenants", kTenantsMax, [&](const json& object, const std::string& path) {
        read_tenant(object, path, scenario, faults);
    });
    read_list(reader, "sources", kSourcesMax, [&](const json& object, const std::string& path) {
        scenario.sources.push_back(read_source(object, path, scenario, folder, faults));
    });
    scenario.watch = read_host_set(reader, "watch", scenario.network.hosts, "none");
    reader.finish();
    check_reservations(scenario, faults);
    return scenario;
}

}  // namespace

std::variant<Scenario, Faults> parse_scenario(std::string_view text, const std::string& folder) {
    return parse_document<Scenario>(
        text, [&](const json& root, Faults& faults) { return read_scenario(root, folder, faults); });
}

std::variant<Scenario, Faults> load_scenario(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return load_document(path, [&](const std::string& text) { return parse_scenario(text, folder); });
}

std::string_view isolation_name(Isolation isolation) {
    return kIsolations[static_cast<std::size_t>(isolation)].text;
}

bool find_isolation(std::string_view name, Isolation& out) {
    const auto* const found = std::ranges::find(kIsolations, name, &Word<Isolation>::text);
    if (found == kIsolations.end())
        return false;
    out = found->value;
    return true;
}

}  // namespace weir::sim
