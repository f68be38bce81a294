// fields.h - what the problems of all kinds are made of: plain numbers, lists of objects, names, vectors by
// name. Threads: any.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/config/config_reader.h"

namespace weir::what_if {

/// Inclusive.
struct Bounds {
    double min;
    double max;
};
inline constexpr Bounds kTokenBounds{0, 1e18};
/// 0 besides: weights differ by a factor of 10^12 at most.
inline constexpr Bounds kWeightBounds{0, 1e6};
inline constexpr double kWeightLeast = 1e-6;
inline constexpr std::size_t kListMost = 100'000;

/// A text as a fault shows it.
[[nodiscard]] std::string show(const std::string& text);

/// A fault when the key is absent.
void need(ObjectReader& reader, std::string_view key, std::string allowed);
/// Leaves `out` alone when the key is absent or at fault. @return whether it was set
bool read_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds);
bool need_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds);
/// A registry's entry by its `name`; null after a fault, which lists all names.
template <typename Entry>
const Entry* need_entry(ObjectReader& reader, std::string_view key, std::span<const Entry> entries) {
    const Entry* found = nullptr;
    if (reader.has(key)) {
        reader.read_entry(key, found, entries);
        return found;
    }
    std::string names;
    for (const Entry& entry : entries)
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    need(reader, key, std::move(names));
    return nullptr;
}
/// A weight: 0, or at least kWeightLeast.
bool read_weight(ObjectReader& reader, std::string_view key, double& out);
/// null means "none" and clears `out`.
bool read_optional_number(ObjectReader& reader, std::string_view key, std::optional<double>& out,
                          Bounds bounds);

/// The members of the list at `key`; a fault when it is no list, empty though `needed`, or too long.
[[nodiscard]] const nlohmann::json& list_of(ObjectReader& reader, std::string_view key, bool needed);

/// Calls `each(ObjectReader&)` for every object of the list at `key`, in order; unknown keys are faults.
template <typename Each>
void for_objects(ObjectReader& reader, std::string_view key, bool needed, Faults& faults, Each&& each) {
    const nlohmann::json& list = list_of(reader, key, needed);
    for (std::size_t i = 0; i < list.size(); ++i) {
        ObjectReader object(list[i], reader.path_of(key) + '[' + std::to_string(i) + ']', faults);
        if (!list[i].is_object())
            continue;  // the one fault of it is known
        each(object);
        object.finish();
    }
}

/// The ids of a list, in its order.
class Names {
  public:
    /// Reads the object's `id`: a text that is not there yet. An object without takes a number too.
    std::uint32_t add(ObjectReader& reader);
    /// A name that may be there already. @return its number
    std::uint32_t add(const std::string& name);
    [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const;
    [[nodiscard]] const std::string& operator[](std::uint32_t number) const { return names_[number]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
    /// For messages: the first few.
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

/// {"name": amount, ...}; names must be known. Absent is an empty one, a fault when `needed`.
[[nodiscard]] std::vector<Amount> read_amounts(ObjectReader& reader, std::string_view key, const Names& names,
                                               bool needed, Faults& faults);

/// The number of the name at `key`; a fault when it is unknown. Absent and null are none.
[[nodiscard]] std::optional<std::uint32_t> read_name(ObjectReader& reader, std::string_view key,
                                                     const Names& names);

}  // namespace weir::what_if
