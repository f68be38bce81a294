// registry.h - table of the schedulers.
// Source: docs/design.md 3; docs/algorithms.md 3. Threads: any; at start.
//
// This is the only list of schedulers. A scheduler NAME is NAME_scheduler.{h,cc} with make_NAME(), and one
// line of the table below, from which Meson takes the name of the file. `uplink.scheduler`, an appliance's
// `scheduler`, scenarios of weir-sim and their error messages take their words from the table; tests compare
// schemas and configs/default.jsonc with it, and run every scheduler through the properties that all must
// have.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace weir {

// clang-format off
#define WEIR_SCHEDULERS(ENTRY) \
    ENTRY(wrr, "reservations first, then deficit round robin by shares") \
    ENTRY(fulfillment, "classes behind their guarantee first, in proportion to guarantees, then by shares") \
    ENTRY(rls, "reservation, limit and shares by tags, packet by packet as in mClock")
// clang-format on

class LinkScheduler;
struct SchedulerSetup;

struct SchedulerEntry {
    std::string_view name;
    std::string_view summary;
};

#define WEIR_SCHEDULER_ENTRY(name, summary) SchedulerEntry{#name, summary},
/// The first is the default.
inline constexpr std::array kSchedulers{WEIR_SCHEDULERS(WEIR_SCHEDULER_ENTRY)};
#undef WEIR_SCHEDULER_ENTRY

/// The table's entry of this name; null when there is none.
[[nodiscard]] constexpr const SchedulerEntry* find_scheduler(std::string_view name) {
    const auto* const found = std::ranges::find(kSchedulers, name, &SchedulerEntry::name);
    return found == kSchedulers.end() ? nullptr : found;
}

/// @param entry of kSchedulers
[[nodiscard]] std::unique_ptr<LinkScheduler> make_scheduler(const SchedulerEntry& entry,
                                                            const SchedulerSetup& setup);

}  // namespace weir
