// cycle_costs.cc - reading and writing of the file, and the machine's name and CPU.
#include "cost_functions/cycle_costs.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "cost_functions/cost_table_reader.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr const char* kMeasuredHere = "a file that weir-calibrate switch wrote on this host";

struct Measured {
    Machine machine;
    CostTable costs;
};

Measured read_measured(const json& root, Faults& faults) {
    Measured measured;
    ObjectReader reader(root, "", faults);
    if (!root.is_object())
        return measured;
    for (const auto& [key, out] :
         {std::pair{"host", &measured.machine.host}, std::pair{"cpu", &measured.machine.cpu}})
        if (!reader.read_text(key, *out) || out->empty())
            reader.fault(key, "the machine on which the costs were measured", "this is needed");
    if (const json* costs = reader.take("costs"))
        measured.costs = load_cost_table(*costs, faults, "costs");
    else
        reader.fault("costs", "a cost table", "this is needed");
    reader.finish();
    return measured;
}

std::string machine_text(const Machine& machine) {
    return machine.host + " (" + machine.cpu + ')';
}

}  // namespace

Machine this_machine(const std::string& sysroot) {
    Machine machine{"localhost", "unknown"};
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0)
        machine.host = name.data();
    std::ifstream cpus(sysroot + "/proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);)
        if (const std::size_t colon = line.find(": "); line.starts_with("model name") && colon != line.npos) {
            machine.cpu = line.substr(colon + 2);
            break;
        }
    return machine;
}

std::variant<std::shared_ptr<const CostTable>, Faults> load_cycle_costs(const std::string& file,
                                                                        const Machine& here) {
    auto parsed = load_document(
        file, [](const std::string& text) { return parse_document<Measured>(text, read_measured); });
    if (Faults* faults = std::get_if<Faults>(&parsed)) {
        for (Fault& fault : *faults) {
            fault.message = file + (fault.path.empty() ? "" : ": " + fault.path) + ": " + fault.message;
            fault.path = "cycle_costs";
        }
        return std::move(*faults);
    }
    Measured& measured = std::get<Measured>(parsed);
    if (measured.machine != here)
        return Faults{
            {"cycle_costs", file + ", measured on " + machine_text(measured.machine), kMeasuredHere,
             "this host is " + machine_text(here) +
                 ", whose requests cost other cycles; measure them: weir-calibrate switch --output " + file +
                 ", or leave cycle_costs out"}};
    return std::make_shared<const CostTable>(std::move(measured.costs));
}

std::string cycle_costs_text(const Machine& measured_on, const json& costs) {
    const nlohmann::ordered_json text{
        {"host", measured_on.host}, {"cpu", measured_on.cpu}, {"costs", nlohmann::ordered_json(costs)}};
    return text.dump(2) + '\n';
}

}  // namespace weir
