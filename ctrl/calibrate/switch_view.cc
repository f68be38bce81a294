// switch_view.cc - flow.list of the switch.
#include "ctrl/calibrate/switch_view.h"

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
                         others.empty() ? "an appliance in its configuration" : others,
                         "the switch knows no such appliance");
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
    throw cli::bad_input(
        "--vnic", "", names.empty() ? "a vNIC that names the appliance" : allowed,
        names.empty() ? "no vNIC has a flow to " + appliance : "several vNICs ask " + appliance);
}

}  // namespace

SwitchView::SwitchView(const Witness& witness, const Endpoint& endpoint)
    : client_(std::make_unique<cli::Client>(witness.socket)), socket_(witness.socket), vnic_(witness.vnic) {
    const json list = client_->call("flow.list", json::object());
    appliance_ = appliance_at(list, endpoint);
    if (vnic_.empty())
        vnic_ = vnic_of(list, appliance_);
    (void)read();
}

SwitchView::~SwitchView() = default;

SwitchView::Counts SwitchView::read() const {
    constexpr double kNanos = 1e9;
    const json list = client_->call("flow.list", {{"name", vnic_}});
    for (const json& flow : list.at("flows")) {
        if (flow.at("appliance") != appliance_)
            continue;
        Counts counts{.requests = flow.at("requests"),
                      .plain_bytes = flow.at("plain_bytes"),
                      .uptime = list.at("uptime_s")};
        for (const json& blocked : flow.at("blocked_ns"))
            counts.blocked_seconds = std::max(counts.blocked_seconds, blocked.get<double>() / kNanos);
        return counts;
    }
    throw cli::bad_input("--vnic", vnic_, "a vNIC that names " + appliance_,
                         "it has no flow to the appliance");
}

std::uint64_t SwitchView::check(const Counts& before, const Counts& after, std::uint64_t asked) const {
    const std::uint64_t seen = after.requests - before.requests;
    const std::uint64_t apart = seen > asked ? seen - asked : asked - seen;
    // Segments that are lost on the way to the switch leave holes: what passes over a large one is charged by
    // its bytes.
    const bool holes = seen < asked && after.plain_bytes > before.plain_bytes;
    if (apart <= asked / 1000 || holes)
        return seen;
    throw cli::Failure(
        cli::kExitRefused,
        {{flow(), std::to_string(seen) + " requests counted by the switch", std::to_string(asked),
          "others use this flow, the load takes another way, or the switch reads another protocol"}});
}

double SwitchView::held_back(const Counts& before, const Counts& after) {
    const double seconds = after.uptime - before.uptime;
    return seconds > 0 ? std::clamp((after.blocked_seconds - before.blocked_seconds) / seconds, 0.0, 1.0) : 0;
}

}  // namespace weir::calibrate
