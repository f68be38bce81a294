// controller_commands.cc - the commands that weirctl may send to the controller, and their data as JSON.
#include "ctrl/daemon/controller_commands.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "common/control_socket.h"
#include "common/error.h"
#include "common/log/log_level.h"
#include "common/stepped_clock.h"
#include "common/units.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/bill_json.h"
#include "ctrl/daemon/command_desk.h"
#include "ctrl/daemon/promises.h"
#include "ctrl/store/backup.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSchema = 1;
constexpr std::atomic<bool> kNeverStops{false};
const Fault kTooMany{kBusyPath, std::to_string(SideWork::kJobsMax) + " others wait",
                     "a bill, a backup or a specification when fewer wait",
                     "they are made one after the other: ask later"};

/// vNICs with a cut reservation that one host's status lists.
constexpr std::size_t kCutListed = 100;

json counters_json(const ControllerCounters& counters) {
    json malformed = json::object();
    for (std::size_t i = 1; i < wire::kMalformedReasons; ++i)
        malformed[wire::name_of(static_cast<wire::Malformed>(i))] = counters.malformed[i];
    return {{"messages", counters.messages},
            {"records", counters.records},
            {"records_out", counters.records_out},
            {"bytes_in", counters.bytes_in},
            {"bytes_out", counters.bytes_out},
            {"solves", counters.solves},
            {"early_solves", counters.early_solves},
            {"tables",
             {{"messages", counters.tables},
              {"bytes", counters.tables_bytes},
              {"asked", counters.asked},
              {"asked_unknown", counters.asked_unknown},
              {"asked_late", counters.asked_late}}},
            {"refused",
             {{"malformed", malformed},
              {"bad_json", counters.bad_json},
              {"wrong_type", counters.wrong_type},
              {"stale", counters.stale},
              {"foreign", counters.foreign},
              {"hosts", counters.refused_hosts},
              {"vnics", counters.refused_vnics},
              {"records", counters.refused_records},
              {"flows", counters.foreign_flows},
              {"surplus_flows", counters.surplus_flows}}}};
}

Fault store_fault(const HostError& error) {
    return {"store", error.what(), "a store that can be read and written",
            "rates are allocated all the same"};
}

/// Of the host's refused vNICs as many as people read, each with the reason, then the number of the others.
json refused_lines(const Session& session, const Cluster& cluster) {
    RefusalList list;
    json lines = json::array();
    std::size_t others = 0;
    for (const Refusal& refused : session.refused_vnics)
        if (list.takes(cluster.find_vnic(refused.vnic.name) != nullptr))
            lines.push_back(refused.vnic.name + ": " + refused.why);
        else
            ++others;
    if (others != 0)
        lines.push_back(std::to_string(others) + " more");
    return lines;
}

json store_json(const DeferredWrites& writes) {
    const DeferredWrites::State& state = writes.state();
    return {{"failing_since", state.is_failing() ? json(state.failing_since) : json(nullptr)},
            {"fault", state.fault},
            {"refused_writes", state.refused},
            {"audit_waiting", writes.waiting().size()},
            {"audit_lost", state.audit_lost},
            {"audit_omitted", state.audit_omitted}};
}

/// Two files state a host's link, and may state promises to its vNICs: the switch's, and the cluster's. The
/// smaller link counts, and the cluster's promises; the difference is for the operator to settle.
json warnings_of(const World& world, const Session& session) {
    const ClusterConfig& config = world.config;
    const LinkPlan& link = world.cluster.link_plan(session.host);
    const auto planned = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(config.hosts[session.host].uplink_bps) * (1 - config.headroom)));
    json warnings = json::array();
    if (session.uplink_bps != 0 && session.uplink_bps < planned)
        warnings.push_back("the switch may promise " + format_rate(session.uplink_bps) +
                           " of its uplink, the cluster file plans " + format_rate(planned) + ": " +
                           format_rate(session.uplink_bps) +
                           " are planned; give both files the same rate and headroom");
    if (link.kept_part < 1)
        warnings.push_back(cut_text(link) +
                           " until the link has its capacity again, or vNICs leave the host");
    for (std::string& each : promise_warnings(world.cluster, session))
        warnings.push_back(std::move(each));
    return warnings;
}

