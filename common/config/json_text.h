// json_text.h - strict reader of JSON with comments into a value, the places of its parts, and its faults.
// Threads: any; never used on a poll thread.
//
// Duplicate keys, and texts too large or too deep, are faults. The reader notes the byte offset of every
// value by its path, so that faults that are found later can be sorted into the order of the text and carry
// their line. Example: "vnics[2].limit" is noted at offset 812; a fault at this path is printed with "(line
// 31)".
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

/// Byte offset of each value of a text by its path ("vnics[2].limit"; the root is ""). Paths have
/// kPathBytesMax together, those of 100,000 vNICs a third of it; behind that none is noted.
class TextPlaces {
  public:
    static constexpr std::size_t kPathBytesMax = 64U << 20;

    void note(std::string path, std::size_t offset) {
        if (path.size() > kPathBytesMax - path_bytes_)
            return;
        path_bytes_ += path.size();
        offsets_.insert_or_assign(std::move(path), offset);
    }
    [[nodiscard]] std::size_t path_bytes() const { return path_bytes_; }
    /// Offset of the value, or of its nearest noted ancestor.
    [[nodiscard]] std::size_t offset_of(std::string path) const;

  private:
    std::map<std::string, std::size_t> offsets_;
    std::size_t path_bytes_ = 0;
};

struct JsonText {
    nlohmann::json value;
    TextPlaces places;
    Faults faults;          ///< one of syntax, and `value` is null; or any number of duplicate keys
    bool readable = false;  ///< `value` holds the whole text
};

/// The largest text that is read.
struct JsonBounds {
    std::size_t bytes = 4U << 20;
    std::size_t values = 200'000;
    bool notes_places = true;  ///< no person reads the lines of a program's message
};

/// Never throws on input. Besides `bounds`: 128 levels, whose keys have 1,024 bytes together.
[[nodiscard]] JsonText read_json_text(std::string_view text, const JsonBounds& bounds = {});

/// Sorts by place in the text, keeping the order of equals, and adds "(line N)" to the messages.
void sort_by_place(Faults& faults, const TextPlaces& places, std::string_view text);

/// Parses the text and makes a T of its value with `read(const nlohmann::json&, Faults&)`. @return the T, or
/// all faults in the order of the text
template <class T, class Read>
[[nodiscard]] std::variant<T, Faults> parse_document(std::string_view text, Read&& read,
                                                     const JsonBounds& bounds = {}) {
    JsonText json_text = read_json_text(text, bounds);
    if (!json_text.readable)
        return std::move(json_text.faults);
    Faults faults = std::move(json_text.faults);
    T value = read(std::as_const(json_text.value), faults);
    if (faults.empty())
        return std::variant<T, Faults>(std::in_place_type<T>, std::move(value));
    sort_by_place(faults, json_text.places, text);
    return faults;
}

}  // namespace weir
