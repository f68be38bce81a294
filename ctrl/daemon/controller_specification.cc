// controller_specification.cc - the commands about the specification: apply, history, its texts, and the
// hosts that have not observed it yet.
//
// A proposed text is parsed, and the next world built, beside the loop. The last check, the store and the
// adoption are one step of it, so that nothing comes between them: all of it happens, or nothing.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "ctrl/config/audited_values.h"
#include "ctrl/config/cluster_change.h"
#include "ctrl/daemon/controller_commands.h"
#include "ctrl/daemon/new_revision.h"
#include "ctrl/placement/cluster_plan.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kChangesShown = 1'000;
constexpr std::uint64_t kRevisionsShown = 1'000;
constexpr std::size_t kViaMax = 200;

template <typename List, typename Make>
json first_of(const List& list, Make make) {
    json out = json::array();
    for (std::size_t i = 0; i < std::min(list.size(), kChangesShown); ++i)
        out.push_back(make(list[i]));
    return out;
}

std::string percent_text(double part) {
    return std::to_string(std::llround(part * 100)) + "%";
}

}  // namespace

/// A text on its way to the next revision.
struct Controller::Proposal {
    std::string text;
    std::string peer;
    std::string via;  // the operator's command
    std::int64_t base = 0;
    bool is_dry_run = false;
    bool is_confirmed = false;
    // Made beside the loop: the text's values.
    json stated;
    std::vector<ChangedValue> changes;
    std::variant<ClusterConfig, Faults> config;
    // Made on it: the reply, and the basis of the next world.
    json data;
    NewRevision revision;
    std::shared_ptr<World> before;
    std::optional<Next> next;
    Placement placement;

    void parse(const std::string& text_before) {
        config = parse_cluster(text, placement_faults);
        stated = read_json_text(text, kClusterBounds).value;
        changes = changed_values(cluster_part(text_before), cluster_part(text));
    }
};

namespace {

Fault moved_base(std::int64_t base, std::int64_t revision) {
    return {"base", std::to_string(base), std::to_string(revision),
            "the specification was changed meanwhile: see `weirctl history`, and apply to the new one"};
}

json describe(const std::vector<ChangedValue>& changes) {
    return first_of(changes, [](const ChangedValue& each) {
        return json{{"path", each.path}, {"before", each.before}, {"now", each.now}};
    });
}

}  // namespace

json Controller::Commands::apply(ObjectReader& args) {
    auto proposal = std::make_shared<Proposal>();
    std::uint64_t base = 0;
    const std::int64_t revision = controller_.revision_;
    constexpr const char* kText = "the text of a cluster file";
    if (require(args, "text", kText)) {
        if (const json& text = *args.take("text"); text.is_string())
            proposal->text = text.get<std::string>();
        else
            args.fault("text", kText, "it is no text");
    }
    const bool has_base = args.read_integer("base", base, {0, UINT32_MAX});
    args.read_flag("dry_run", proposal->is_dry_run);
    args.read_flag("yes", proposal->is_confirmed);
    if (args.read_text("via", proposal->via) && proposal->via.size() > kViaMax)
        args.fault("via", "at most " + std::to_string(kViaMax) + " bytes",
                   "it is the command's words for the audit trail");
    if (!are_valid(args))
        return {};
    proposal->base = has_base ? static_cast<std::int64_t>(base) : revision;
    proposal->peer = origin_.peer;
    Controller* const here = &controller_;
    auto steps = std::make_shared<Steps>();
    steps->all = {
        {[proposal, text = here->store_.specification().value_or("")] { proposal->parse(text); },
         [here, proposal](Nanos now, Faults& faults) { return here->check(*proposal, now, faults); }},
        {[here, proposal] { here->build(*proposal); },
         [here, proposal](Nanos now, Faults& faults) {
             here->finish_apply(*proposal, now, faults);
             return true;
         }}};
    steps->data = [proposal] { return proposal->data; };
    return later_in_steps(std::move(steps));
}

/// Checks the values of the text against the running configuration. @return whether a world is to be built
bool Controller::check(Proposal& proposal, Nanos now, Faults& faults) {
    if (const auto* wrong = std::get_if<Faults>(&proposal.config)) {
        faults = *wrong;
        return false;
    }
    const auto& stated = std::get<ClusterConfig>(proposal.config);
    if (proposal.base != revision_)
        faults.push_back(moved_base(proposal.base, revision_));
    for (Fault& fault : faults_of_live_change(world_->config, stated, proposal.stated))
        faults.push_back(std::move(fault));
    if (!faults.empty())
        return false;
    proposal.data = {{"base", revision_}, {"revision", revision_}, {"applied", false}};
    proposal.data["changes"] = describe(proposal.changes);
    proposal.data["changes_in_all"] = proposal.changes.size();
    if (proposal.changes.empty())
        return false;
    describe_effect(proposal, faults);
    // Rounded up: the period in which a vNIC is removed is its tenant's.
    const std::int64_t removed_at = unix_nanos(now) / static_cast<std::int64_t>(kNanosPerSec) + 1;
    proposal.revision = new_revision(store_, &world_->config, stated, proposal.text, removed_at);
    proposal.revision.author = proposal.peer;
    proposal.revision.via = proposal.via;
    AuditedValues audited = audited_values(proposal.changes);
    proposal.revision.values = std::move(audited.list);
    proposal.revision.values_in_all = audited.in_all;
    proposal.before = world_;
    const Renumbering places(world_->config, stated);
    proposal.placement = placement_for(stated, places);
    proposal.next.emplace(Next{nullptr, places, {}});
    return faults.empty();
}

