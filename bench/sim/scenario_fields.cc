// scenario_fields.cc - parsers of names, sets of hosts and tables of sizes.
#include "bench/sim/scenario_fields.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "vswitch/config/config_fields.h"

namespace weir::sim {
namespace {

constexpr const char* kSetAllowed = "hosts and ranges, such as \"0-3,7\", or \"all\" or \"none\"";

/// A whole number up to the end of `text`.
bool parse_number(std::string_view text, std::uint32_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

/// @return false when `text` is no such set, or not one of these hosts
bool parse_set(std::string_view text, std::vector<bool>& chosen) {
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view part = text.substr(at, comma - at);
        const std::size_t dash = part.find('-');
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        if (!parse_number(part.substr(0, dash), first))
            return false;
        if (dash == std::string_view::npos)
            last = first;
        else if (!parse_number(part.substr(dash + 1), last))
            return false;
        if (first > last || last >= chosen.size())
            return false;
        std::fill(chosen.begin() + first, chosen.begin() + last + 1, true);
        at = comma + 1;
    }
    return true;
}

}  // namespace

void read_required_name(ObjectReader& reader, std::string& out) {
    if (!read_name(reader, "name", out) && !reader.has("name"))
        reader.fault("name", "a name", "results are shown by name");
}

std::vector<std::uint32_t> read_host_set(ObjectReader& reader, std::string_view key, std::uint32_t hosts,
                                         std::string_view absent) {
    std::string text(absent);
    reader.read_text(key, text);
    std::vector<bool> chosen(hosts, text == "all");
    if (text != "all" && text != "none" && !parse_set(text, chosen))
        reader.fault(key, kSetAllowed + std::string(" of 0 to ") + std::to_string(hosts - 1),
                     "this is no set of hosts");
    std::vector<std::uint32_t> list;
    for (std::uint32_t host = 0; host < hosts; ++host)
        if (chosen[host])
            list.push_back(host);
    return list;
}

bool parse_sizes(std::string_view text, SizeTable& out, std::string& fault) {
    std::istringstream lines{std::string(text)};
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        std::istringstream words(line.substr(0, line.find('#')));
        double bytes = 0;
        double fraction = 0;
        std::string rest;
        if (!(words >> std::ws) || words.eof())
            continue;
        const double bytes_before = out.empty() ? 0 : out.back().first;
        const double fraction_before = out.empty() ? 0 : out.back().second;
        if (!(words >> bytes >> fraction) || words >> rest || bytes <= bytes_before || bytes > 1e12 ||
            fraction < fraction_before || fraction > 1) {
            fault = "its line " + std::to_string(number) + " is no size and fraction above the last";
            return false;
        }
        out.emplace_back(bytes, fraction);
    }
    if (out.empty() || out.back().second < 1) {
        fault = "its fractions do not end at 1";
        return false;
    }
    return true;
}

}  // namespace weir::sim