json bits_json(double bytes) {
    return std::llround(bytes * double{kBitsPerByte});
}

/// Plan and reservations of the host's link; of reservations that are cut, also the kept part of each vNIC.
json link_json(const World& world, HostIndex host) {
    const LinkPlan& plan = world.cluster.link_plan(host);
    json link{{"planned_bps", bits_json(plan.planned)},
              {"reserved_bps", bits_json(plan.reserved)},
              {"kept_percent", plan.kept_part * 100}};
    if (plan.kept_part >= 1)
        return link;
    json cut = json::array();
    for (const std::uint32_t id : world.cluster.vnics_of(host)) {
        const ClusterEnd& end = *world.cluster.find_end(id);
        const std::uint64_t reserved = world.config.tenants[end.tenant].vnics[end.index].reservation_bps;
        if (reserved != 0 && cut.size() < kCutListed)
            cut.push_back({{"vnic", world.cluster.name_of(end)},
                           {"reservation_bps", reserved},
                           {"kept_bps", std::llround(static_cast<double>(reserved) * plan.kept_part)}});
    }
    link["cut"] = std::move(cut);
    return link;
}

}  // namespace

const char* name_of_state(const Session* session) {
    return session == nullptr      ? "absent"
           : session->is_silent    ? "silent"
           : !session->has_demands ? "welcomed"
                                   : "connected";
}

std::string reply_text(const Faults& faults, json data) {
    json reply{{"schema", kSchema}, {"ok", faults.empty()}};
    if (faults.empty())
        reply["data"] = std::move(data);
    else
        reply["faults"] = faults_to_json(faults);
    std::string bytes = reply.dump(-1, ' ', false, json::error_handler_t::replace);
    if (bytes.size() <= static_cast<std::size_t>(kReplyBytesMax))
        return bytes;
    return reply_text(
        {{"reply", std::to_string(bytes.size()) + " bytes",
          "at most " + std::to_string(kReplyBytesMax) + " bytes",
          "weirctl takes no longer reply; ask for less of it, such as `bill --tenant NAME`, or, for a "
          "cluster file of this size, use `plan FILE` instead of `apply --dry-run FILE`"}},
        {});
}

json Controller::Commands::run(const json& request) {
    struct Entry {
        const char* name;
        json (Commands::*run)(ObjectReader& args);
        bool only_reads = false;  ///< changes no state of the controller, no file of its machine, no time
    };
    constexpr std::array kAll{Entry{"allocation", &Commands::allocation, true},
                              Entry{"apply", &Commands::apply},
                              Entry{"audit", &Commands::audit, true},
                              Entry{"backup", &Commands::backup},
                              Entry{"bill", &Commands::bill, true},
                              Entry{"clock.step", &Commands::clock_step},
                              Entry{"history", &Commands::history, true},
                              Entry{"log.level", &Commands::log_level},
                              Entry{"observed", &Commands::observed, true},
                              Entry{"pool.reset", &Commands::pool_reset},
                              Entry{"pool.set", &Commands::pool_set},
                              Entry{"pool.show", &Commands::pool_show, true},
                              Entry{"running", &Commands::running, true},
                              Entry{"specification", &Commands::specification, true},
                              Entry{"status", &Commands::status, true},
                              Entry{"why", &Commands::why, true}};
    ObjectReader reader(request, "", faults_);
    std::uint64_t schema = 0;
    std::string name;
    reader.read_integer("schema", schema, {kSchema, kSchema});
    reader.read_text("command", name);
    const json* given = reader.take("args");
    const json none = json::object();
    ObjectReader args(given == nullptr ? none : *given, "args", faults_);
    std::string names;
    spdlog::debug("command {} of {}", name, origin_.peer.empty() ? "an unknown process" : origin_.peer);
    for (const Entry& command : kAll) {
        if (name == command.name)
            return command.only_reads || origin_.may_change ? (this->*command.run)(args)
                                                            : refuse_change(name);
        names += (names.empty() ? "" : ", ") + std::string(command.name);
    }
    reader.fault("command", names, "the controller has no such command; a switch may have it (--socket)");
    return {};
}

