// json_text.cc - a SAX handler that builds the JSON value, notes offsets and refuses duplicate keys and
// hostile sizes.
#include "common/config/json_text.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "common/config/config_text.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kDepthMax = 128;
// Every value keeps its path, and every fault names one: a long key above many values would fill memory.
constexpr std::size_t kJsonPathBytesMax = 1024;
constexpr std::size_t kDuplicatesMax = 1'000;

// Iterates over the text and keeps the position of the last character read, for the handler.
class TrackingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    TrackingIterator(const char* at, const char** cursor) : at_(at), cursor_(cursor) {}
    reference operator*() const { return *at_; }
    TrackingIterator& operator++() {
        *cursor_ = at_++;
        return *this;
    }
    bool operator==(const TrackingIterator& other) const { return at_ == other.at_; }

  private:
    const char* at_;
    const char** cursor_;  // the last character read
};

class Builder : public nlohmann::json_sax<json> {
  public:
    Builder(JsonText& out, const char* begin, const JsonBounds& bounds)
        : out_(out),
          begin_(begin),
          cursor_(begin),
          values_max_(bounds.values),
          notes_places_(bounds.notes_places) {}

    const char** cursor() { return &cursor_; }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t& /*written*/) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }  // does not exist in JSON text
    bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
    bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        Level& level = levels_.back();
        level.key = name;
        if (level.value->contains(name) && out_.faults.size() < kDuplicatesMax)
            out_.faults.push_back({path(), show_text(name) + " again", "each key once", "duplicate key"});
        if (notes_places_)
            out_.places.note(path(), offset());
        return true;
    }

    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& error) override {
        // Ids of nlohmann/json: 101 syntax, 406 a number beyond a double.
        fail(error.id == 406 ? "the number is too large"
                             : "this is not JSON (comments are taken, trailing commas are not)");
        return false;
    }

    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(cursor_ - begin_); }

  private:
    struct Level {
        json* value;
        std::string path;
        std::string key;  // of the object's member that comes next
    };

    // Path of the value that comes next.
    [[nodiscard]] std::string path() const {
        if (levels_.empty())
            return {};
        const Level& level = levels_.back();
        if (level.value->is_array())
            return level.path + '[' + std::to_string(level.value->size()) + ']';
        return level.path.empty() ? level.key : level.path + '.' + level.key;
    }

    json* place(json&& value) {
        if (levels_.empty())
            return &(out_.value = std::move(value));
        Level& level = levels_.back();
        if (level.value->is_array()) {
            if (notes_places_)
                out_.places.note(path(), offset());
            level.value->push_back(std::move(value));
            return &level.value->back();
        }
        return &((*level.value)[level.key] = std::move(value));
    }

    bool put(json value) {
        if (++values_ > values_max_)
            return fail("there are more than " + std::to_string(values_max_) + " values");
        place(std::move(value));
        return true;
    }

    bool open(json value) {
        if (levels_.size() == kDepthMax)
            return fail("this is nested deeper than 128 levels");
        if (++values_ > values_max_)
            return fail("there are more than " + std::to_string(values_max_) + " values");
        std::string own = path();
        if (own.size() > kJsonPathBytesMax)
            return fail("the names above this are longer than 1024 bytes together");
        json* placed = place(std::move(value));
        levels_.push_back({placed, std::move(own), {}});
        return true;
    }

    bool close() {
        levels_.pop_back();
        return true;
    }

    bool fail(std::string why) {
        failure_ = std::move(why);
        return false;
    }

    JsonText& out_;
    const char* begin_;
    const char* cursor_;
    std::vector<Level> levels_;
    std::size_t values_max_;
    bool notes_places_;
    std::size_t values_ = 0;
    std::string failure_;
};

// "line 3, column 7", both from 1; the column counts bytes.
std::string line_and_column(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// The characters around an offset, on its line.
std::string excerpt(std::string_view text, std::size_t offset) {
    constexpr std::size_t kAround = 24;
    if (text.empty())
        return "nothing";
    const std::size_t newline = text.substr(0, offset).rfind('\n');
    const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::size_t line_end = std::min(text.find('\n', offset), text.size());
    const std::size_t begin = std::max(line_begin, offset - std::min(offset, kAround));
    return show_text(text.substr(begin, std::min(line_end, offset + kAround) - begin));
}

JsonText refused(std::string path, std::string found, std::string allowed, std::string message) {
    JsonText out;
    out.faults.push_back({std::move(path), std::move(found), std::move(allowed), std::move(message)});
    return out;
}

}  // namespace

std::size_t TextPlaces::offset_of(std::string path) const {
    while (!path.empty()) {
        if (const auto it = offsets_.find(path); it != offsets_.end())
            return it->second;
        const std::size_t cut = path.find_last_of(".[");
        path.erase(cut == std::string::npos ? 0 : cut);
    }
    return 0;
}

JsonText read_json_text(std::string_view text, const JsonBounds& bounds) {
    if (text.size() > bounds.bytes)
        return refused("", std::to_string(text.size()) + " bytes",
                       "at most " + std::to_string(bounds.bytes >> 20) + " MiB", "the text is too large");
    // The lexer takes a null byte for the end of the text and would ignore the bytes behind it.
    if (const std::size_t null = text.find('\0'); null != std::string_view::npos)
        return refused(line_and_column(text, null), "a null byte", "text in UTF-8",
                       "this is not a text file");
    JsonText out;
    Builder builder(out, text.data(), bounds);
    const TrackingIterator begin(text.data(), builder.cursor());
    const TrackingIterator end(text.data() + text.size(), builder.cursor());
    out.readable = json::sax_parse(begin, end, &builder, json::input_format_t::json, true, true);
    if (out.readable)
        return out;
    const std::size_t at = std::min(builder.offset(), text.size());
    return refused(line_and_column(text, at), excerpt(text, at), "JSON with comments, in UTF-8",
                   builder.failure());
}

void sort_by_place(Faults& faults, const TextPlaces& places, std::string_view text) {
    std::vector<std::pair<std::size_t, Fault>> placed;
    placed.reserve(faults.size());
    for (Fault& fault : faults)
        placed.emplace_back(places.offset_of(fault.path), std::move(fault));
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    faults.clear();
    std::size_t at = 0;
    std::ptrdiff_t line = 1;
    for (auto& [offset, fault] : placed) {
        const std::size_t end = std::min(offset, text.size());
        line += std::count(text.data() + at, text.data() + end, '\n');
        at = end;
        fault.message += " (line " + std::to_string(line) + ")";
        faults.push_back(std::move(fault));
    }
}

}  // namespace weir
