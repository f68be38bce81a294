// why_cluster.cc - weirctl why --cluster: the resources that hold a vNIC's flows back, and their users.
#include "common/units.h"
#include "common/utc_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"

namespace weir::cli {
namespace {

std::string rate_text(const json& unit, double rate) {
    return unit == "tokens/s" ? human_token_rate(rate) : human_rate(rate);
}

std::string since_text(const json& value) {
    const double since = number_at(value, "/since");
    return since >= 0 ? utc_text(static_cast<std::int64_t>(since)) : "-";
}

std::string flows_text(const json& flows, const Terminal& terminal) {
    Table table(
        {{"FROM"}, {"TO"}, {"WANTED", true}, {"ALLOCATED", true}, {"HELD BACK BY"}, {"SINCE", false, 1}});
    for (const json& flow : flows) {
        const bool is_held = at(flow, "/held_by").is_string();
        table.add_row({text_at(flow, "/source"),
                       text_at(flow, "/destination"),
                       rate_text(at(flow, "/unit"), number_at(flow, "/wanted")),
                       rate_text(at(flow, "/unit"), number_at(flow, "/allocated")),
                       {text_at(flow, "/held_by"), is_held ? Style::kWarn : Style::kPlain},
                       since_text(flow)});
    }
    return table.render(terminal.columns, terminal.color);
}

std::string resource_text(const json& resource, const json& vnic, const Terminal& terminal) {
    const json& unit = at(resource, "/unit");
    std::string text =
        '\n' + text_at(resource, "/name") + ": " + rate_text(unit, number_at(resource, "/used")) + " of " +
        rate_text(unit, number_at(resource, "/capacity")) + ", short since " + since_text(resource) + '\n';
    Table table({{"USER"}, {"TENANT"}, {"USED", true}, {"SINCE", false, 1}});
    for (const json& user : list_at(resource, "/users"))
        table.add_row({{text_at(user, "/vnic"), at(user, "/vnic") == vnic ? Style::kDim : Style::kPlain},
                       text_at(user, "/tenant"),
                       rate_text(unit, number_at(user, "/used")),
                       since_text(user)});
    return text + table.render(terminal.columns, terminal.color);
}

/// The commands that give the vNIC more of the resources that are short.
std::string remedy_text(const json& why) {
    constexpr std::string_view kAppliance = "appliance ";
    const std::string tenant = text_at(why, "/tenant");
    std::string text;
    bool is_link = false;
    for (const json& resource : list_at(why, "/resources")) {
        const std::string name = text_at(resource, "/name");
        is_link = is_link || !name.starts_with(kAppliance);
        if (name.starts_with(kAppliance))
            text += "to reserve more there: weirctl tenant set " + tenant + ' ' +
                    name.substr(kAppliance.size()) + ".reservation=TOKENS\n";
    }
    if (!is_link)
        return text;
    const double reservation = number_at(why, "/reservation_bps");
    return text + "it reserves " + (reservation > 0 ? human_rate(reservation) : "nothing") +
           " of links; to reserve more: weirctl tenant set-vnic " + tenant + ' ' + text_at(why, "/vnic") +
           " reservation=RATE\n";
}

}  // namespace

std::string why_cluster_text(const json& why, const Terminal& terminal) {
    const double now = number_at(why, "/time");
    std::string text = text_at(why, "/vnic") + " of tenant " + text_at(why, "/tenant") +
                       (at(why, "/host").is_string() ? " on host " + text_at(why, "/host") : ", on no host") +
                       (now >= 0 ? ", at " + utc_text(static_cast<std::int64_t>(now)) : "") + '\n';
    const json& flows = list_at(why, "/flows");
    if (flows.empty())
        return text + "it has no flow that a resource of the cluster carries\n";
    text += flows_text(flows, terminal);
    const json& resources = list_at(why, "/resources");
    for (const json& resource : resources)
        text += resource_text(resource, at(why, "/vnic"), terminal);
    return resources.empty() ? text : text + '\n' + remedy_text(why);
}

}  // namespace weir::cli
