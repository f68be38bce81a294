// plan_command.cc - weirctl plan, weirctl apply --dry-run: what a cluster file promises, and whether it
// holds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "ctrl/cli/failure.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/plan_view.h"
#include "ctrl/cli/session.h"
#include "ctrl/placement/cluster_plan.h"

namespace weir::cli {
namespace {

ClusterConfig cluster_config_of(const std::string& file) {
    auto parsed = load_cluster(file);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        throw Failure(kExitBadInput, *faults);
    return std::get<ClusterConfig>(std::move(parsed));
}

/// What vNICs used of their promises, in seconds by bin; what has another shape is left out.
billing::UseTable use_of(const json& answer) {
    billing::UseTable::Uses uses;
    for (const auto& [vnic, list] : list_at(answer, "/use").items()) {
        billing::MeasuredUse::Bins bins{};
        if (!list.is_array() || list.size() != bins.size())
            continue;
        for (std::size_t i = 0; i < bins.size(); ++i)
            bins[i] = list[i].is_number() ? std::max(0.0, list[i].get<double>()) : 0;
        uses.emplace(vnic, billing::MeasuredUse(bins));
    }
    return billing::UseTable(std::move(uses));
}

RunningCluster running_of(const Session& session, const json& answer) {
    const std::string text = at(answer, "/specification").is_string() ? answer["specification"] : "";
    auto parsed = parse_cluster(text);
    if (std::holds_alternative<Faults>(parsed))
        throw Failure(kExitRefused, {{session.socket, "a file that this weirctl cannot read", "",
                                      "are weirctl and weir-ctrl of the same version?"}});
    RunningCluster running{.config = std::get<ClusterConfig>(std::move(parsed)), .hosts = {}};
    for (const auto& [vnic, host] : list_at(answer, "/vnics").items())
        if (host.is_string())
            running.hosts.emplace(vnic, host.get<std::string>());
    return running;
}

void show(Session& session, const ClusterConfig& config, const RunningCluster* running,
          const billing::UseTable* use) {
    const ClusterPlan plan = plan_cluster(config, running, use);
    const json report = plan_json(config, plan, running);
    if (!session.print_json(report, plan.admitted()))
        std::cout << plan_text(report, terminal_of_stdout());
    session.exit_code = plan.admitted() ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void add_plan_commands(CLI::App& app, Session& session) {
    auto file = std::make_shared<std::string>();
    CLI::App* plan = app.add_subcommand(
        "plan",
        "where a cluster file's tenants go, and what of its promises would break; needs no controller");
    auto measured = std::make_shared<bool>(false);
    plan->add_option("FILE", *file, "the cluster file")->required();
    plan->add_flag(
        "--measured", *measured,
        "how often over-commitment fails by what the controller (--socket) has measured for a day");
    plan->callback([&session, file, measured] {
        const ClusterConfig config = cluster_config_of(*file);
        const billing::UseTable use = *measured ? use_of(session.ask("running")) : billing::UseTable();
        show(session, config, nullptr, &use);
    });

    auto next = std::make_shared<std::string>();
    auto dry = std::make_shared<bool>(false);
    CLI::App* apply = app.add_subcommand(
        "apply", "with --dry-run: what a new cluster file would change for the controller that runs");
    apply->add_flag("--dry-run", *dry, "change nothing");
    apply->add_option("FILE", *next, "the cluster file")->required();
    apply->callback([&session, next, dry] {
        if (!*dry)
            throw bad_input("apply", *next, "--dry-run",
                            "the controller reads its file at start: replace it and restart weir-ctrl; the "
                            "switches go on meanwhile");
        const ClusterConfig config = cluster_config_of(*next);
        const json answer = session.ask("running");
        const RunningCluster running = running_of(session, answer);
        const billing::UseTable use = use_of(answer);
        show(session, config, &running, &use);
    });
}

}  // namespace weir::cli
