// config_text.cc - reading of files, and the printing of values and faults.
#include "common/config/config_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace weir {

using nlohmann::json;

std::variant<std::string, Fault> read_text_file(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();  // a directory opens, and fails here
    if (!file.is_open() || errno != 0)
        return Fault{path, std::strerror(errno), "a readable file", "the configuration could not be read"};
    return text.str();
}

std::string show_value(const json& value) {
    if (value.is_structured() && !value.empty())
        return value.is_array() ? "a list" : "an object";
    if (value.is_string())
        return '"' + show_text(value.get_ref<const std::string&>()) + '"';
    return show_text(value.dump());
}

std::size_t control_bytes(std::string_view text) {
    const auto byte = [text](std::size_t at) -> unsigned {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const auto is_in = [](unsigned value, unsigned first, unsigned last) {
        return value >= first && value <= last;
    };
    if (text.empty())
        return 0;
    if (byte(0) < 0x20 || byte(0) == 0x7F)
        return 1;
    if ((byte(0) == 0xC2 && is_in(byte(1), 0x80, 0x9F)) ||  // U+0080 to U+009F
        (byte(0) == 0xD8 && byte(1) == 0x9C))               // U+061C
        return 2;
    const bool is_mark = byte(1) == 0x80 && (is_in(byte(2), 0x8E, 0x8F) || is_in(byte(2), 0xAA, 0xAE));
    const bool is_isolate = byte(1) == 0x81 && is_in(byte(2), 0xA6, 0xA9);
    return byte(0) == 0xE2 && (is_mark || is_isolate) ? 3 : 0;  // U+200E, U+202A to U+202E, U+2066 to U+2069
}

std::string show_text(std::string_view text) {
    constexpr std::size_t kShownMax = 60;
    const bool cut = text.size() > kShownMax;
    std::string shown(text.substr(0, kShownMax));
    // Removes a last character that may have been cut in two.
    if (cut)
        while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0) == 0x80)
            shown.pop_back();
    if (cut && !shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xC0)
        shown.pop_back();
    for (std::size_t at = 0; at < shown.size(); ++at)
        if (const std::size_t bytes = control_bytes(std::string_view(shown).substr(at)); bytes != 0)
            shown.replace(at, bytes, " ");
    // Through JSON and back: bytes that are not UTF-8 become replacement characters.
    shown = json::parse(json(shown).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
    return cut ? shown + "..." : shown;
}

json faults_to_json(const Faults& faults) {
    json list = json::array();
    for (const Fault& fault : faults)
        list.push_back({{"path", fault.path},
                        {"found", fault.found},
                        {"allowed", fault.allowed},
                        {"message", fault.message}});
    return list;
}

void complain(const Faults& faults, const std::string& file) {
    for (const Fault& fault : faults)
        std::fprintf(stderr, "%s: %s\n", file.c_str(), fault.to_line().c_str());
    std::fprintf(stderr, "%s: %zu fault%s; nothing was started\n", file.c_str(), faults.size(),
                 faults.size() == 1 ? "" : "s");
}

}  // namespace weir
