// config_reader.h - reader of one JSON object into typed fields, which collects all faults instead of
// stopping at the first.
// Threads: any; never used on a poll thread.
//
// Every read_...() marks its key as known. finish() then makes a fault of each key of the object that is not
// known: the calls are the only list of the keys that exist. Example: with {"limt": "1Gbit"} and one call for
// "limit", the fault is `limt: unknown key; did you mean "limit"?`.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/units.h"

namespace weir {

/// A word of the configuration and the value that it stands for.
template <typename E>
struct Word {
    std::string_view text;
    E value;
};

/// Inclusive bounds, in the field's own unit.
struct Range {
    std::uint64_t min;
    std::uint64_t max;
};

/// A key that had another name in an earlier version.
struct RenamedKey {
    std::string_view section;  ///< path of the object that has it, without indices: "", "uplink", "vnics[]"
    std::string_view old_name;
    std::string_view new_name;
};

/// Renamed keys of all files that an ObjectReader reads: switch, cluster, scenario, fleet scenario. The fault
/// of an old name contains the new one, where the section's parser knows that.
inline constexpr std::array kRenamedKeys{
    RenamedKey{"", "mac_ageing", "mac_aging"},
    RenamedKey{"", "overcommit_utilisation", "overcommit_utilization"},
    RenamedKey{"fleet", "utilisation", "utilization"},
    RenamedKey{"fleet", "guarantee", "guaranteed_rate"},
    RenamedKey{"vnics[]", "guarantee", "guarantee_kind"},
    RenamedKey{"vnic", "guarantee", "guarantee_kind"},    // weirctl vnic add
    RenamedKey{"change", "guarantee", "guarantee_kind"},  // weirctl vnic set
    RenamedKey{"tenants[]", "guarantee", "sharing_rule"},
    RenamedKey{"periods[]", "guarantee", "guarantee_kind"},
    RenamedKey{"", "guarantee", "link_need"}};

class ObjectReader {
  public:
    /// @param value  an object; any other value is one fault, and every read leaves its field alone
    /// @param path   of the object; "" is the root
    /// @param faults outlives the reader
    ObjectReader(const nlohmann::json& value, std::string path, Faults& faults);

    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] std::string path_of(std::string_view key) const;
    /// The member, or null when it is absent; marks the key as known.
    [[nodiscard]] const nlohmann::json* take(std::string_view key);

    // Each leaves `out` alone when the key is absent or at fault, and returns whether `out` was set.
    bool read_flag(std::string_view key, bool& out);
    bool read_text(std::string_view key, std::string& out);
    /// @param out an integer, or an optional one, which null does not clear
    template <typename T>
    bool read_integer(std::string_view key, T& out, Range range) {
        return store(out, whole_number(key, range));
    }
    /// null means "none" and clears `out`.
    template <typename T>
    bool read_optional(std::string_view key, std::optional<T>& out, Range range) {
        return clears(key, out) || store(out, whole_number(key, range));
    }
    bool read_quantity(std::string_view key, Quantity quantity, std::uint64_t& out, Range range);
    /// null means "none" and clears `out`.
    bool read_limit(std::string_view key, Quantity quantity, std::optional<std::uint64_t>& out, Range range);
    /// @param out an E, or a type that can be set to one, such as an optional one
    template <typename E, typename Out>
    bool read_word(std::string_view key, Out& out, std::span<const Word<E>> words) {
        std::vector<std::string_view> texts;
        for (const Word<E>& word : words)
            texts.push_back(word.text);
        const std::optional<std::size_t> index = word_index(key, texts);
        if (index)
            out = words[*index].value;
        return index.has_value();
    }

    /// A registry's entry by its `name`. @param entries outlive `out`  @param is_allowed null: every entry
    /// is; the names of others are unknown words
    template <typename Entry>
    bool read_entry(std::string_view key, const Entry*& out, std::span<const Entry> entries,
                    bool (*is_allowed)(const Entry&) = nullptr) {
        std::vector<std::string_view> names;
        std::vector<const Entry*> choices;
        for (const Entry& entry : entries) {
            if (is_allowed != nullptr && !is_allowed(entry))
                continue;
            names.push_back(entry.name);
            choices.push_back(&entry);
        }
        const std::optional<std::size_t> index = word_index(key, names);
        if (index)
            out = choices[*index];
        return index.has_value();
    }

    /// Adds a fault at one of this object's keys; the value found is taken from the object.
    void fault(std::string_view key, std::string allowed, std::string message);
    /// Makes a fault of every key that is not known, with the nearest known key as a hint.
    void finish();

  private:
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
    [[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view key, Range range);
    [[nodiscard]] std::optional<std::size_t> word_index(std::string_view key,
                                                        const std::vector<std::string_view>& texts);
    /// Whether the member is null; it is taken then.
    bool take_null(std::string_view key);
    /// Resets the optional when the member is null.
    template <typename T>
    bool clears(std::string_view key, std::optional<T>& out) {
        if (!take_null(key))
            return false;
        out.reset();
        return true;
    }
    template <typename T>
    static bool store(T& out, std::optional<std::uint64_t> value) {
        if (value)
            out = static_cast<T>(*value);
        return value.has_value();
    }

    const nlohmann::json& value_;
    std::string path_;
    Faults& faults_;
    std::vector<std::string_view> known_;  // in the order of the calls; string literals
};

}  // namespace weir
