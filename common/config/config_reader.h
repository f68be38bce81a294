// config_reader.h - reads one JSON object into typed fields and collects every fault on the way.
// A key that nobody asked for is a fault, so the parser itself is the list of what exists.
// Threads: any; never used on a poll thread.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/units.h"

namespace weir {

/// A word of the configuration and what it stands for.
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

class ObjectReader {
  public:
    /// @param value  should be an object; if it is not, that is the one fault and every read leaves its field
    /// alone
    /// @param path   of the object; "" is the root
    /// @param faults outlives the reader
    ObjectReader(const nlohmann::json& value, std::string path, Faults& faults);

    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] std::string path_of(std::string_view key) const;
    /// The member, or null when it is absent; marks the key as known.
    [[nodiscard]] const nlohmann::json* take(std::string_view key);

    // Each marks the key as known, leaves `out` alone when the key is absent or at fault, and
    // returns whether `out` was set.
    bool read_flag(std::string_view key, bool& out);
    bool read_text(std::string_view key, std::string& out);
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
    template <typename E>
    bool read_word(std::string_view key, E& out, std::span<const Word<E>> words) {
        std::vector<std::string_view> texts;
        for (const Word<E>& word : words)
            texts.push_back(word.text);
        const std::optional<std::size_t> index = word_index(key, texts);
        if (index)
            out = words[*index].value;
        return index.has_value();
    }

    /// A registry's entry by its `name`. @param entries outlive `out` @param is_allowed the others are
    /// unknown words
    template <typename Entry, typename Allowed>
    bool read_entry(std::string_view key, const Entry*& out, std::span<const Entry> entries,
                    Allowed is_allowed) {
        std::vector<std::string_view> names;
        std::vector<const Entry*> choices;
        for (const Entry& entry : entries) {
            if (!is_allowed(entry))
                continue;
            names.push_back(entry.name);
            choices.push_back(&entry);
        }
        const std::optional<std::size_t> index = word_index(key, names);
        if (index)
            out = choices[*index];
        return index.has_value();
    }
    template <typename Entry>
    bool read_entry(std::string_view key, const Entry*& out, std::span<const Entry> entries) {
        return read_entry(key, out, entries, [](const Entry&) { return true; });
    }

    /// A key that a later version will have: loud when given, never ignored.
    void reject(std::string_view key, const std::string& message);
    /// Adds a fault at one of this object's keys; what was found is taken from the object.
    void fault(std::string_view key, std::string allowed, std::string message);
    /// Every key that was not asked for is a fault, with the nearest known key as a hint.
    void finish();

  private:
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
    [[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view key, Range range);
    [[nodiscard]] std::optional<std::size_t> word_index(std::string_view key,
                                                        const std::vector<std::string_view>& texts);
    /// null: takes the value out of an optional.
    template <typename T>
    bool clears(std::string_view key, std::optional<T>& out) {
        const nlohmann::json* value = find(key);
        if (value == nullptr || !value->is_null())
            return false;
        (void)take(key);
        out.reset();
        return true;
    }
    template <typename T>
    static bool store(std::optional<T>& out, std::optional<std::uint64_t> value) {
        if (value)
            out = static_cast<T>(*value);
        return value.has_value();
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
    std::vector<std::string_view> known_;     // in the order asked for; string literals
    std::vector<std::string_view> rejected_;  // known by name only
};

}  // namespace weir
