// service_fields.cc - parsers of times by size, and of cost tables by name.
#include "bench/sim/services/service_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "cost_functions/cost_table_reader.h"

namespace weir::sim {
namespace {

using nlohmann::json;

}  // namespace

void read_curve(ObjectReader& reader, std::string_view key, ServiceCurve& out) {
    constexpr const char* kAllowed = "times by size, such as {\"4KiB\": \"10us\", \"64KiB\": \"90us\"}";
    const json* object = reader.take(key);
    if (object == nullptr || !object->is_object() || object->empty() || object->size() > kEntriesMost) {
        reader.fault(key, kAllowed, "this is needed");
        return;
    }
    for (const auto& [size, time] : object->items()) {
        const ParsedQuantity bytes = parse_quantity(Quantity::kSize, size);
        const ParsedQuantity nanos = time.is_string()
                                         ? parse_quantity(Quantity::kDuration, time.get<std::string>())
                                         : ParsedQuantity{0, "no"};
        if (!bytes.ok() || !nanos.ok() || bytes.value > UINT32_MAX || nanos.value > kNanosPerSec) {
            reader.fault(key, kAllowed, "a size or a time is wrong");
            return;
        }
        out.points.push_back({static_cast<std::uint32_t>(bytes.value), static_cast<double>(nanos.value)});
    }
    std::sort(out.points.begin(), out.points.end(), [](auto a, auto b) { return a.bytes < b.bytes; });
}

void read_costs(ObjectReader& reader, const std::string& folder, ServiceSpec& service, Faults& faults) {
    std::string table;
    if (!require(reader, "costs", "the name of a cost table") || !reader.read_text("costs", table))
        return;
    std::variant<CostTable, Faults> read = read_cost_table(folder + "/" + table + ".json");
    if (const Faults* wrong = std::get_if<Faults>(&read))
        faults.insert(faults.end(), wrong->begin(), wrong->end());
    else
        service.costs = std::make_shared<const CostTable>(std::move(std::get<CostTable>(read)));
}

}  // namespace weir::sim
