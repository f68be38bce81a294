// plan_view.cc - three tables, the worst first, and a last line that says what the controller would do.
#include "ctrl/cli/plan_view.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

constexpr std::size_t kResourcesMost = 20;
constexpr std::size_t kHostsMost = 4;

std::string amount_text(const json& entry, const char* pointer) {
    const std::string unit = text_at(entry, "/unit");
    const double amount = number_at(entry, pointer);
    return unit == "tokens/s" ? human_token_rate(amount)
           : unit == "vnics"  ? human_count(amount)
                              : human_rate(amount);
}

std::string part_text(double part) {
    if (!std::isfinite(part))
        return "-";
    char text[32];
    std::snprintf(text, sizeof text, part < 0.001 ? "%.2g%%" : "%.3g%%", part * 100);
    return text;
}

std::string joined(const std::vector<std::string>& parts, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < std::min(parts.size(), most); ++i)
        text += (i == 0 ? "" : ", ") + parts[i];
    if (parts.size() > most)
        text += ", and " + std::to_string(parts.size() - most) + " more";
    return text.empty() ? "-" : text;
}

/// "h1 (3), h2": where it has how many vNICs.
std::string places_text(const json& tenant) {
    std::vector<std::pair<std::string, unsigned>> counts;
    for (const json& vnic : list_at(tenant, "/vnics")) {
        const std::string host = text_at(vnic, "/host");
        const auto known =
            std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == host; });
        if (known == counts.end())
            counts.emplace_back(host, 1);
        else
            ++known->second;
    }
    std::vector<std::string> texts;
    for (const auto& [host, count] : counts)
        texts.push_back(count == 1 ? host : host + " (" + std::to_string(count) + ")");
    return joined(texts, kHostsMost);
}

/// " (new)", against what runs; nothing where nothing runs.
std::string news_text(const std::string& news) {
    return news == "-" ? "" : " (" + news + ")";
}

std::string tenants_text(const json& plan, const Terminal& terminal) {
    Table table({{"TENANT"}, {"FITS"}, {"VNICS", true, 1}, {"WHERE"}});
    std::string reasons;
    for (const json& tenant : list_at(plan, "/tenants")) {
        const bool fits = at(tenant, "/fits") == true;
        const std::string standing = text_at(tenant, "/standing");
        table.add_row({text_at(tenant, "/name") + news_text(standing != "unchanged" ? standing : "-"),
                       {fits ? "yes" : "no", fits ? Style::kGood : Style::kBad},
                       std::to_string(list_at(tenant, "/vnics").size()),
                       places_text(tenant)});
        if (!fits)
            reasons += text_at(tenant, "/why") + '\n';
    }
    for (const json& gone : list_at(plan, "/gone"))
        table.add_row({text_at(gone, "") + " (gone)", "-", "-", "-"});
    if (!reasons.empty())
        reasons += "who does not fit is shown where it would do the least harm\n";
    return table.render(terminal.columns, terminal.colour) + reasons + '\n';
}

Cell ratio_cell(const json& load) {
    const bool over = at(load, "/over") == true;
    return {part_text(number_at(load, "/ratio")), !over                             ? Style::kGood
                                                  : at(load, "/admissible") == true ? Style::kWarn
                                                                                    : Style::kBad};
}

std::string resources_text(const json& plan, const Terminal& terminal) {
    std::vector<const json*> loads;
    for (const json& load : list_at(plan, "/resources"))
        if (at(load, "/unit") != "vnics" || at(load, "/over") == true)
            loads.push_back(&load);
    std::stable_sort(loads.begin(), loads.end(), [](const json* a, const json* b) {
        return number_at(*a, "/ratio") > number_at(*b, "/ratio");
    });
    Table table({{"PROMISED OF"},
                 {"NEED", true},
                 {"HAVE", true},
                 {"PART", true},
                 {"VNICS", true, 2},
                 {"FAILS", true},
                 {"WHOSE", false, 1}});
    for (std::size_t i = 0; i < std::min(loads.size(), kResourcesMost); ++i) {
        const json& load = *loads[i];
        std::vector<std::string> whose;
        for (const auto& [name, need] : list_at(load, "/tenants").items())
            whose.push_back(name);
        const bool is_new = at(load, "/new") == true;
        table.add_row({text_at(load, "/what") + news_text(is_new ? "new" : "-"), amount_text(load, "/need"),
                       amount_text(load, "/have"), ratio_cell(load), human_count(number_at(load, "/vnics")),
                       part_text(number_at(load, "/failure_probability")) +
                           (at(load, "/measured") == true ? " measured" : ""),
                       joined(whose, kHostsMost)});
    }
    std::string text = table.render(terminal.columns, terminal.colour);
    if (loads.size() > kResourcesMost)
        text += "and " + std::to_string(loads.size() - kResourcesMost) + " more, less loaded\n";
    return text + '\n';
}

std::string broken_text(const json& plan, const Terminal& terminal) {
    if (list_at(plan, "/broken").empty())
        return {};
    Table table({{"WOULD BREAK"}, {"AT"}, {"GUARANTEED", true}, {"POSSIBLE", true}});
    for (const json& broken : list_at(plan, "/broken")) {
        const bool is_new = at(broken, "/new") == true;
        table.add_row({{text_at(broken, "/tenant") + news_text(is_new ? "new" : "-"), Style::kBad},
                       text_at(broken, "/what"),
                       amount_text(broken, "/guaranteed"),
                       amount_text(broken, "/possible")});
    }
    return table.render(terminal.columns, terminal.colour) + "when all want theirs at once\n\n";
}

}  // namespace

std::string plan_text(const json& plan, const Terminal& terminal) {
    const json& over = at(plan, "/overcommit");
    const bool admitted = at(plan, "/admitted") == true;
    std::string text = "cluster " + text_at(plan, "/cluster") + ", " + text_at(plan, "/hosts") + " host(s), ";
    text += at(over, "/allowed") == true
                ? "over-commitment within failures " + part_text(number_at(over, "/failure_max")) +
                      " of the time, were vNICs to use " + part_text(number_at(over, "/utilisation")) + '\n'
                : std::string("no over-commitment\n");
    return text + '\n' + tenants_text(plan, terminal) + resources_text(plan, terminal) +
           broken_text(plan, terminal) +
           styled(admitted ? "the controller takes this file" : "the controller refuses this file",
                  admitted ? Style::kGood : Style::kBad, terminal.colour) +
           '\n';
}

}  // namespace weir::cli
