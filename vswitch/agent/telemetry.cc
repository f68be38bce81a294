// telemetry.cc - the same JSON as the command socket's, with lists as dictionaries.
#include "vswitch/agent/telemetry.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "vswitch/agent/report_json.h"

namespace weir {
namespace {

using nlohmann::json;

/// A list of objects becomes a dictionary by their "name" or "id".
json keyed(const json& list) {
    json dict = json::object();
    for (const json& item : list)
        dict[item.contains("name") ? item["name"].get<std::string>()
                                   : std::to_string(item["id"].get<int>())] = item;
    return dict;
}

json status(SwitchControl& control) {
    json answer = status_json(control.report());
    answer["workers"] = keyed(answer["workers"]);
    answer["tunnels"] = keyed(answer["tunnels"]);
    answer["vnics"] = keyed(answer["vnics"]);
    return answer;
}

json vnic_states(SwitchControl& control) {
    json states = json::object();
    const SwitchReport report = control.report();
    for (const VnicReport& vnic : report.vnics)
        states[vnic.config.name] = vnic.up ? "up" : "down";
    return states;
}

json vnic_named(SwitchControl& control, const std::string& name) {
    const SwitchReport report = control.report();
    for (const VnicReport& vnic : report.vnics)
        if (vnic.config.name == name)
            return vnic_json(vnic);
    throw std::invalid_argument("there is no vNIC " + name);
}

json drops(SwitchControl& control) {
    json answer = drops_json(control.report());
    answer["vnics"] = keyed(answer["vnics"]);
    return answer;
}

}  // namespace

TelemetryCommands telemetry_commands(SwitchControl& control) {
    return {
        {"/weir/status",
         {"The switch, its workers, uplink and vNICs. No parameters",
          [&](const std::string&) { return status(control); }}},
        {"/weir/vnics",
         {"Names and states of the vNICs. No parameters",
          [&](const std::string&) { return vnic_states(control); }}},
        {"/weir/vnic",
         {"All counters of a vNIC. Parameter: its name",
          [&](const std::string& name) { return vnic_named(control, name); }}},
        {"/weir/drops",
         {"Drops by vNIC and reason. No parameters", [&](const std::string&) { return drops(control); }}},
    };
}

}  // namespace weir
