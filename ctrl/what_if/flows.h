// flows.h - resources, trees and flows of the kinds `allocation` and `vdc`.
// Units: tokens in the control interval.
// Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/what_if/fields.h"

namespace weir::what_if {

struct Resources {
    Names names;
    std::vector<double> capacity;
};

struct Tree {
    Names names;
    alloc::ShareTree nodes;
    /// Per name the number of its node: names are in any order, nodes after their parents.
    std::vector<std::uint32_t> node;
};

struct Flows {
    Names names;
    std::vector<std::uint32_t> tenant;  ///< per flow; alloc::kNone: it names none
    std::vector<double> weight;
    alloc::DemandMatrix demand;
    /// Per flow the resources that it names, also those with a demand of 0.
    std::vector<std::vector<std::uint32_t>> named;
};

[[nodiscard]] Resources read_resources(ObjectReader& reader, Faults& faults);
/// The list at `tree`; absent is a tree without nodes.
[[nodiscard]] Tree read_tree(ObjectReader& reader, Faults& faults);
/// @param tenants that flows may name; when it is empty, the names that flows give are added
[[nodiscard]] Flows read_flows(ObjectReader& reader, const Resources& resources, Names& tenants,
                               Faults& faults);

/// The list `resources` of an answer. @param used per resource
[[nodiscard]] nlohmann::json resources_json(const Resources& resources, std::span<const double> used);
/// {resource: tokens} of one flow. @param tokens one per entry of the demand
[[nodiscard]] nlohmann::json amounts_json(const Flows& flows, std::uint32_t flow,
                                          std::span<const double> tokens, const Resources& resources);

}  // namespace weir::what_if
