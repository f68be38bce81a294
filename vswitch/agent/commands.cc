// commands.cc - the tables of commands and their handlers.
#include "vswitch/agent/commands.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "common/log/log_level.h"
#include "common/utc_text.h"
#include "vswitch/agent/capture_commands.h"
#include "vswitch/agent/history_json.h"
#include "vswitch/agent/report_json.h"
#include "vswitch/config/promised_vnic.h"

namespace weir {
namespace {

using nlohmann::json;

/// The arguments of a handler.
struct Request {
    SwitchControl& control;
    const json& args;
    const StepClock& step;
};

/// Faults of a request, thrown by its handler.
struct Refused {
    Faults faults;
};

[[noreturn]] void refuse(std::string path, std::string found, std::string allowed, std::string message) {
    throw Refused{{{std::move(path), std::move(found), std::move(allowed), std::move(message)}}};
}

template <typename T>
T accepted(std::variant<T, Faults> outcome) {
    if (const Faults* faults = std::get_if<Faults>(&outcome))
        throw Refused{*faults};
    return std::get<T>(std::move(outcome));
}

std::string name_in(const json& args) {
    const auto name = args.find("name");
    if (name == args.end() || !name->is_string())
        refuse("args.name", name == args.end() ? "nothing" : name->dump(), "the name of a vNIC",
               "the command needs the name of a vNIC");
    return name->get<std::string>();
}

template <typename Vnics, typename NameOf>
auto& vnic_named(Vnics& vnics, const std::string& name, NameOf name_of) {
    const auto found =
        std::find_if(vnics.begin(), vnics.end(), [&](const auto& vnic) { return name_of(vnic) == name; });
    if (found == vnics.end())
        refuse("args.name", name, "an existing vNIC", "there is no such vNIC; `weirctl vnic list` shows all");
    return *found;
}

VnicReport& vnic_in(SwitchReport& report, const json& args) {
    return vnic_named(report.vnics, name_in(args), [](const VnicReport& vnic) { return vnic.config.name; });
}

json show(const Request& request) {
    SwitchReport report = request.control.report();
    return vnic_json(vnic_in(report, request.args));
}

json flow_list(const Request& request) {
    SwitchReport report = request.control.report();
    return flows_json(report, request.args.contains("name") ? &vnic_in(report, request.args) : nullptr);
}

json why(const Request& request) {
    SwitchReport report = request.control.report();
    return why_json(report, vnic_in(report, request.args));
}

/// Unix seconds that a request may name: up to 2100.
constexpr std::uint64_t kSecondMax = 4'102'444'800;

/// The second of Unix time that `at` names, or, of `ago`, the last moment before that time.
AskedTime asked_time(const Request& request, const SwitchControl::Moment& moment) {
    Faults faults;
    ObjectReader args(request.args, "args", faults);
    std::string name;
    std::optional<std::uint64_t> second;
    Nanos ago = 0;
    args.read_text("name", name);
    args.read_optional("at", second, {0, kSecondMax});
    if (!second && require(args, "ago", "a time, such as 5min, unless there is `at`"))
        args.read_quantity("ago", Quantity::kDuration, ago, {0, kSecondMax * kNanosPerSec});
    args.finish();
    if (!faults.empty())
        throw Refused{std::move(faults)};
    // Seconds before the switch's clock began are none of its history's.
    const std::uint64_t origin = moment.unix_now - moment.now;
    const auto on_clock = [&](std::uint64_t unix_time) { return unix_time - std::min(unix_time, origin); };
    if (second)
        return {on_clock(*second * kNanosPerSec), on_clock((*second + 1) * kNanosPerSec)};
    const Nanos at = moment.now - std::min(moment.now, ago);
    return {at - std::min<Nanos>(at, 1'000'000), at};
}

json why_at(const Request& request) {
    const std::string name = name_in(request.args);
    const SwitchControl::Moment moment = request.control.moment();
    const AskedTime asked = asked_time(request, moment);
    const VnicTrack* const track = request.control.history().find(name);
    if (track == nullptr)
        refuse("args.name", name, "a vNIC that the switch has, or had in the last hour",
               "there is no such vNIC; `weirctl vnic list` shows all");
    json answer = why_at_json(*track, asked, moment);
    const auto second = request.args.find("at");
    if (answer.is_null())
        refuse("args.at",
               second == request.args.end() ? request.args.at("ago").get<std::string>() + " ago"
                                            : utc_text(second->get<std::int64_t>()),
               range_text(track->history, moment),
               "the history of vNIC " + name + " does not have this time");
    return answer;
}

json events(const Request& request) {
    Faults faults;
    ObjectReader args(request.args, "args", faults);
    std::uint64_t since = 0;
    std::uint64_t after = 0;
    std::string vnic;
    args.read_integer("since", since, {0, kSecondMax});
    args.read_integer("after", after, {0, UINT64_MAX});
    args.read_text("name", vnic);
    args.finish();
    if (!faults.empty())
        throw Refused{std::move(faults)};
    return events_json(request.control.history().events, since * kNanosPerSec, after, vnic,
                       request.control.moment());
}

json add(const Request& request) {
    const SwitchConfig config = request.control.config();
    const VnicConfig vnic =
        accepted(parse_vnic(request.args.value("vnic", json::object()), "vnic", config, config.vnics));
    request.control.add_vnic(vnic);
    return vnic_to_json(vnic);
}

json set(const Request& request) {
    const SwitchConfig config = request.control.config();
    const std::string name = name_in(request.args);
    const VnicConfig& current =
        vnic_named(config.vnics, name, [](const VnicConfig& vnic) { return vnic.name; });
    std::vector<VnicConfig> others = config.vnics;
    std::erase_if(others, [&](const VnicConfig& vnic) { return vnic.name == name; });
    const json change = request.args.value("change", json::object());
    const VnicConfig changed = accepted(change_vnic(current, change, "change", config, others));
    const VnicPromises promises = request.control.promises();
    if (const auto promise = promises.by_vnic.find(name); promise != promises.by_vnic.end())
        if (Faults faults = faults_of_promised_keys(change, changed, promise->second, "change");
            !faults.empty())
            throw Refused{std::move(faults)};
    request.control.change_vnic(changed);
    return vnic_to_json(changed);
}

json remove(const Request& request) {
    const SwitchConfig config = request.control.config();
    const std::string name = name_in(request.args);
    vnic_named(config.vnics, name, [](const VnicConfig& vnic) { return vnic.name; });
    request.control.remove_vnic(name);
    return {{"removed", name}};
}

json clock_step(const Request& request) {
    if (!request.step)
        refuse("command", "clock.step", "a switch that was started with --clock stepped",
               "the time of this switch is real, and no command moves it");
    Faults faults;
    ClockStep step;
    ObjectReader args(request.args, "args", faults);
    if (require(args, "span", "a time, such as 100ms"))
        args.read_quantity("span", Quantity::kDuration, step.span,
                           {ClockStep::kTurnMin, ClockStep::kSpanMax});
    args.read_quantity("turn", Quantity::kDuration, step.turn, {ClockStep::kTurnMin, ClockStep::kTurnMax});
    args.finish();
    if (faults.empty() && !step.whole())
        args.fault("span", "whole poll turns of " + format_duration(step.turn) + " each",
                   "the clock moves by whole poll turns; give another span or turn");
    else if (faults.empty() && step.turns() > ClockStep::kTurnsMax)
        args.fault("span",
                   "at most " + std::to_string(ClockStep::kTurnsMax) + " poll turns of " +
                       format_duration(step.turn),
                   "a longer step takes several commands, or longer turns");
    if (!faults.empty())
        throw Refused{std::move(faults)};
    return {{"now_ns", request.step(step)}};
}

/// The answer of a command that collects its faults: command(Faults&).
template <class Command>
json collected(Command command) {
    Faults faults;
    json data = command(faults);
    if (!faults.empty())
        throw Refused{std::move(faults)};
    return data;
}

json log_of(const Request& request) {
    return collected([&](Faults& faults) {
        ObjectReader args(request.args, "args", faults);
        return log_level(args, faults);
    });
}

/// @param Command of capture_commands.h
template <json (*Command)(SwitchControl&, const json&, Faults&)>
json of_capture(const Request& request) {
    return collected([&](Faults& faults) { return Command(request.control, request.args, faults); });
}

using Handler = json (*)(const Request&);

const std::map<std::string, Handler, std::less<>>& handlers() {
    static const std::map<std::string, Handler, std::less<>> table{
        {"status", [](const Request& request) { return status_json(request.control.report()); }},
        {"drops", [](const Request& request) { return drops_json(request.control.report()); }},
        {"flow.list", flow_list},
        {"why", why},
        {"why.at", why_at},
        {"events", events},
        {"vnic.list", [](const Request& request) { return vnics_json(request.control.report()); }},
        {"vnic.show", show},
        {"vnic.add", add},
        {"vnic.set", set},
        {"vnic.remove", remove},
        {"clock.step", clock_step},
        {"log.level", log_of},
        {"capture.start", of_capture<capture_start>},
        {"capture.read", of_capture<capture_read>},
        {"capture.stop", of_capture<capture_stop>},
    };
    return table;
}

bool is_reading(std::string_view command) {
    constexpr std::array<std::string_view, 8> kReading{"status", "drops",  "flow.list", "why",
                                                       "why.at", "events", "vnic.list", "vnic.show"};
    return std::ranges::find(kReading, command) != kReading.end();
}

void check_right(const std::string& command, const CommandOrigin& origin) {
    if (is_reading(command))
        return;
    if (!origin.may_change) {
        spdlog::warn("command {} at control_read_socket, of {}: refused", command,
                     origin.peer.empty() ? "an unknown process" : origin.peer);
        refuse("command", command, "commands that change nothing, at control_read_socket",
               "the permission to change is missing: use --socket with the control_socket, which root and "
               "members of its file's group may open");
    }
}

/// All words of an operator that change something.
void log_change(const std::string& command, const json& args, const CommandOrigin& origin) {
    constexpr std::size_t kArgumentsShown = 300;
    if (is_reading(command) || command == "capture.read" || origin.peer.empty())
        return;
    std::string words = args.dump(-1, ' ', false, json::error_handler_t::replace);
    if (words.size() > kArgumentsShown)
        words = words.substr(0, kArgumentsShown) + "...";
    spdlog::info("command {} {} of {}", command, words, origin.peer);
}

json run(SwitchControl& control, const StepClock& step, const json& request, const CommandOrigin& origin) {
    if (!request.is_object())
        refuse("", request.type_name(), "an object", R"(send {"schema":1,"command":"status","args":{}})");
    if (request.value("schema", json()) != kSchemaVersion)
        refuse("schema", request.value("schema", json()).dump(), std::to_string(kSchemaVersion),
               "this switch has another schema version");
    const json command = request.value("command", json());
    const auto handler = handlers().find(command.is_string() ? command.get<std::string>() : std::string());
    if (handler == handlers().end()) {
        refuse("command", command.dump(), list_words(handlers(), [](const auto& each) { return each.first; }),
               "no such command");
    }
    spdlog::debug("command {} {}", handler->first, request.value("args", json::object()).dump());
    const json args = request.value("args", json::object());
    if (!args.is_object())
        refuse("args", args.type_name(), "an object", "arguments have names");
    check_right(handler->first, origin);
    log_change(handler->first, args, origin);
    return handler->second({control, args, step});
}

json refusal(const Faults& faults) {
    return {{"schema", kSchemaVersion}, {"ok", false}, {"faults", faults_to_json(faults)}};
}

/// A list of objects becomes a dictionary by their "name" or "id".
json keyed(const json& list) {
    json dict = json::object();
    for (const json& item : list)
        dict[item.contains("name") ? item["name"].get<std::string>()
                                   : std::to_string(item["id"].get<int>())] = item;
    return dict;
}

json status_by_name(SwitchControl& control, const std::string& /*parameter*/) {
    json answer = status_json(control.report());
    answer["workers"] = keyed(answer["workers"]);
    answer["tunnels"] = keyed(answer["tunnels"]);
    answer["vnics"] = keyed(answer["vnics"]);
    return answer;
}

json vnic_states(SwitchControl& control, const std::string& /*parameter*/) {
    json states = json::object();
    const SwitchReport report = control.report();
    for (const VnicReport& vnic : report.vnics)
        states[vnic.config.name] = vnic.up ? "up" : "down";
    return states;
}

json vnic_counters(SwitchControl& control, const std::string& name) {
    const SwitchReport report = control.report();
    for (const VnicReport& vnic : report.vnics)
        if (vnic.config.name == name)
            return vnic_json(vnic);
    throw std::invalid_argument("there is no vNIC " + name);
}

json drops_by_name(SwitchControl& control, const std::string& /*parameter*/) {
    json answer = drops_json(control.report());
    answer["vnics"] = keyed(answer["vnics"]);
    return answer;
}

struct TelemetryQuery {
    const char* help;  ///< one line, which names the parameter
    json (*answer)(SwitchControl& control, const std::string& parameter);
};

const std::map<std::string, TelemetryQuery>& telemetry_queries() {
    static const std::map<std::string, TelemetryQuery> table{
        {"/weir/status", {"The switch, its workers, uplink and vNICs. No parameters", status_by_name}},
        {"/weir/vnics", {"Names and states of the vNICs. No parameters", vnic_states}},
        {"/weir/vnic", {"All counters of a vNIC. Parameter: its name", vnic_counters}},
        {"/weir/drops", {"Drops by vNIC and reason. No parameters", drops_by_name}},
    };
    return table;
}

}  // namespace

std::string answer(SwitchControl& control, std::string_view request, const StepClock& step,
                   const CommandOrigin& origin) {
    json reply;
    try {
        // Strictly, with bounds: copying or printing a value nested 30,000 deep would exhaust the stack.
        JsonText text = read_json_text(request);
        if (!text.faults.empty())
            throw Refused{std::move(text.faults)};
        reply = {{"schema", kSchemaVersion}, {"ok", true}, {"data", run(control, step, text.value, origin)}};
    } catch (const Refused& refused) {
        reply = refusal(refused.faults);
    } catch (const HostError& error) {
        reply = refusal({{"", "", "", error.what()}});
    } catch (const json::exception& error) {
        reply = refusal({{"", "", "a JSON object", error.what()}});
    }
    return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::map<std::string, std::string> telemetry_commands() {
    std::map<std::string, std::string> helps;
    for (const auto& [path, query] : telemetry_queries())
        helps[path] = query.help;
    return helps;
}

json telemetry_answer(SwitchControl& control, const std::string& path, const std::string& parameter) {
    return telemetry_queries().at(path).answer(control, parameter);
}

}  // namespace weir
