// plan.cc - weirctl plan: the plan of a cluster file or a stored revision, alone or against the running
// cluster.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"
#include "ctrl/placement/cluster_plan.h"

namespace weir::cli {
namespace {

constexpr std::size_t kResourcesShown = 20;
constexpr std::size_t kNamesShown = 4;

std::string need_text(const json& entry, const char* pointer) {
    const std::string unit = text_at(entry, "/unit");
    const double amount = number_at(entry, pointer);
    return unit == "tokens/s" ? human_token_rate(amount)
           : unit == "vnics"  ? human_count(amount)
                              : human_rate(amount);
}

/// A ratio or probability as percent, three significant digits.
std::string part_text(double part) {
    if (!std::isfinite(part))
        return "-";
    char text[32];
    std::snprintf(text, sizeof text, part < 0.001 ? "%.2g%%" : "%.3g%%", part * 100);
    return text;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
        text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kNamesShown)
        text += ", and " + std::to_string(names.size() - kNamesShown) + " more";
    return text.empty() ? "-" : text;
}

/// Hosts of a tenant with the number of its vNICs there: "h1 (3), h2".
std::string places_text(const json& tenant) {
    std::vector<std::pair<std::string, unsigned>> counts;  // in the order of the vNICs
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
    return joined(texts);
}

/// Against the running cluster: " (new)", or the tenant's `standing`; else empty.
std::string change_text(const std::string& standing) {
    return standing == "-" || standing == "unchanged" ? "" : " (" + standing + ")";
}
std::string new_text(const json& entry) {
    return at(entry, "/new") == true ? " (new)" : "";
}

std::string tenants_text(const json& plan, const Terminal& terminal) {
    Table table({{"TENANT"}, {"FITS"}, {"VNICS", true, 1}, {"HOSTS"}});
    std::string reasons;
    for (const json& tenant : list_at(plan, "/tenants")) {
        const bool fits = at(tenant, "/fits") == true;
        table.add_row({text_at(tenant, "/name") + change_text(text_at(tenant, "/standing")),
                       {fits ? "yes" : "no", fits ? Style::kGood : Style::kBad},
                       std::to_string(list_at(tenant, "/vnics").size()),
                       places_text(tenant)});
        if (!fits)
            reasons += text_at(tenant, "/why") + '\n';
    }
    for (const json& gone : list_at(plan, "/gone"))
        table.add_row({text_at(gone, "") + " (removed)", "-", "-", "-"});
    if (!reasons.empty())
        reasons += "a tenant that does not fit is shown on the hosts that it overloads least\n";
    return table.render(terminal.columns, terminal.color) + reasons + '\n';
}

Cell ratio_cell(const json& load) {
    const Style style = at(load, "/over") != true         ? Style::kGood
                        : at(load, "/admissible") == true ? Style::kWarn
                                                          : Style::kBad;
    return {part_text(number_at(load, "/ratio")), style};
}

void add_resource(Table& table, const json& load) {
    std::vector<std::string> tenants;
    for (const auto& [name, need] : list_at(load, "/tenants").items())
        tenants.push_back(name);
    table.add_row({text_at(load, "/what") + new_text(load), need_text(load, "/need"),
                   need_text(load, "/have"), ratio_cell(load), human_count(number_at(load, "/vnics")),
                   part_text(number_at(load, "/failure_probability")) +
                       (at(load, "/measured") == true ? " measured" : ""),
                   joined(tenants)});
}

/// The most loaded first. Slots of hosts (unit "vnics") are shown only when there are too few.
std::string resources_text(const json& plan, const Terminal& terminal) {
    std::vector<const json*> loads;
    for (const json& load : list_at(plan, "/resources"))
        if (at(load, "/unit") != "vnics" || at(load, "/over") == true)
            loads.push_back(&load);
    std::stable_sort(loads.begin(), loads.end(), [](const json* a, const json* b) {
        return number_at(*a, "/ratio") > number_at(*b, "/ratio");
    });
    Table table({{"RESOURCE"},
                 {"PROMISED", true},
                 {"CAPACITY", true},
                 {"LOAD", true},
                 {"VNICS", true, 2},
                 {"FAILURES", true},
                 {"TENANTS", false, 1}});
    for (std::size_t i = 0; i < std::min(loads.size(), kResourcesShown); ++i)
        add_resource(table, *loads[i]);
    std::string text = table.render(terminal.columns, terminal.color);
    if (loads.size() > kResourcesShown)
        text += "and " + std::to_string(loads.size() - kResourcesShown) + " more resources with less load\n";
    return text + '\n';
}

std::string broken_text(const json& plan, const Terminal& terminal) {
    const json& all = list_at(plan, "/broken");
    if (all.empty())
        return {};
    Table table({{"TENANT"}, {"RESOURCE"}, {"GUARANTEED", true}, {"POSSIBLE", true}});
    for (const json& broken : all)
        table.add_row({{text_at(broken, "/tenant") + new_text(broken), Style::kBad},
                       text_at(broken, "/what"),
                       need_text(broken, "/guaranteed"),
                       need_text(broken, "/possible")});
    return "guarantees that break when all tenants use theirs at once:\n" +
           table.render(terminal.columns, terminal.color) + '\n';
}

/// Seconds per bin that each vNIC used of its reservation, as the controller measured it; an entry of another
/// shape is left out.
billing::UseTable use_of(const json& running) {
    billing::UseTable::Uses uses;
    for (const auto& [vnic, list] : list_at(running, "/use").items()) {
        billing::MeasuredUse::Bins bins{};
        if (!list.is_array() || list.size() != bins.size())
            continue;
        for (std::size_t i = 0; i < bins.size(); ++i)
            bins[i] = list[i].is_number() ? std::max(0.0, list[i].get<double>()) : 0;
        uses.emplace(vnic, billing::MeasuredUse(bins));
    }
    return billing::UseTable(std::move(uses));
}

/// @param text of a specification in the store of the controller at `socket`. @throws Failure
ClusterConfig config_of(const std::string& socket, const json& text) {
    auto parsed = parse_cluster(text.is_string() ? text.get<std::string>() : "");
    if (std::holds_alternative<Faults>(parsed))
        throw Failure(kExitRefused, {{socket, "a cluster file that this weirctl cannot parse", "",
                                      "use weirctl and weir-ctrl of the same version"}});
    return std::get<ClusterConfig>(std::move(parsed));
}

/// @param revision nothing: the one in force. @throws Failure
ClusterConfig stored_config(const Session& session, std::optional<std::uint32_t> revision) {
    const json args = revision ? json{{"revision", *revision}} : json::object();
    return config_of(session.socket, at(session.ask("specification", args), "/text"));
}

RunningCluster cluster_of(const std::string& socket, const json& running) {
    RunningCluster cluster{.config = config_of(socket, at(running, "/specification")), .hosts = {}};
    for (const auto& [vnic, host] : list_at(running, "/vnics").items())
        if (host.is_string())
            cluster.hosts.emplace(vnic, host.get<std::string>());
    return cluster;
}

}  // namespace

