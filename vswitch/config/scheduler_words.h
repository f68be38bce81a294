// scheduler_words.h - the schedulers' names in configurations, which are those of make_link_scheduler().
// Threads: any.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/config/config_reader.h"
#include "vswitch/config/config.h"

namespace weir {

inline constexpr std::array kSchedulers{Word<Scheduler>{"wrr", Scheduler::kWrr},
                                        Word<Scheduler>{"fulfillment", Scheduler::kFulfillment},
                                        Word<Scheduler>{"rls", Scheduler::kRls}};

[[nodiscard]] inline std::string_view scheduler_name(Scheduler scheduler) {
    return std::ranges::find(kSchedulers, scheduler, &Word<Scheduler>::value)->text;
}

}  // namespace weir
