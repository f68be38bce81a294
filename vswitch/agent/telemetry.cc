// telemetry.cc - the same JSON as the command socket's, in DPDK's containers.
#include "vswitch/agent/telemetry.h"

#include <rte_telemetry.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

#include "vswitch/agent/report_json.h"
#include "vswitch/ports/dpdk_compat.h"

namespace weir {
namespace {

using nlohmann::json;

// DPDK's callbacks carry no user pointer.
std::atomic<SwitchControl*> control{nullptr};

/// DPDK allows letters, digits, _ and / in names.
std::string legal_name(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

void fill_dict(rte_tel_data* dict, const json& object) {
    rte_tel_data_start_dict(dict);
    for (const auto& [key, value] : object.items()) {
        const std::string name = legal_name(key);
        if (value.is_object()) {
            rte_tel_data* inner = rte_tel_data_alloc();
            fill_dict(inner, value);
            rte_tel_data_add_dict_container(dict, name.c_str(), inner, 0);
        } else if (value.is_number_integer() || value.is_boolean()) {
            dpdk::telemetry_add_uint(dict, name.c_str(),
                                     value.is_boolean() ? value.get<bool>() : value.get<std::uint64_t>());
        } else if (value.is_number()) {
            rte_tel_data_add_dict_string(dict, name.c_str(), value.dump().c_str());
        } else if (value.is_string()) {
            rte_tel_data_add_dict_string(dict, name.c_str(), value.get<std::string>().c_str());
        }
    }
}

/// A list of objects becomes a dictionary by their "name" or "id".
json keyed(const json& list) {
    json dict = json::object();
    for (const json& item : list)
        dict[item.contains("name") ? item["name"].get<std::string>()
                                   : std::to_string(item["id"].get<int>())] = item;
    return dict;
}

template <typename Make>
int reply(rte_tel_data* data, Make make) {
    SwitchControl* target = control.load(std::memory_order_acquire);
    if (target == nullptr)
        return -ENODEV;
    try {
        fill_dict(data, make(target->report()));
        return 0;
    } catch (const std::exception&) {
        return -EIO;
    }
}

int on_status(const char*, const char*, rte_tel_data* data) {
    return reply(data, [](const SwitchReport& report) {
        json status = status_json(report);
        status["workers"] = keyed(status["workers"]);
        status["vnics"] = keyed(status["vnics"]);
        return status;
    });
}

int on_vnics(const char*, const char*, rte_tel_data* data) {
    return reply(data, [](const SwitchReport& report) {
        json names = json::object();
        for (const VnicReport& vnic : report.vnics)
            names[vnic.config.name] = vnic.up ? "up" : "down";
        return names;
    });
}

int on_vnic(const char*, const char* name, rte_tel_data* data) {
    if (name == nullptr)
        return -EINVAL;
    bool found = false;
    const int result = reply(data, [&](const SwitchReport& report) {
        for (const VnicReport& vnic : report.vnics) {
            if (vnic.config.name == name) {
                found = true;
                return vnic_json(vnic);
            }
        }
        return json::object();
    });
    return result == 0 && !found ? -ENOENT : result;
}

int on_drops(const char*, const char*, rte_tel_data* data) {
    return reply(data, [](const SwitchReport& report) {
        json drops = drops_json(report);
        drops["vnics"] = keyed(drops["vnics"]);
        return drops;
    });
}

}  // namespace

Telemetry::Telemetry(SwitchControl& target) {
    control.store(&target, std::memory_order_release);
    rte_telemetry_register_cmd("/weir/status", on_status,
                               "The switch, its workers, uplink and vNICs. No parameters");
    rte_telemetry_register_cmd("/weir/vnics", on_vnics, "Names and states of the vNICs. No parameters");
    rte_telemetry_register_cmd("/weir/vnic", on_vnic, "All counters of a vNIC. Parameter: its name");
    rte_telemetry_register_cmd("/weir/drops", on_drops, "Drops by vNIC and reason. No parameters");
}

Telemetry::~Telemetry() {
    control.store(nullptr, std::memory_order_release);
}

}  // namespace weir
