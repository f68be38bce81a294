// config_text.h - strict reader of JSON with comments, and the printed forms of its faults.
// Threads: any; never used on a poll thread.
//
// Duplicate keys, and texts too large or too deep, are faults. The reader notes the byte offset of every
// value by its path, so that faults that are found later can be sorted into the order of the text and carry
// their line. Example: "vnics[2].limit" is noted at offset 812; a fault at this path is printed with "(line
// 31)".
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "common/error.h"

namespace weir {

/// Byte offset of each value of a text by its path ("vnics[2].limit"; the root is "").
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
    Faults faults;          ///< one of syntax, and `value` is null; or any number of duplicate keys
    bool readable = false;  ///< `value` holds the whole text
};

/// @return the whole file, or the reason for which it cannot be read
[[nodiscard]] std::variant<std::string, Fault> read_text_file(const std::string& path);

/// Never throws on input. Bounds: 4 MiB, 128 levels whose keys have 1,024 bytes together, 200,000
/// values.
[[nodiscard]] JsonText read_json_text(std::string_view text);

/// Sorts by place in the text, keeping the order of equals, and adds "(line N)" to the messages.
void sort_by_place(Faults& faults, const TextPlaces& places, std::string_view text);

/// Parses the text and makes a T of its value with `read(const nlohmann::json&, Faults&)`. @return the T, or
/// all faults in the order of the text
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

/// Applies `parse(const std::string&)` to a file's text. @return its result, or the fault of reading the file
template <class Parse>
[[nodiscard]] auto load_document(const std::string& path, Parse&& parse) -> decltype(parse(path)) {
    const auto text = read_text_file(path);
    if (const Fault* fault = std::get_if<Fault>(&text))
        return Faults{*fault};
    return parse(std::get<std::string>(text));
}

/// A value as faults show it: compact, at most 60 bytes, whole UTF-8 characters, no control characters.
[[nodiscard]] std::string show_value(const nlohmann::json& value);
[[nodiscard]] std::string show_text(std::string_view text);

/// The words of all items, as faults list what is allowed: "a, b, c". @param word_of the word of an item
template <class Items, class WordOf = std::identity>
[[nodiscard]] std::string list_words(const Items& items, WordOf word_of = {}) {
    std::string text;
    for (const auto& item : items)
        text.append(text.empty() ? "" : ", ").append(std::invoke(word_of, item));
    return text;
}

/// The list under "faults" in every JSON answer: objects with path, found, allowed and message.
[[nodiscard]] nlohmann::json faults_to_json(const Faults& faults);
/// Prints a line for each fault, and their number, to stderr: the program does not start because of `file`.
void complain(const Faults& faults, const std::string& file);

}  // namespace weir