json Controller::Commands::refuse_change(const std::string& name) {
    const std::string& socket = controller_.world_->config.control_socket;
    controller_.audit("refused",
                      "command " + name + " at control_read_socket, of " +
                          (origin_.peer.empty() ? "an unknown process" : origin_.peer),
                      "commands at control_read_socket");
    faults_.push_back({"command", name, "commands that change nothing, at control_read_socket",
                       "the permission to change is missing: use --socket " + socket +
                           ", which root and members of its file's group may open"});
    return {};
}

json Controller::Commands::bill(ObjectReader& args) {
    constexpr Range kSeconds{0, 4'000'000'000};
    constexpr auto kSecond = static_cast<std::int64_t>(kNanosPerSec);
    BillSpan span;
    args.read_text("tenant", span.tenant);
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    args.read_integer("from", from, kSeconds);
    const bool has_end = args.read_integer("to", to, kSeconds);
    bool verify = false;
    args.read_flag("verify", verify);
    if (has_end && to < from)
        args.fault("to", "a time after \"from\"", "the span ends before it begins");
    if (!are_valid(args))
        return {};
    span.from = static_cast<std::int64_t>(from) * kSecond;
    if (has_end)
        span.to = static_cast<std::int64_t>(to) * kSecond;
    // It reads every line: 2.9 us each, or 100 s of a day of 24,000 vNICs.
    if (verify && !origin_.may_change) {
        faults_.push_back(
            {"args.verify", "true", "false, for a reader",
             "the check of all lines is for operators: use the control_socket, or a token of the "
             "role operate"});
        return {};
    }
    if (verify && controller_.is_verifying_.exchange(true)) {
        faults_.push_back({kBusyPath, "a check of the bill", "one at a time", "ask again when it has ended"});
        return {};
    }
    const std::shared_ptr<void> end(nullptr, [verify, &is_verifying = controller_.is_verifying_](void*) {
        if (verify)
            is_verifying = false;
    });
    return later(
        [reader = controller_.store_.bill().reader(), span, verify, end,
         is_billing = controller_.world_->config.prices.has_value()](const std::atomic<bool>& stop) mutable {
            return bill_json(reader, span, verify, is_billing, stop);
        });
}

json Controller::Commands::backup(ObjectReader& args) {
    std::string file;
    if (require(args, "file", "the absolute path of a new file"))
        args.read_text("file", file);
    if (const std::string why = file.empty() ? "" : why_no_backup(file); !why.empty())
        args.fault("file", "the absolute path of a new file", why);
    if (!are_valid(args))
        return {};
    controller_.writes_.note_change({.unix_time = controller_.unix_time_,
                                     .kind = "backup",
                                     .text = "to " + file,
                                     .peer = origin_.peer,
                                     .revision = controller_.revision_});
    return later([file, image = controller_.store_.image(),
                  reader = controller_.store_.bill().reader()](const std::atomic<bool>& stop) -> json {
        write_backup(file, image, reader, stop);
        return {{"file", file}, {"bill", Store::bill_folder(file)}};
    });
}

/// The job of a step: its end on the controller's thread makes the reply, or adds the job of the next one.
SideWork::Job step_job(SideWork& side_work, std::uint64_t ticket, std::shared_ptr<Steps> steps,
                       std::size_t number) {
    return [&side_work, ticket, steps = std::move(steps), number](const std::atomic<bool>&) {
        steps->all[number].beside();
        return SideWork::Reply{.finish = [&side_work, ticket, steps, number](Nanos now) -> std::string {
            Faults faults;
            try {
                const bool goes_on = steps->all[number].after(now, faults) && faults.empty();
                if (goes_on && number + 1 < steps->all.size() &&
                    side_work.add(ticket, step_job(side_work, ticket, steps, number + 1)))
                    return {};
                if (goes_on && number + 1 < steps->all.size())
                    faults.push_back(kTooMany);
            } catch (const HostError& error) {
                faults.push_back(store_fault(error));
            }
            return reply_text(faults, steps->data());
        }};
    };
}

/// The data of a job that takes long: on another thread, and the reply comes later, unless it is needed at
/// once. @throws HostError
json Controller::Commands::later(std::function<json(const std::atomic<bool>& stop)> job) {
    if (is_needed_at_once())
        return job(kNeverStops);
    is_later_ = add_job(controller_.side_work_, [make = std::move(job)](const std::atomic<bool>& stop) {
        Faults faults;
        json data;
        try {
            data = make(stop);
        } catch (const HostError& error) {
            faults.push_back(store_fault(error));
        }
        return SideWork::Reply{.text = reply_text(faults, std::move(data))};
    });
    return {};
}

/// The same in steps, the last of which makes the reply. @throws HostError
json Controller::Commands::later_in_steps(std::shared_ptr<Steps> steps) {
    if (!is_needed_at_once()) {
        is_later_ = add_job(controller_.change_work_,
                            step_job(controller_.change_work_, origin_.ticket, std::move(steps), 0));
        return {};
    }
    for (const Steps::Step& step : steps->all) {
        step.beside();
        if (!step.after(now_, faults_) || !faults_.empty())
            break;
    }
    return steps->data();
}

bool Controller::Commands::add_job(SideWork& side_work, SideWork::Job job) {
    // Readers leave places for operators' changes.
    const std::size_t most = origin_.may_change ? SideWork::kJobsMax : SideWork::kJobsMax / 2;
    if (side_work.add(origin_.ticket, std::move(job), most))
        return true;
    faults_.push_back(kTooMany);
    return false;
}

json Controller::Commands::clock_step(ObjectReader& args) {
    Nanos span = 0;
    if (require(args, "span", "a time, such as 1s"))
        args.read_quantity("span", Quantity::kDuration, span, {1, ClockStep::kSpanMax});
    if (!are_valid(args))
        return {};
    if (!step_) {
        faults_.push_back({"command", "clock.step", "a controller that was started with --clock stepped",
                           "the time of this controller is real, and no command moves it"});
        return {};
    }
    return {{"now_ns", step_(span)}};
}

json Controller::Commands::log_level(ObjectReader& args) {
    return weir::log_level(args, faults_);
}

json Controller::Commands::running(ObjectReader& args) {
    return are_valid(args) ? controller_.running() : json();
}

json Controller::Commands::status(ObjectReader& args) {
    if (!are_valid(args))
        return {};
    json data = controller_.status(now_);
    data["role"] = "controller";
    data["version"] = WEIR_VERSION;
    data["clock"] = step_ ? "stepped" : "real";
    data["now_ns"] = now_;
    data["sockets"] = {{"admitted", connections_.admitted},
                       {"denied", connections_.denied},
                       {"surplus", connections_.surplus},
                       {"unfinished", connections_.unfinished},
                       {"ended", connections_.ended},
                       {"odd_frames", connections_.odd_frames},
                       {"unreachable", connections_.unreachable},
                       {"full", connections_.full},
                       {"faults", connections_.faults}};
    if (controller_.loop_report_)
        data.update(controller_.loop_report_());
    return data;
}

std::vector<SideWork::Reply> Controller::take_replies(Nanos now) {
    std::vector<SideWork::Reply> replies = side_work_.take_replies();
    std::ranges::move(change_work_.take_replies(), std::back_inserter(replies));
    for (SideWork::Reply& reply : replies)
        if (auto finish = std::exchange(reply.finish, {})) {
            reply.text = finish(now);
            side_work_.discard(std::make_shared<decltype(finish)>(std::move(finish)));
        }
    std::erase_if(replies, [](const SideWork::Reply& reply) { return reply.text.empty(); });  // goes on
    return replies;
}

std::string Controller::on_command(std::string_view request, const ConnectionCounters& connections, Nanos now,
                                   const StepTime& step, const CommandOrigin& origin) {
    JsonText text = read_json_text(request, {.bytes = static_cast<std::size_t>(kRequestBytesMax)});
    Faults faults = std::move(text.faults);
    json data;
    Commands commands(*this, connections, now, step, origin, faults);
    try {
        if (faults.empty())
            data = commands.run(text.value);
    } catch (const HostError& error) {
        faults.push_back(store_fault(error));
    }
    return commands.is_later() ? std::string() : reply_text(faults, std::move(data));
}

/// The vNICs that are still on a drained host, by name: those that the specification puts there, and those
/// that may go elsewhere.
json Controller::drained_vnics(HostIndex host) const {
    json out{{"stated", json::array()}, {"floating", json::array()}};
    for (const std::uint32_t id : world_->cluster.vnics_of(host)) {
        const ClusterEnd& end = *world_->cluster.find_end(id);
        const TenantVnicConfig& vnic = world_->config.tenants[end.tenant].vnics[end.index];
        out[vnic.host.empty() ? "floating" : "stated"].push_back(vnic.name);
    }
    return out;
}

json Controller::status(Nanos now) const {
    json hosts = json::array();
    for (HostIndex host = 0; host < world_->config.hosts.size(); ++host) {
        const Session* session = sessions_.of_host(host);
        json one{{"name", world_->config.hosts[host].name},
                 {"state", name_of_state(session)},
                 {"link", link_json(*world_, host)}};
        if (world_->config.hosts[host].drain)
            one["drained"] = drained_vnics(host);
        if (session != nullptr) {
            one["authenticated"] = session->is_authenticated;
            one["version"] = session->version;
            one["revision"] = session->revision;
            one["last_message_ms"] = (now - session->last_message) / 1'000'000;
            one["vnics"] = world_->cluster.vnics_of(host).size();
            one["flows"] = session->rates.size();
            one["refused_vnics"] = refused_lines(*session, world_->cluster);
            one["warnings"] = warnings_of(*world_, *session);
            one["peers"] = world_->views.peers_of(host);
            one["endpoints_left_out"] = session->endpoints_left_out;
            if (const auto kept = kept_.find(host); kept != kept_.end())
                one["kept_ms"] = kept->second.until > now ? (kept->second.until - now) / 1'000'000 : 0;
        }
        hosts.push_back(std::move(one));
    }
    json refusals = json::array();
    for (const auto& [what, times] : audited_)
        if (what.starts_with("refused: ") || what.starts_with("malformed: "))
            refusals.push_back({{"what", what}, {"times", times}});
    return {{"cluster", world_->config.name},
            {"revision", revision_},
            {"epoch", epoch_},
            {"interval", interval_},
            {"interval_ns", world_->config.interval},
            {"flows", world_->demands.flows().size()},
            {"hosts", hosts},
            {"appliances", world_->solver->describe_appliances()},
            {"counters", counters_json(counters_)},
            {"store", store_json(writes_)},
            {"bill", bill_state_json(store_.bill().state())},
            {"periods", periods_json(usage_desk_.counters())},
            {"refusals", refusals}};
}

json Controller::running() const {
    json hosts = json::object();
    for (HostIndex host = 0; host < world_->config.hosts.size(); ++host)
        for (const std::uint32_t id : world_->cluster.vnics_of(host))
            hosts[world_->cluster.name_of(*world_->cluster.find_end(id))] = world_->config.hosts[host].name;
    json use = json::object();
    for (const auto& [vnic, measured] : use_.all())
        if (measured.is_enough())
            use[vnic] = measured.bins();
    return {{"specification", store_.specification().value_or("")}, {"vnics", hosts}, {"use", use}};
}

}  // namespace weir
