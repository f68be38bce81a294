// fields.h - fields that problems of several kinds have: numbers, lists, names, amounts by name, flows.
// Units: those of the problem. Threads: any.
//
// The callers are the functions solve_NAME() (registry.h), with their own ObjectReader and Faults: `faults`
// is always the list that `reader` was made with. No function throws on input. A fault has the JSON path of
// its value; reading goes on after it, with a default, so that all faults of a problem are found. Nothing
// that was read counts before the caller has seen that there are no faults.
//
// Example (solve() makes faults of the keys that were not read, and returns all faults):
//     json solve_NAME(ObjectReader& problem, Faults& faults) {
//         const Resources resources = read_resources(problem, faults);   // flows name resources
//         Names tenants;                                                 // read_flows() adds them
//         const Flows flows = read_flows(problem, resources, tenants, faults);
//         if (!faults.empty())
//             return {};
//         ... compute `used`, tokens per resource ...
//         return {{"resources", resources_json(resources, used)}};
//     }
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "ctrl/alloc/registry.h"
#include "ctrl/alloc/share_tree.h"
#include "ctrl/pools/pool_tree.h"

namespace weir::what_if {

/// Inclusive.
struct Bounds {
    double min;
    double max;
};
inline constexpr Bounds kTokenBounds{0, 1e18};
inline constexpr Bounds kWeightBounds{0, 1e6};
/// The least weight besides 0, so that the quotient of two weights is at most 1e12.
inline constexpr double kWeightLeast = 1e-6;
/// Elements of a list, at most.
inline constexpr std::size_t kListMost = 100'000;

/// A text in the form of Fault::found, at most 60 bytes.
[[nodiscard]] std::string show(const std::string& text);

// Each read_ function leaves `out` alone when the key is absent or at fault and returns whether it was set.
// Each require_ function adds a fault when the key is absent.

bool read_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds);
bool require_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds);
/// A weight: 0, or at least kWeightLeast.
bool read_weight(ObjectReader& reader, std::string_view key, double& out);
/// A demand within kTokenBounds; absent, null or at fault: pools::kNoLimit, which is infinite.
[[nodiscard]] double read_demand(ObjectReader& reader, std::string_view key);
/// `reservation`, `limit` (null: none) and `shares`, with the default of pools::Controls for each that is
/// absent or at fault. A limit below the reservation is a fault.
[[nodiscard]] pools::Controls read_controls(ObjectReader& reader);

/// A registry's entry by its `name`; null after a fault, which lists all names. @param entries outlive the
/// result
template <typename Entry>
const Entry* require_entry(ObjectReader& reader, std::string_view key, std::span<const Entry> entries) {
    const Entry* found = nullptr;
    require(reader, key, list_words(entries, &Entry::name).c_str());
    reader.read_entry(key, found, entries);
    return found;
}

inline constexpr const char* kObjects = " objects, [{...}, ...]";
/// Adds a fault when there is no list of kObjects at `key`, or an empty one.
void require_objects(ObjectReader& reader, std::string_view key);

/// Calls `each(ObjectReader&)` for every object of the list at `key`, in order. Unknown keys are faults, and,
/// if `required`, a list that is absent or empty.
template <typename Each>
void for_objects(ObjectReader& reader, std::string_view key, bool required, Faults& faults, Each&& each) {
    if (required)
        require_objects(reader, key);
    const auto read = [&](ObjectReader& object, const std::string&) { each(object); };
    read_objects(reader, key, kListMost, faults, read, kObjects);
}

/// The ids of a list, numbered from 0 in its order.
class Names {
  public:
    /// Reads the object's `id`, which must be new. An object with a faulty id takes a number too.
    std::uint32_t add(ObjectReader& reader);
    /// Adds a name unless it is known. @return its number
    std::uint32_t add(const std::string& name);
    [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const;
    /// @param number below size(), unchecked  @return valid until the next add()
    [[nodiscard]] const std::string& operator[](std::uint32_t number) const { return names_[number]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
    /// The first six, for messages.
    [[nodiscard]] std::string list() const;

  private:
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// An amount of something that has a name.
struct Amount {
    std::uint32_t number;
    double value;
};

/// {"name": amount, ...} with known names and amounts within kTokenBounds; others are faults and left out.
/// Absent is empty, and a fault when `required`.
[[nodiscard]] std::vector<Amount> read_amounts(ObjectReader& reader, std::string_view key, const Names& names,
                                               bool required, Faults& faults);

/// The number of the name at `key`; a fault when it is unknown. Absent and null mean none.
[[nodiscard]] std::optional<std::uint32_t> read_name(ObjectReader& reader, std::string_view key,
                                                     const Names& names);

// Resources, trees and flows of the kinds `allocation` and `vdc`, in tokens of one control interval.

struct Resources {
    Names names;
    std::vector<double> capacity;  ///< by number of the name
};

struct Tree {
    Names names;
    alloc::ShareTree nodes;  ///< without node_of_flow, which the caller sets
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

/// The list at `resources`, with at least one element.
[[nodiscard]] Resources read_resources(ObjectReader& reader, Faults& faults);
/// The list at `tree`; absent is a tree without nodes.
[[nodiscard]] Tree read_tree(ObjectReader& reader, Faults& faults);
/// The list at `flows`, with at least one element. @param resources read before
/// @param tenants that flows may name; when it is empty, the names that flows give are added
[[nodiscard]] Flows read_flows(ObjectReader& reader, const Resources& resources, Names& tenants,
                               Faults& faults);

/// The list `resources` of an answer. @param used per resource
[[nodiscard]] nlohmann::json resources_json(const Resources& resources, std::span<const double> used);
/// {resource: tokens} of one flow. @param tokens one per entry of the demand
[[nodiscard]] nlohmann::json amounts_json(const Flows& flows, std::uint32_t flow,
                                          std::span<const double> tokens, const Resources& resources);

}  // namespace weir::what_if
