// config_reader.cc - the typed reads with their faults, and the hint for a mistyped key or word.
#include "common/config/config_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/config/config_text.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kUnknownKeysMax = 1'000;  // faults; more do not help a reader of them

// Levenshtein's distance of two short words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substitute, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

// "; did you mean X?" when a known word differs in at most two characters, or in a third of the word.
std::string hint(std::string_view word, const std::vector<std::string_view>& known) {
    constexpr std::size_t kWordMax = 32;
    if (word.size() > kWordMax || known.empty())
        return {};
    const auto nearer = [word](std::string_view a, std::string_view b) {
        return edit_distance(word, a) < edit_distance(word, b);
    };
    const std::string_view best = *std::min_element(known.begin(), known.end(), nearer);
    const std::size_t slips = std::max<std::size_t>(2, word.size() / 3);
    if (edit_distance(word, best) > slips || best.size() <= slips)
        return {};
    return "; did you mean \"" + std::string(best) + "\"?";
}

/// The path of an object without indices: "vnics[3].appliances[0]" is in "vnics[].appliances[]".
std::string section_of(std::string path) {
    bool is_index = false;
    std::erase_if(path, [&](char c) {
        is_index = c == '[' || (is_index && c != ']');
        return is_index && c != '[';
    });
    return path;
}

/// The hint for an unknown key of the object at `path`.
std::string key_hint(std::string_view key, const std::string& path,
                     const std::vector<std::string_view>& known) {
    const std::string section = section_of(path);
    const auto renamed = std::ranges::find_if(kRenamedKeys, [&](const RenamedKey& each) {
        return each.section == section && each.old_name == key &&
               std::ranges::find(known, each.new_name) != known.end();
    });
    return renamed == kRenamedKeys.end() ? hint(key, known)
                                         : "; it was renamed to \"" + std::string(renamed->new_name) + '"';
}

bool has_control_character(std::string_view text) {
    for (; !text.empty(); text.remove_prefix(1))
        if (control_bytes(text) != 0)
            return true;
    return false;
}

}  // namespace

ObjectReader::ObjectReader(const json& value, std::string path, Faults& faults)
    : value_(value), path_(std::move(path)), faults_(faults) {
    if (!value.is_object())
        faults_.push_back({path_, show_value(value), "an object", "this must be an object in { }"});
}

const json* ObjectReader::find(std::string_view key) const {
    if (!value_.is_object())
        return nullptr;
    const auto it = value_.find(key);
    return it == value_.end() ? nullptr : &*it;
}

std::string ObjectReader::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

const json* ObjectReader::take(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
        known_.push_back(key);
    return find(key);
}

bool ObjectReader::take_null(std::string_view key) {
    const json* value = find(key);
    if (value == nullptr || !value->is_null())
        return false;
    (void)take(key);
    return true;
}

void ObjectReader::fault(std::string_view key, std::string allowed, std::string message) {
    const json* member = find(key);
    faults_.push_back({path_of(key), member == nullptr ? "nothing" : show_value(*member), std::move(allowed),
                       std::move(message)});
}

bool ObjectReader::read_flag(std::string_view key, bool& out) {
    const json* member = take(key);
    if (member == nullptr)
        return false;
    if (!member->is_boolean()) {
        fault(key, "true or false", "wrong type");
        return false;
    }
    out = member->get<bool>();
    return true;
}

bool ObjectReader::read_text(std::string_view key, std::string& out) {
    const json* member = take(key);
    if (member == nullptr)
        return false;
    if (!member->is_string()) {
        fault(key, "a string in \" \"", "wrong type");
        return false;
    }
    const std::string& text = member->get_ref<const std::string&>();
    if (has_control_character(text)) {
        fault(key, "printable characters", "it holds a control character");
        return false;
    }
    out = text;
    return true;
}

std::optional<std::uint64_t> ObjectReader::whole_number(std::string_view key, Range range) {
    const json* member = take(key);
    if (member == nullptr)
        return std::nullopt;
    const std::string allowed =
        "a whole number, " + std::to_string(range.min) + " to " + std::to_string(range.max);
    if (!member->is_number_integer()) {
        fault(key, allowed, "wrong type");
        return std::nullopt;
    }
    const bool negative = !member->is_number_unsigned() && member->get<std::int64_t>() < 0;
    const std::uint64_t value = negative ? 0 : member->get<std::uint64_t>();
    if (negative || value < range.min || value > range.max) {
        fault(key, allowed, "out of range");
        return std::nullopt;
    }
    return value;
}

bool ObjectReader::read_quantity(std::string_view key, Quantity quantity, std::uint64_t& out, Range range) {
    const json* member = take(key);
    if (member == nullptr)
        return false;
    if (!member->is_string()) {
        const bool bare = member->is_number();
        fault(key, units_of(quantity),
              bare ? "it is a bare number and needs a unit, in quotes" : "wrong type");
        return false;
    }
    const ParsedQuantity parsed = parse_quantity(quantity, member->get_ref<const std::string&>());
    if (!parsed.ok()) {
        fault(key, units_of(quantity), "it " + std::string(parsed.fault));
        return false;
    }
    if (parsed.value < range.min || parsed.value > range.max) {
        fault(key, format_quantity(quantity, range.min) + " to " + format_quantity(quantity, range.max),
              "out of range");
        return false;
    }
    out = parsed.value;
    return true;
}

bool ObjectReader::read_limit(std::string_view key, Quantity quantity, std::optional<std::uint64_t>& out,
                              Range range) {
    if (clears(key, out))
        return true;
    std::uint64_t value = 0;
    if (!read_quantity(key, quantity, value, range))
        return false;
    out = value;
    return true;
}

std::optional<std::size_t> ObjectReader::word_index(std::string_view key,
                                                    const std::vector<std::string_view>& texts) {
    const json* member = take(key);
    if (member == nullptr)
        return std::nullopt;
    if (!member->is_string()) {
        fault(key, list_words(texts), "wrong type");
        return std::nullopt;
    }
    const std::string& text = member->get_ref<const std::string&>();
    const auto it = std::find(texts.begin(), texts.end(), text);
    if (it == texts.end()) {
        fault(key, list_words(texts), "unknown word" + hint(text, texts));
        return std::nullopt;
    }
    return static_cast<std::size_t>(it - texts.begin());
}

void ObjectReader::finish() {
    if (!value_.is_object())
        return;
    std::size_t unknown = 0;
    for (const auto& [key, member] : value_.items()) {
        const std::string_view name = key;
        const auto is_name = [name](std::string_view other) { return other == name; };
        if (std::any_of(known_.begin(), known_.end(), is_name))
            continue;
        if (++unknown > kUnknownKeysMax)
            return;
        faults_.push_back({path_of(show_text(key)), show_value(member), list_words(known_),
                           "unknown key" + key_hint(key, path_, known_)});
    }
}

}  // namespace weir
