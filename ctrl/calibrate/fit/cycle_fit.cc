// cycle_fit.cc - sums of the counters, and the price of a frame.
#include "ctrl/calibrate/fit/cycle_fit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir::calibrate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFramesMin = 100'000;

std::uint64_t per_frame(std::uint64_t amount, std::uint64_t frames) {
    return std::max<std::uint64_t>((amount + frames / 2) / frames, 1);
}

}  // namespace

CycleReading read_cycles(const json& status, const json& vnics) {
    CycleReading reading;
    for (const json& worker : status.at("workers")) {
        reading.cycles += worker.at("busy_cycles").get<std::uint64_t>();
        reading.frames += worker.at("packets").get<std::uint64_t>();
    }
    for (const json& vnic : vnics.at("vnics"))
        reading.bytes += vnic.at("from_vm").at("offered").at("bytes").get<std::uint64_t>();
    if (const json& uplink = status.at("uplink"); uplink.is_object())
        reading.bytes += uplink.at("rx").at("bytes").get<std::uint64_t>();
    return reading;
}

std::variant<json, Fault> fit_cycles(const CycleReading& before, const CycleReading& after,
                                     const std::string& date) {
    const std::uint64_t frames = after.frames - std::min(before.frames, after.frames);
    if (frames < kFramesMin)
        return Fault{"--time", std::to_string(frames) + " frames in this time",
                     "at least " + std::to_string(kFramesMin),
                     "let VMs send through the switch while it is measured, or measure for longer"};
    const std::uint64_t cycles = per_frame(after.cycles - std::min(before.cycles, after.cycles), frames);
    const std::uint64_t bytes = per_frame(after.bytes - std::min(before.bytes, after.bytes), frames);
    const std::string size = std::to_string(bytes) + "B";
    return json{{"name", "cycles of this host's workers"},
                {"unit", "1 TSC cycle of a worker's core"},
                {"source", "weir-calibrate switch, " + date + ": " + std::to_string(frames) +
                               " frames with a mean of " + size},
                {"operations",
                 {{"otherwise",
                   {{"size", "sum"},
                    {"shape", "steps"},
                    {"base", cycles},
                    {"until", size},
                    {"tokens", cycles},
                    {"every", size}}}}}};
}

}  // namespace weir::calibrate
