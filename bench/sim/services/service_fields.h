// service_fields.h - keys that scenarios of services and of pools share.
// Threads: any; at start.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sim/services/service_scenario.h"
#include "common/config/config_reader.h"
#include "common/config/field_kinds.h"

namespace weir::sim {

/// Of any list.
inline constexpr std::size_t kEntriesMost = 1000;

template <typename Named>
std::optional<std::uint32_t> find(const std::vector<Named>& list, const std::string& name) {
    for (std::uint32_t i = 0; i < list.size(); ++i) {
        if (list[i].name == name)
            return i;
    }
    return std::nullopt;
}

/// The index of the entry that is named at `key`; a fault when there is none of that name.
template <typename Named>
[[nodiscard]] std::uint32_t read_reference(ObjectReader& reader, std::string_view key,
                                           const std::vector<Named>& list) {
    std::string name;
    if (!require(reader, key, "a name") || !reader.read_text(key, name))
        return 0;
    const auto found = find(list, name);
    if (!found)
        reader.fault(key, "a name from the list", "there is nothing of this name");
    return found.value_or(0);
}

/// {"512B": "3us", "64KiB": "80us"}
void read_curve(ObjectReader& reader, std::string_view key, ServiceCurve& out);
/// The table named at `costs`, from a folder.
void read_costs(ObjectReader& reader, const std::string& folder, ServiceSpec& service, Faults& faults);

}  // namespace weir::sim