std::string plan_text(const json& plan, const Terminal& terminal) {
    const json& over = at(plan, "/overcommit");
    const bool admitted = at(plan, "/admitted") == true;
    std::string text = "cluster " + text_at(plan, "/cluster") + ", hosts " + text_at(plan, "/hosts") + ", ";
    text += at(over, "/allowed") == true
                ? "over-commitment with failures at most " + part_text(number_at(over, "/failure_max")) +
                      " of the time when vNICs use " + part_text(number_at(over, "/utilization")) +
                      " of their reservations\n"
                : std::string("no over-commitment\n");
    return text + '\n' + tenants_text(plan, terminal) + resources_text(plan, terminal) +
           broken_text(plan, terminal) +
           styled(admitted ? "the controller accepts this file" : "the controller refuses this file",
                  admitted ? Style::kGood : Style::kBad, terminal.color) +
           '\n';
}

json running_plan(const Session& session, const ClusterConfig& config) {
    const json running = session.ask("running");
    const RunningCluster cluster = cluster_of(session.socket, running);
    const billing::UseTable use = use_of(running);
    return plan_json(config, plan_cluster(config, &cluster, &use), &cluster);
}

void add_plan(CLI::App& command, Session& session) {
    auto file = std::make_shared<std::string>();
    auto revision = std::make_shared<std::optional<std::uint32_t>>();
    auto measured = std::make_shared<bool>(false);
    CLI::Option* const file_option = command.add_option(
        "FILE", *file,
        "the cluster file; without it, the specification in force of the controller (--socket)");
    command.add_option("--revision", *revision, "of the controller's specification, from `weirctl history`")
        ->type_name("N")
        ->excludes(file_option);
    command.add_flag("--measured", *measured,
                     "judge over-commitment by the use that the controller (--socket) measured for a day");
    command.footer(
        "Examples:\n"
        "  weirctl plan /etc/weir/cluster.jsonc\n"
        "  weirctl plan --revision 41 --socket /run/weir/admin/ctrl.sock\n"
        "FAILURES is the share of the time in which more is needed than the resource has.\n"
        "Exit status 3 when the promises cannot be kept.");
    command.callback([&session, file, revision, measured] {
        const ClusterConfig config =
            file->empty() ? stored_config(session, *revision) : value_or_throw(load_cluster(*file));
        const billing::UseTable use = *measured ? use_of(session.ask("running")) : billing::UseTable();
        const ClusterPlan plan = plan_cluster(config, nullptr, &use);
        session.print(plan_json(config, plan, nullptr), plan_text, plan.admitted());
        session.exit_code = plan.admitted() ? kExitOk : kExitDoesNotFit;
    });
}

}  // namespace weir::cli
