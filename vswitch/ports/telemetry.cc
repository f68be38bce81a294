// telemetry.cc - registration, and JSON objects in DPDK's containers.
#include "vswitch/ports/telemetry.h"

#include <rte_telemetry.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "vswitch/base/dpdk_versions.h"

namespace weir {
namespace {

using nlohmann::json;

// DPDK's callbacks carry no user pointer.
std::mutex mutex;
TelemetryEndpoint::Answer answer;

/// Replaces characters that DPDK does not allow in the names of values.
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
        } else if (value.is_boolean()) {
            telemetry_add_uint(dict, name.c_str(), value.get<bool>() ? 1 : 0);
        } else if (value.is_number_integer()) {
            telemetry_add_uint(dict, name.c_str(), value.get<std::uint64_t>());
        } else if (value.is_number()) {
            rte_tel_data_add_dict_string(dict, name.c_str(), value.dump().c_str());
        } else if (value.is_string()) {
            rte_tel_data_add_dict_string(dict, name.c_str(), value.get<std::string>().c_str());
        }
    }
}

int on_request(const char* path, const char* parameter, rte_tel_data* data) {
    const std::scoped_lock lock(mutex);
    if (!answer)
        return -ENODEV;
    try {
        fill_dict(data, answer(path, parameter != nullptr ? parameter : ""));
        return 0;
    } catch (const std::exception&) {
        return -EINVAL;
    }
}

}  // namespace

TelemetryEndpoint::TelemetryEndpoint(const std::map<std::string, std::string>& commands, Answer to_answer) {
    for (const auto& [path, help] : commands)
        rte_telemetry_register_cmd(path.c_str(), on_request, help.c_str());
    const std::scoped_lock lock(mutex);
    answer = std::move(to_answer);
}

TelemetryEndpoint::~TelemetryEndpoint() {
    const std::scoped_lock lock(mutex);
    answer = nullptr;
}

}  // namespace weir
