// pool_scenario.cc - parser of PoolScenario; pools are written as in the specification of a cluster.
#include "bench/sim/pools/pool_scenario.h"

#include <algorithm>
#include <array>
#include <set>

#include "bench/sim/services/service_fields.h"
#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/pools/pool_layout.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr Range kTimeRange{0, 86'400 * kNanosPerSec};
constexpr Range kLatencyRange{1'000, 10 * kNanosPerSec};
constexpr std::array kControls{Word<PoolControl>{"off", PoolControl::kOff},
                               Word<PoolControl>{"srp", PoolControl::kSrp},
                               Word<PoolControl>{"parda", PoolControl::kParda}};

void read_tokens(ObjectReader& reader, std::string_view key, double& out) {
    std::uint64_t tokens = 0;
    if (reader.read_quantity(key, Quantity::kTokens, tokens, {1, 1'000'000}))
        out = static_cast<double>(tokens);
}

void read_array(ObjectReader& root, PoolScenario& scenario, const std::string& costs, Faults& faults) {
    const json* object = root.take("array");
    if (object == nullptr) {
        root.fault("array", "{\"name\": \"array\", ...}", "this is needed");
        return;
    }
    ObjectReader reader(*object, "array", faults);
    ServiceSpec& array = scenario.array;
    if (require(reader, "name", "a name"))
        reader.read_text("name", array.name);
    reader.read_integer("servers", array.servers, {1, 10'000});
    read_curve(reader, "read", array.read);
    read_curve(reader, "write", array.write);
    read_part(reader, "variation", array.variation);
    read_costs(reader, costs, array, faults);
    if (require(reader, "capacity_min", "tokens per second, such as \"3ktokens\""))
        reader.read_quantity("capacity_min", Quantity::kTokenRate, array.capacity_min, {1, kTokenRateMax});
    reader.read_quantity("latency", Quantity::kDuration, scenario.latency, kLatencyRange);
    read_tokens(reader, "window", scenario.window);
    reader.finish();
}

void read_vm(ObjectReader& reader, PoolScenario& scenario) {
    PoolVmSpec& vm = scenario.vms.emplace_back();
    if (require(reader, "name", "a name"))
        reader.read_text("name", vm.name);
    std::string host;
    if (require(reader, "host", "a name") && reader.read_text("host", host)) {
        const auto found = std::find(scenario.hosts.begin(), scenario.hosts.end(), host);
        vm.host = static_cast<std::uint32_t>(found - scenario.hosts.begin());
        if (found == scenario.hosts.end())
            scenario.hosts.push_back(host);
    }
    read_part(reader, "reads", vm.reads);
    std::uint64_t bytes = 0;
    if (require(reader, "size", "bytes, such as \"8KiB\"") &&
        reader.read_quantity("size", Quantity::kSize, bytes, {1, 64 << 20}))
        vm.bytes = static_cast<std::uint32_t>(bytes);
    reader.read_integer("outstanding", vm.outstanding, {1, 10'000});
    for (const auto& [key, out] : {std::pair{"think", &vm.think},
                                   {"on", &vm.on},
                                   {"off", &vm.off},
                                   {"from", &vm.from},
                                   {"to", &vm.to}})
        reader.read_quantity(key, Quantity::kDuration, *out, kTimeRange);
    if ((vm.on == 0) != (vm.off == 0))
        reader.fault("off", "both \"on\" and \"off\", or neither", "bursts need pauses");
}

void read_event(ObjectReader& reader, PoolScenario& scenario) {
    PoolEvent& event = scenario.events.emplace_back();
    if (require(reader, "at", "a time, such as \"60s\""))
        reader.read_quantity("at", Quantity::kDuration, event.at, kTimeRange);
    if (require(reader, "name", "a pool or a VM"))
        reader.read_text("name", event.name);
    std::uint64_t value = 0;
    if (reader.read_quantity("reservation", Quantity::kTokenRate, value, {0, kTokenRateMax}))
        event.reservation = value;
    std::optional<std::uint64_t> limit;
    if (reader.read_limit("limit", Quantity::kTokenRate, limit, {1, kTokenRateMax}))
        event.limit = limit;
    std::uint32_t shares = 0;
    if (reader.read_integer("shares", shares, {1, 10'000}))
        event.shares = shares;
}

/// Names that must lead somewhere.
void check(const PoolScenario& scenario, Faults& faults) {
    check_pool_tree(scenario.pools, faults);
    std::set<std::string> names;
    for (const PoolVmSpec& vm : scenario.vms)
        names.insert(vm.name);
    for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
        const std::string path = "pools[" + std::to_string(i) + ']';
        if (scenario.pools[i].parent.empty() && scenario.pools[i].appliance != scenario.array.name)
            faults.push_back({path + ".appliance", scenario.pools[i].appliance, scenario.array.name,
                              "there is one appliance"});
        for (std::size_t j = 0; j < scenario.pools[i].vnics.size(); ++j)
            if (!names.contains(scenario.pools[i].vnics[j].name))
                faults.push_back({path + ".vnics[" + std::to_string(j) + "].name",
                                  scenario.pools[i].vnics[j].name, "a name from \"vms\"", "there is none"});
    }
    for (const PoolConfig& pool : scenario.pools)
        names.insert(pool.name);
    for (std::size_t i = 0; i < scenario.events.size(); ++i)
        if (!names.contains(scenario.events[i].name))
            faults.push_back({"events[" + std::to_string(i) + "].name", scenario.events[i].name,
                              "a name from \"pools\" or \"vms\"", "there is none"});
}

PoolScenario read_scenario(const json& root, const std::string& costs, Faults& faults) {
    PoolScenario scenario;
    ObjectReader reader(root, "", faults);
    std::string schema;  // for editors
    reader.read_text("$schema", schema);
    reader.read_text("title", scenario.title);
    reader.read_integer("seed", scenario.seed, {0, INT64_MAX});
    if (require(reader, "duration", "a time, such as \"30s\""))
        reader.read_quantity("duration", Quantity::kDuration, scenario.duration, kTimeRange);
    reader.read_quantity("warmup", Quantity::kDuration, scenario.warmup, kTimeRange);
    reader.read_quantity("interval", Quantity::kDuration, scenario.interval,
                         {100'000'000, 60 * kNanosPerSec});
    reader.read_quantity("record", Quantity::kDuration, scenario.record, {1'000'000, 60 * kNanosPerSec});
    reader.read_quantity("delay", Quantity::kDuration, scenario.delay, {0, kNanosPerSec});
    reader.read_word<PoolControl>("control", scenario.control, kControls);
    reader.read_entry<SchedulerEntry>("scheduler", scenario.scheduler, kSchedulers);
    read_part(reader, "gamma", scenario.gamma);
    read_tokens(reader, "parda_beta", scenario.parda_beta);
    read_array(reader, scenario, costs, faults);
    read_pools(reader, scenario.pools, faults);
    read_objects(reader, "vms", kEntriesMost, faults,
                 [&](ObjectReader& entry, const std::string&) { read_vm(entry, scenario); });
    read_objects(reader, "events", kEntriesMost, faults,
                 [&](ObjectReader& entry, const std::string&) { read_event(entry, scenario); });
    reader.finish();
    check(scenario, faults);
    return scenario;
}

}  // namespace

std::variant<PoolScenario, Faults> parse_pool_scenario(std::string_view text, const std::string& costs) {
    return parse_document<PoolScenario>(
        text, [&](const json& root, Faults& faults) { return read_scenario(root, costs, faults); });
}

std::variant<PoolScenario, Faults> load_pool_scenario(const std::string& file, const std::string& costs) {
    return load_document(file, [&](const std::string& text) { return parse_pool_scenario(text, costs); });
}

}  // namespace weir::sim
