// event_log.cc - bounded in all, and for each vNIC.
#include "vswitch/agent/history/event_log.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir {

const char* name_of(EventKind kind) {
    constexpr std::array<const char*, static_cast<std::size_t>(EventKind::kCount)> kNames{
        "started",      "added",           "changed",   "removed",     "moved",   "up",     "down",
        "ring_stopped", "front_end_fault", "link_lost", "link_back",   "refused", "served", "guarantee_ended",
        "held_back",    "held_back_ended", "drops",     "drops_ended", "session"};
    return kNames[static_cast<std::size_t>(kind)];
}

void EventLog::add_of_vnic(Nanos at, const std::string& vnic, EventKind kind, const std::string& detail) {
    add({.at = at, .kind = kind, .vnic = vnic, .part = "vnic", .detail = detail});
}

void EventLog::add_of(const char* part, Nanos at, EventKind kind, const std::string& detail) {
    add({.at = at, .kind = kind, .vnic = {}, .part = part, .detail = detail});
}

void EventLog::add(SwitchEvent event) {
    const auto is_of_same = [&](const SwitchEvent& other) {
        return other.vnic == event.vnic && std::string_view(other.part) == event.part;
    };
    if (static_cast<std::size_t>(std::ranges::count_if(events_, is_of_same)) >= kEventsOfOneMax)
        events_.erase(std::ranges::find_if(events_, is_of_same));
    event.number = ++last_number_;
    event.detail.resize(std::min(event.detail.size(), kDetailMax));
    if (events_.size() == kEventsMax)
        events_.pop_front();
    events_.push_back(std::move(event));
}

std::vector<SwitchEvent> EventLog::since(Nanos from, std::uint64_t number) const {
    std::vector<SwitchEvent> found;
    std::ranges::copy_if(events_, std::back_inserter(found),
                         [&](const SwitchEvent& event) { return event.at >= from && event.number > number; });
    std::ranges::stable_sort(found, {}, &SwitchEvent::at);
    return found;
}

}  // namespace weir
