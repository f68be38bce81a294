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
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
        ' ');
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
