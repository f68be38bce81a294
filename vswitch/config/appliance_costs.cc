// appliance_costs.cc - files, and their faults at the place that named them.
#include "vswitch/config/appliance_costs.h"

#include <algorithm>
#include <filesystem>

#include "common/config/config_text.h"
#include "cost_functions/cost_table_reader.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

/// What a request costs the switch itself.
constexpr const char* kCyclesTable = "switch_cycles";

// "hdd_file_store, key_value_store, ...": what a name may be.
std::string names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".json")
            names.push_back(at->path().stem());
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names)
        list.append(list.empty() ? "" : ", ").append(name);
    return list.empty() ? "a file: there are no tables in " + folder : list + "; or a file";
}

std::shared_ptr<const CostProgram> load_program(const std::string& file, const std::string& path,
                                                ReadProgram read_program, Faults& faults) {
    if (file.empty())
        return nullptr;
    if (read_program == nullptr) {
        faults.push_back({path, show_text(file), "no program", "not supported by this version"});
        return nullptr;
    }
    std::variant<std::shared_ptr<const CostProgram>, Fault> read = read_program(file);
    if (Fault* fault = std::get_if<Fault>(&read)) {
        const std::string where = fault->path.empty() ? show_text(file) : fault->path;
        faults.push_back(
            {path, std::move(fault->found), std::move(fault->allowed), where + ": " + fault->message});
        return nullptr;
    }
    return std::get<std::shared_ptr<const CostProgram>>(std::move(read));
}

}  // namespace

bool is_shipped_table(std::string_view cost) {
    return cost.find_first_of("./") == std::string_view::npos;
}

std::string shipped_tables() {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    const fs::path installed = (folder / "../share/weir/costs").lexically_normal();
    const fs::path source = (folder / "../../configs/costs").lexically_normal();
    return !fs::is_directory(installed, error) && fs::is_directory(source, error) ? source : installed;
}

std::shared_ptr<const CostTable> read_cost_table(const std::string& cost, const std::string& path,
                                                 const std::string& shipped, Faults& faults) {
    const bool named = is_shipped_table(cost);
    const std::string file = named ? shipped + '/' + cost + ".json" : cost;
    const std::variant<std::string, Fault> text = read_text_file(file);
    if (const Fault* fault = std::get_if<Fault>(&text)) {
        faults.push_back({path, show_text(file) + ": " + fault->found,
                          named ? names_in(shipped) : fault->allowed, "the cost table could not be read"});
        return nullptr;
    }
    std::variant<CostTable, Faults> parsed = parse_cost_table(std::get<std::string>(text));
    if (CostTable* table = std::get_if<CostTable>(&parsed))
        return std::make_shared<const CostTable>(std::move(*table));
    for (Fault& fault : std::get<Faults>(parsed))
        faults.push_back(
            {path, std::move(fault.found), std::move(fault.allowed),
             show_text(file) + ": " + fault.path + (fault.path.empty() ? "" : ": ") + fault.message});
    return nullptr;
}

std::variant<std::vector<ApplianceCosts>, Faults> load_appliances(const SwitchConfig& config,
                                                                  ReadProgram read_program,
                                                                  const std::string& shipped) {
    std::vector<ApplianceCosts> costs;
    Faults faults;
    std::shared_ptr<const CostTable> cycles;
    if (!config.appliances.empty())
        cycles = read_cost_table(kCyclesTable, "appliances", shipped, faults);
    for (const ApplianceConfig& appliance : config.appliances) {
        const std::string path = "appliances[" + std::to_string(costs.size()) + "].";
        costs.push_back({.table = read_cost_table(appliance.cost, path + "cost", shipped, faults),
                         .program = load_program(appliance.program, path + "program", read_program, faults),
                         .cycles = cycles});
    }
    if (!faults.empty())
        return faults;
    return costs;
}

}  // namespace weir
