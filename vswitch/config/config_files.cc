// config_files.cc - reading of the files; a fault has the path of the key that names the file, and the whole
// name.
#include "vswitch/config/config_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <span>

#include "common/config/config_text.h"
#include "common/process.h"
#include "cost_functions/cost_table_reader.h"
#include "cost_functions/cycle_costs.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

/// "hdd_file_store, key_value_store, ...; or a file"
std::string allowed_tables(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".json")
            names.push_back(at->path().stem());
    std::sort(names.begin(), names.end());
    return names.empty() ? "a file: there are no tables in " + folder : list_words(names) + "; or a file";
}

/// @return null when there are faults
std::shared_ptr<const CostTable> load_table(const std::string& cost, const std::string& path,
                                            const std::string& shipped, Faults& faults) {
    const bool is_shipped = is_shipped_table(cost);
    const std::string file = is_shipped ? shipped + '/' + cost + ".json" : cost;
    const std::variant<std::string, Fault> text = read_text_file(file);
    if (const Fault* fault = std::get_if<Fault>(&text)) {
        faults.push_back({path, file + ": " + fault->found,
                          is_shipped ? allowed_tables(shipped) : fault->allowed,
                          "the cost table could not be read"});
        return nullptr;
    }
    std::variant<CostTable, Faults> parsed = parse_cost_table(std::get<std::string>(text));
    if (CostTable* table = std::get_if<CostTable>(&parsed))
        return std::make_shared<const CostTable>(std::move(*table));
    for (Fault& fault : std::get<Faults>(parsed))
        faults.push_back({path, std::move(fault.found), std::move(fault.allowed),
                          file + ": " + fault.path + (fault.path.empty() ? "" : ": ") + fault.message});
    return nullptr;
}

std::shared_ptr<const CostProgram> load_program(const std::string& file, const std::string& path,
                                                ReadProgram read_program, Faults& faults) {
    if (file.empty())
        return nullptr;
    if (read_program == nullptr) {
        faults.push_back({path, file, "no program", "not supported by this version"});
        return nullptr;
    }
    std::variant<std::shared_ptr<const CostProgram>, Fault> read = read_program(file);
    if (Fault* fault = std::get_if<Fault>(&read)) {
        const std::string where = fault->path.empty() ? file : fault->path;
        faults.push_back(
            {path, std::move(fault->found), std::move(fault->allowed), where + ": " + fault->message});
        return nullptr;
    }
    return std::get<std::shared_ptr<const CostProgram>>(std::move(read));
}

/// @return whether the text is as many hexadecimal digits as fill the key, white space aside
bool parse_key(std::string text, std::span<std::uint8_t> key) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
    if (text.size() != 2 * key.size())
        return false;
    for (std::size_t i = 0; i < key.size(); ++i) {
        const char* const end = text.data() + 2 * i + 2;
        if (std::from_chars(end - 2, end, key[i], 16).ptr != end)
            return false;
    }
    return true;
}

void load_key(const std::string& file, const std::string& path, std::span<std::uint8_t> key, Faults& faults) {
    const std::string allowed = "a file with " + std::to_string(2 * key.size()) +
                                " hexadecimal digits: openssl rand -hex " + std::to_string(key.size()) +
                                " > FILE";
    const std::variant<std::string, Fault> text = read_text_file(file);
    if (const Fault* fault = std::get_if<Fault>(&text))
        faults.push_back({path, file + ": " + fault->found, allowed, "the key could not be read"});
    else if (!parse_key(std::get<std::string>(text), key))
        faults.push_back({path, file, allowed, "this file holds no key"});
}

/// Moves the value out of `loaded`, or its faults to `faults`.
template <typename T>
void collect(std::variant<T, Faults> loaded, T& out, Faults& faults) {
    if (T* value = std::get_if<T>(&loaded))
        out = std::move(*value);
    else
        faults.insert(faults.end(), std::get<Faults>(loaded).begin(), std::get<Faults>(loaded).end());
}

}  // namespace

bool is_shipped_table(std::string_view cost) {
    return cost.find_first_of("./") == std::string_view::npos;
}

std::string shipped_tables() {
    return data_dir() + "/costs";
}

std::variant<std::vector<ApplianceCosts>, Faults> load_appliances(const SwitchConfig& config,
                                                                  ReadProgram read_program,
                                                                  const std::string& shipped) {
    std::vector<ApplianceCosts> costs;
    Faults faults;
    std::shared_ptr<const CostTable> cycles;
    if (!config.appliances.empty() && !config.cycle_costs.empty())
        collect(load_cycle_costs(config.cycle_costs, this_machine()), cycles, faults);
    for (const ApplianceConfig& appliance : config.appliances) {
        const std::string path = "appliances[" + std::to_string(costs.size()) + "].";
        costs.push_back({.table = load_table(appliance.cost, path + "cost", shipped, faults),
                         .program = load_program(appliance.program, path + "program", read_program, faults),
                         .cycles = cycles});
    }
    if (!faults.empty())
        return faults;
    return costs;
}

std::variant<std::vector<TunnelParts>, Faults> load_tunnels(const SwitchConfig& config,
                                                            const std::string& shipped) {
    std::vector<TunnelParts> all;
    Faults faults;
    for (const TunnelConfig& tunnel : config.tunnels) {
        const std::string path = "tunnels[" + std::to_string(all.size()) + "].";
        TunnelParts& parts = all.emplace_back();
        if (tunnel.key_file.empty())
            (void)parse_key(tunnel.key, parts.key);  // checked with the configuration
        else
            load_key(tunnel.key_file, path + "key_file", parts.key, faults);
        parts.cost = load_table(tunnel.cost, path + "cost", shipped, faults);
    }
    if (!faults.empty())
        return faults;
    return all;
}

std::variant<ConfigFiles, Faults> load_files(const SwitchConfig& config, ReadProgram read_program) {
    ConfigFiles files;
    Faults faults;
    collect(load_appliances(config, read_program), files.appliances, faults);
    collect(load_tunnels(config), files.tunnels, faults);
    if (config.feedback.is_on())
        load_key(config.feedback.key_file, "feedback.key_file", files.feedback_key, faults);
    if (!faults.empty())
        return faults;
    return files;
}

}  // namespace weir
