// flows.h - resources and flows as `allocation` and `vdc` write them. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/what_if/fields.h"

namespace weir::what_if {

struct Resources {
    Names names;
    std::vector<double> capacity;
};

struct Flows {
    Names names;
    std::vector<std::uint32_t> tenant;  ///< among `tenants`; alloc::kNone: none was named
    std::vector<double> weight;
    alloc::DemandMatrix demand;
    /// Which resources each flow named, those that it wants nothing of included.
    std::vector<std::vector<std::uint32_t>> named;
};

[[nodiscard]] Resources read_resources(ObjectReader& reader, Faults& faults);
/// @param tenants whom flows may name. Without any, whoever is named is a tenant: they are added
[[nodiscard]] Flows read_flows(ObjectReader& reader, const Resources& resources, Names& tenants,
                               Faults& faults);

/// {resource: tokens} of one flow. @param tokens one per entry of the demand
[[nodiscard]] nlohmann::json amounts_json(const Flows& flows, std::uint32_t flow,
                                          std::span<const double> tokens, const Resources& resources);

}  // namespace weir::what_if
