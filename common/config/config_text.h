// config_text.h - the texts of files, and the printed forms of values and faults.
// Threads: any; never used on a poll thread.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "common/error.h"

namespace weir {

/// @return the whole file, or the reason for which it cannot be read
[[nodiscard]] std::variant<std::string, Fault> read_text_file(const std::string& path);

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

/// Bytes of the control character at the begin of the text, in UTF-8; 0: another character. Those that
/// reverse or isolate a direction of writing count as well: a terminal shows another text than it gets.
[[nodiscard]] std::size_t control_bytes(std::string_view text);

/// The words of all items, as faults list the allowed ones: "a, b, c". @param word_of the word of an item
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
