// switch_history.cc - histories that begin, end and are forgotten; held-back time and drops as events.
#include "vswitch/agent/history/switch_history.h"

#include <algorithm>

#include "common/units.h"

namespace weir {

VnicTrack& SwitchHistory::begin(const std::string& vnic, Nanos now) {
    forget(now);
    VnicTrack& track = tracks_.try_emplace(vnic, vnic, phase_).first->second;
    track.history.restart();
    track.removed.reset();
    track.counts_drops = false;
    return track;
}

void SwitchHistory::end(const std::string& vnic, Nanos now) {
    if (const auto found = tracks_.find(vnic); found != tracks_.end()) {
        found->second.removed = now;
        found->second.held.end();
        for (VnicTrack::Drops& drops : found->second.drops)
            drops.episode.end();
    }
    forget(now);
}

/// The histories of vNICs that were removed long ago, and the oldest of too many.
void SwitchHistory::forget(Nanos now) {
    const auto is_removed = [](const auto& each) { return each.second.removed.has_value(); };
    std::erase_if(tracks_, [&](const auto& each) {
        return is_removed(each) && now - *each.second.removed >= kKeptFor;
    });
    while (static_cast<std::size_t>(std::ranges::count_if(tracks_, is_removed)) > kKeptMax)
        tracks_.erase(
            std::min_element(tracks_.begin(), tracks_.end(), [](const auto& one, const auto& other) {
                return one.second.removed.value_or(kNever) < other.second.removed.value_or(kNever);
            }));
}

void SwitchHistory::add(VnicTrack& track, const VnicSample& sample, Nanos at) {
    if (track.history.add(sample, at))
        note_held(track);
}

void SwitchHistory::note_held(VnicTrack& track) {
    const HistoryRecord second = track.history.last_second();
    const HoldReason reason = second.held_by();
    const bool holds =
        second.held_in_all() * 100 >= second.span() * kHeldPercent && second.held_in_all() != 0;
    switch (track.held.note(holds, second.until)) {
        case Episode::Change::kBegan:
            track.held_since = track.history.held_since(reason, second.until).at;
            events.add_of_vnic(track.held_since, track.name, EventKind::kHeldBack,
                               std::string("bucket ") + kHoldReasonNames[static_cast<std::size_t>(reason)] +
                                   ", " + std::to_string(second.held_in_all() * 100 / second.span()) +
                                   "% of the first second");
            break;
        case Episode::Change::kEnded:
            events.add_of_vnic(
                track.held.last(), track.name, EventKind::kHeldBackEnded,
                "it lasted " + human_duration(static_cast<double>(track.held.last() - track.held_since)));
            break;
        case Episode::Change::kNone:
            break;
    }
}

void SwitchHistory::note_drops(VnicTrack& track, const VnicStats& stats, Nanos now) {
    for (std::size_t i = 0; i < kDropReasons; ++i) {
        VnicTrack::Drops& drops = track.drops[i];
        const std::uint64_t counter = stats.from_vm.drops[i] + stats.to_vm.drops[i];
        const std::uint64_t more = track.counts_drops ? counter - drops.before : counter;
        drops.before = counter;
        const Episode::Change change = drops.episode.note(more != 0, now);
        if (change == Episode::Change::kBegan) {
            drops.packets = 0;
            events.add_of_vnic(now, track.name, EventKind::kDrops,
                               std::string(kDropReasonTexts[i].name) + ", " + std::to_string(more) +
                                   " packets in the last second: " + kDropReasonTexts[i].meaning);
        }
        drops.packets += more;
        if (change == Episode::Change::kEnded)
            events.add_of_vnic(drops.episode.last(), track.name, EventKind::kDropsEnded,
                               std::string(kDropReasonTexts[i].name) + ", " + std::to_string(drops.packets) +
                                   " packets in all");
    }
    track.counts_drops = true;
}

const VnicTrack* SwitchHistory::find(const std::string& vnic) const {
    const auto found = tracks_.find(vnic);
    return found == tracks_.end() ? nullptr : &found->second;
}

}  // namespace weir
