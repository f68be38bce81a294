// fleet_scenario.cc - parser of FleetScenario.
#include "bench/sim/fleet/fleet_scenario.h"

#include <array>
#include <fstream>
#include <iterator>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::uint32_t kServersMax = 10'000;
constexpr std::uint32_t kVmsMax = 500'000;
constexpr std::uint32_t kIntervalsMax = 100'000;
constexpr Range kRates{1'000'000, 400'000'000'000};
constexpr std::array kStarts{Word<FleetStarts>{"once", FleetStarts::kOnce},
                             Word<FleetStarts>{"again", FleetStarts::kAgain}};

void read_fleet(ObjectReader& root, FleetScenario& scenario, Faults& faults) {
    const json* object = root.take("fleet");
    if (object == nullptr) {
        root.fault("fleet", "{\"servers\": 2000, ...}", "this is needed");
        return;
    }
    ObjectReader reader(*object, "fleet", faults);
    reader.read_integer("servers", scenario.servers, {1, kServersMax});
    reader.read_quantity("link", Quantity::kBitRate, scenario.link_bps, kRates);
    reader.read_quantity("guaranteed_rate", Quantity::kBitRate, scenario.guarantee_bps, kRates);
    read_part(reader, "overcommit", scenario.overcommit, {10'000, 100'000'000});
    read_part(reader, "utilization", scenario.utilization, {1, 1'000'000});
    read_part(reader, "dynamic", scenario.dynamic);
    reader.read_word<FleetStarts>("starts", scenario.starts, kStarts);
    reader.read_flag("by_deadline", scenario.by_deadline);
    read_part(reader, "beta", scenario.beta);
    const std::uint64_t vms = std::uint64_t{scenario.vms_per_server()} * scenario.servers;
    if (vms == 0 || vms > kVmsMax)
        reader.fault("overcommit", "1 to " + std::to_string(kVmsMax) + " VMs in all",
                     "this makes " + std::to_string(vms) + " VMs of \"guaranteed_rate\" on " +
                         std::to_string(scenario.servers) + " links");
    reader.finish();
}

FleetScenario read_scenario(const json& root, Faults& faults) {
    FleetScenario scenario;
    ObjectReader reader(root, "", faults);
    std::string schema;  // for editors
    reader.read_text("$schema", schema);
    reader.read_text("title", scenario.title);
    reader.read_integer("seed", scenario.seed, {0, INT64_MAX});
    reader.read_quantity("duration", Quantity::kDuration, scenario.duration,
                         {1'000'000, 86'400 * kNanosPerSec});
    reader.read_quantity("interval", Quantity::kDuration, scenario.interval, {1'000'000, 60 * kNanosPerSec});
    const bool whole = scenario.duration % scenario.interval == 0;
    if (!whole || scenario.duration / scenario.interval > kIntervalsMax)
        reader.fault("duration", "1 to " + std::to_string(kIntervalsMax) + " whole intervals",
                     "intervals last " + format_duration(scenario.interval));
    read_fleet(reader, scenario, faults);
    reader.finish();
    return scenario;
}

}  // namespace

std::variant<FleetScenario, Faults> parse_fleet_scenario(std::string_view text) {
    return parse_document<FleetScenario>(text, read_scenario);
}

std::variant<FleetScenario, Faults> load_fleet_scenario(const std::string& file) {
    return load_document(file, [](const std::string& text) { return parse_fleet_scenario(text); });
}

}  // namespace weir::sim
