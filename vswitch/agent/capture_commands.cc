// capture_commands.cc - JSON to a CaptureOrder, and captured frames to JSON.
#include "vswitch/agent/capture_commands.h"

#include <sodium.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/field_kinds.h"

namespace weir {
namespace {

using nlohmann::json;

std::string base64(const std::vector<std::byte>& bytes) {
    constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), kVariant);
    text.pop_back();  // the 0 at its end
    return text;
}

void read_reason(ObjectReader& reader, CaptureOrder& order) {
    std::string name;
    if (!reader.read_text("reason", name))
        return;
    const auto* const found = std::ranges::find_if(
        kDropReasonTexts, [&name](const DropReasonText& each) { return name == each.name; });
    if (found == kDropReasonTexts.end())
        reader.fault("reason", "a reason of `weirctl drops`, such as mac_spoof", "there is no such reason");
    else
        order.reason = static_cast<DropReason>(found - kDropReasonTexts.begin());
}

template <class T>
bool take_number(const json& value, T& out) {
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) ||
        value.get<std::uint64_t>() > std::numeric_limits<T>::max())
        return false;
    out = value.get<T>();
    return true;
}

/// @return false when the list is no filter
bool read_filter(const json& list, std::vector<FilterInstruction>& filter) {
    constexpr std::size_t kFields = 4;
    if (!list.is_array() || list.size() > kFilterInstructionsMax)
        return false;
    for (const json& each : list) {
        FilterInstruction& one = filter.emplace_back();
        if (!each.is_array() || each.size() != kFields || !take_number(each[0], one.code) ||
            !take_number(each[1], one.if_true) || !take_number(each[2], one.if_false) ||
            !take_number(each[3], one.value))
            return false;
    }
    return true;
}

/// @return 0, and a fault, when there is none
std::uint64_t number_in(const json& args, Faults& faults) {
    std::uint64_t number = 0;
    ObjectReader reader(args, "args", faults);
    if (require(reader, "capture", "the number that capture.start has returned"))
        reader.read_integer("capture", number, {1, UINT64_MAX});
    reader.finish();
    return number;
}

json frame_json(const CapturedFrames::Frame& frame) {
    const CaptureRecord& record = frame.record;
    const bool dropped = record.verdict == CaptureVerdict::kDropped;
    return {
        {"unix_ns", frame.unix_ns},
        {"length", record.length},
        {"vnic", frame.vnic.empty() ? json() : json(frame.vnic)},
        {"direction", kCaptureDirectionNames[static_cast<std::size_t>(record.point.direction)]},
        {"verdict", kCaptureVerdictNames[static_cast<std::size_t>(record.verdict)]},
        {"reason", dropped ? json(kDropReasonTexts[static_cast<std::size_t>(record.reason)].name) : json()},
        {"queue_delay_ns", record.queue_delay},
        {"bytes", base64(frame.bytes)}};
}

}  // namespace

json capture_start(SwitchControl& control, const json& args, Faults& faults) {
    CaptureOrder order;
    bool uplink = false;
    ObjectReader reader(args, "args", faults);
    reader.read_text("vnic", order.vnic);
    reader.read_flag("uplink", uplink);
    reader.read_flag("drops", order.drops);
    read_reason(reader, order);
    reader.read_integer("first", order.first, {1, UINT32_MAX});
    reader.read_integer("every", order.every, {1, 1'000'000'000});
    reader.read_integer("snap", order.snap, {CaptureOrder::kSnapMin, CaptureOrder::kSnapMax});
    if (const json* filter = reader.take("filter"); filter != nullptr && !read_filter(*filter, order.filter))
        reader.fault("filter",
                     "at most " + std::to_string(kFilterInstructionsMax) +
                         " lists of four numbers: code, if_true, if_false, value",
                     "let weirctl compile the filter");
    if (order.vnic.empty() != uplink)
        reader.fault("vnic", "the name of a vNIC, or instead \"uplink\": true", "a capture is of one port");
    if (!order.drops && (order.reason || order.first != UINT32_MAX))
        reader.fault(order.reason ? "reason" : "first", "only with \"drops\": true",
                     "it is a choice among dropped frames");
    reader.finish();
    return faults.empty() ? json{{"capture", control.start_capture(order)}} : json();
}

json capture_read(SwitchControl& control, const json& args, Faults& faults) {
    const std::uint64_t number = number_in(args, faults);
    if (!faults.empty())
        return {};
    const CapturedFrames taken = control.take_captured(number);
    json frames = json::array();
    for (const CapturedFrames::Frame& frame : taken.frames)
        frames.push_back(frame_json(frame));
    return {{"frames", std::move(frames)},
            {"missed", taken.missed},
            {"ended", taken.ended.empty() ? json() : json(taken.ended)}};
}

json capture_stop(SwitchControl& control, const json& args, Faults& faults) {
    const std::uint64_t number = number_in(args, faults);
    if (!faults.empty())
        return {};
    control.stop_capture(number);
    return {{"stopped", number}};
}

}  // namespace weir
