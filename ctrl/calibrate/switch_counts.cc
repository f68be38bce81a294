// switch_counts.cc - look-up of appliance and vNIC in flow.list, and the comparison of counts.
#include "ctrl/calibrate/switch_counts.h"

#include <algorithm>

#include "ctrl/cli/client.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

std::string appliance_at(const json& list, const Endpoint& endpoint) {
    std::string others;
    for (const json& one : list.at("appliances")) {
        if (one.at("address") == endpoint.address && one.at("port") == endpoint.port)
            return one.at("name");
        others += (others.empty() ? "" : ", ") + one.at("address").get<std::string>() + ":" +
                  std::to_string(one.at("port").get<int>());
    }
    throw cli::bad_input("ADDRESS", endpoint.text(),
                         others.empty() ? "an appliance of the switch's configuration" : others,
                         "the switch has no appliance at this address; add it to \"appliances\"");
}

std::string vnic_of(const json& list, const std::string& appliance) {
    std::vector<std::string> names;
    for (const json& flow : list.at("flows"))
        if (flow.at("appliance") == appliance)
            names.push_back(flow.at("vnic"));
    if (names.size() == 1)
        return names.front();
    std::string allowed;
    for (const std::string& name : names)
        allowed += (allowed.empty() ? "" : ", ") + name;
    throw cli::bad_input("--vnic", "",
                         names.empty() ? "a vNIC with \"" + appliance + "\" among its appliances" : allowed,
                         names.empty() ? "no vNIC may send requests to " + appliance
                                       : "several vNICs may send requests to " + appliance + "; choose one");
}

}  // namespace

SwitchCounts::SwitchCounts(const SwitchTarget& target, const Endpoint& endpoint)
    : client_(std::make_unique<cli::Client>(target.socket)), vnic_(target.vnic) {
    const json list = client_->call("flow.list", json::object());
    appliance_ = appliance_at(list, endpoint);
    if (vnic_.empty())
        vnic_ = vnic_of(list, appliance_);
    (void)read();
}

SwitchCounts::~SwitchCounts() = default;

SwitchCounts::Reading SwitchCounts::read() const {
    constexpr double kNanos = 1e9;
    const json list = client_->call("flow.list", {{"name", vnic_}});
    for (const json& flow : list.at("flows")) {
        if (flow.at("appliance") != appliance_)
            continue;
        Reading reading{.requests = flow.at("requests"),
                        .plain_bytes = flow.at("plain_bytes"),
                        .uptime = list.at("uptime_s")};
        for (const json& blocked : flow.at("blocked_ns"))
            reading.blocked_seconds = std::max(reading.blocked_seconds, blocked.get<double>() / kNanos);
        return reading;
    }
    throw cli::bad_input("--vnic", vnic_, "a vNIC with \"" + appliance_ + "\" among its appliances",
                         "this vNIC may not send requests to the appliance");
}

std::uint64_t SwitchCounts::check(const Reading& before, const Reading& after, std::uint64_t asked) const {
    const std::uint64_t counted = after.requests - before.requests;
    const std::uint64_t difference = counted > asked ? counted - asked : asked - counted;
    // A segment that is lost before the switch leaves a gap in the stream. The switch does not see the
    // headers in a large gap and charges its bytes as plain bytes.
    const bool lost_segments = counted < asked && after.plain_bytes > before.plain_bytes;
    if (difference <= asked / 1000 || lost_segments)
        return counted;
    throw cli::Failure(cli::kExitRefused,
                       {{flow(), std::to_string(counted) + " requests counted by the switch",
                         std::to_string(asked) + ", as many as were sent",
                         "other clients use this flow, the load does not pass this switch, or the switch "
                         "reads another protocol"}});
}

double SwitchCounts::held_back(const Reading& before, const Reading& after) {
    const double seconds = after.uptime - before.uptime;
    return seconds > 0 ? std::clamp((after.blocked_seconds - before.blocked_seconds) / seconds, 0.0, 1.0) : 0;
}

}  // namespace weir::calibrate
