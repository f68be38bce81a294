// config_text.h - JSON with comments as text to a JSON value, strictly: duplicate keys, hostile sizes and
// depths are faults, and the place of every value is kept so that faults can be sorted and carry their line.
// Threads: any; never used on a poll thread.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "common/error.h"

namespace weir {

/// Where each value of a text stands: path ("vnics[2].limit", root is "") to byte offset.
class TextPlaces {
  public:
    void note(std::string path, std::size_t offset) { offsets_.insert_or_assign(std::move(path), offset); }
    /// Offset of the value, or of its nearest noted ancestor.
    [[nodiscard]] std::size_t offset_of(std::string path) const;

  private:
    std::map<std::string, std::size_t> offsets_;
};

struct JsonText {
    nlohmann::json value;
    TextPlaces places;
    Faults faults;          ///< syntax (then the only one, and `value` is null) or duplicate keys
    bool readable = false;  ///< `value` holds the whole text
};

/// The whole file, or why it cannot be read.
[[nodiscard]] std::variant<std::string, Fault> read_text_file(const std::string& path);

/// Never throws on input. Bounds: 4 MiB, 128 levels whose keys have 1,024 bytes together, 200,000
/// values.
[[nodiscard]] JsonText read_json_text(std::string_view text);

/// Sorts by place in the text, keeping the order of equals, and adds "(line N)" to the messages.
void sort_by_place(Faults& faults, const TextPlaces& places, std::string_view text);

/// A text as a T: `read(const nlohmann::json&, Faults&)` makes it of the text's value. Faults come in the
/// order of the text.
template <class T, class Read>
[[nodiscard]] std::variant<T, Faults> parse_document(std::string_view text, Read&& read) {
    JsonText json_text = read_json_text(text);
    if (!json_text.readable)
        return std::move(json_text.faults);
    Faults faults = std::move(json_text.faults);
    T value = read(std::as_const(json_text.value), faults);
    if (faults.empty())
        return std::variant<T, Faults>(std::in_place_type<T>, std::move(value));
    sort_by_place(faults, json_text.places, text);
    return faults;
}

/// What `parse(const std::string&)` makes of a file's text, or why there is none.
template <class Parse>
[[nodiscard]] auto load_document(const std::string& path, Parse&& parse) -> decltype(parse(path)) {
    const auto text = read_text_file(path);
    if (const Fault* fault = std::get_if<Fault>(&text))
        return Faults{*fault};
    return parse(std::get<std::string>(text));
}

/// A value as a fault shows it: compact, at most 60 bytes, whole UTF-8 characters, no control characters.
[[nodiscard]] std::string show_value(const nlohmann::json& value);
[[nodiscard]] std::string show_text(std::string_view text);

}  // namespace weir