/// Builds the next world, beside the controller's thread.
void Controller::build(Proposal& proposal) const {
    ClusterConfig config =
        with_process_of(proposal.before->config, std::move(std::get<ClusterConfig>(proposal.config)));
    proposal.next->world = build_world(
        std::move(config), ids_under(proposal.revision.ends, proposal.before->cluster), proposal.placement);
}

/// With faults nothing has changed. @throws HostError: the store was not written, and nothing has changed
void Controller::finish_apply(Proposal& proposal, Nanos now, Faults& faults) {
    if (proposal.base != revision_) {
        faults.push_back(moved_base(proposal.base, revision_));
        return;
    }
    Next next = finish_plan(std::move(*proposal.next));
    describe_displaced(next, proposal.data, faults);
    if (!faults.empty() || proposal.is_dry_run) {
        side_work_.discard(std::move(next.world));
        return;
    }
    revision_ = store_.add_revision(proposal.revision, unix_time_);
    adopt(std::move(next), now);
    set_removed_vnics(std::move(proposal.revision.removed));
    proposal.data["revision"] = revision_;
    proposal.data["applied"] = true;
}

/// Promises that become smaller, and the part of the cluster that the change concerns.
void Controller::describe_effect(Proposal& proposal, Faults& faults) const {
    const auto& config = std::get<ClusterConfig>(proposal.config);
    json& data = proposal.data;
    const std::vector<std::string> smaller = smaller_promises(world_->config, config);
    data["smaller"] = first_of(smaller, [](const std::string& each) { return each; });
    data["smaller_in_all"] = smaller.size();
    const auto host_of = [this](const std::string& vnic) -> std::string_view {
        const HostIndex host = world_->cluster.find_vnic(vnic)->host;
        return host == kNowhere ? std::string_view() : world_->config.hosts[host].name;
    };
    std::size_t all = 0;
    for (const TenantConfig& tenant : world_->config.tenants)
        all += tenant.vnics.size();
    const std::size_t concerned = concerned_vnics(world_->config, config, host_of);
    data["drained"] = json::object();
    for (const HostConfig& host : config.hosts)
        if (const HostIndex now = world_->cluster.find_host(host.name); host.drain && now != kNowhere)
            data["drained"][host.name] = drained_vnics(now);
    data["vnics"] = all;
    data["concerned"] = concerned;
    const double most = world_->config.confirm_above * static_cast<double>(all);
    if (static_cast<double>(concerned) > most && !proposal.is_confirmed && !proposal.is_dry_run)
        faults.push_back({"yes", std::to_string(concerned) + " of " + std::to_string(all) + " vNICs",
                          "at most " + percent_text(world_->config.confirm_above),
                          "the change concerns more than `confirm_above`: see it with --dry-run, and apply "
                          "it with --yes"});
}

/// vNICs that do not fit beside the others are faults. Those that leave by the configuration itself are held.
void Controller::describe_displaced(const Next& next, json& data, Faults& faults) const {
    json held = json::array();
    for (const Displaced& vnic : next.displaced) {
        const std::string& host = world_->config.hosts[vnic.host].name;
        if (vnic.is_final)
            held.push_back({{"vnic", vnic.name}, {"host", host}, {"why", vnic.why}});
        else
            faults.push_back({"tenants." + vnic.tenant + ".vnics." + vnic.name, "on host " + host,
                              "a change that fits", vnic.why + "; move the vNIC first, or promise less"});
    }
    data["held"] = std::move(held);
}

json Controller::Commands::history(ObjectReader& args) {
    std::uint64_t last = 20;
    args.read_integer("last", last, {1, kRevisionsShown});
    if (!are_valid(args))
        return {};
    json revisions = json::array();
    for (const Revision& each : controller_.store_.revisions(last))
        revisions.push_back({{"revision", each.number},
                             {"time", each.unix_time},
                             {"bytes", each.bytes},
                             {"author", each.author}});
    return {{"revision", controller_.revision_}, {"revisions", revisions}};
}

json Controller::Commands::specification(ObjectReader& args) {
    std::uint64_t number = 0;
    args.read_integer("revision", number, {1, UINT32_MAX});
    if (!are_valid(args))
        return {};
    const auto text = controller_.store_.specification(static_cast<std::int64_t>(number));
    if (!text) {
        faults_.push_back({"revision", std::to_string(number), "one that `weirctl history` lists",
                           "the store does not keep it"});
        return {};
    }
    return {{"revision", number == 0 ? controller_.revision_ : static_cast<std::int64_t>(number)},
            {"text", *text}};
}

/// Hosts whose switch has not confirmed the revision, with their state.
json Controller::Commands::observed(ObjectReader& args) {
    std::uint64_t number = 0;
    args.read_integer("revision", number, {1, UINT32_MAX});
    if (!are_valid(args))
        return {};
    const std::int64_t wanted = number == 0 ? controller_.revision_ : static_cast<std::int64_t>(number);
    json pending = json::array();
    for (const auto& session : controller_.sessions_.all())
        if (session && session->revision < wanted)
            pending.push_back({{"host", controller_.world_->config.hosts[session->host].name},
                               {"state", name_of_state(session.get())},
                               {"revision", session->revision}});
    return {{"revision", controller_.revision_}, {"pending", pending}};
}

}  // namespace weir
