// scheduler_factory.h - the only list of schedulers. Threads: any; at start.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir {

/// @return nullptr if there is no scheduler of that name
[[nodiscard]] std::unique_ptr<LinkScheduler> make_link_scheduler(std::string_view name,
                                                                 const LinkScheduler::Setup& setup);
/// The names that make_link_scheduler() knows; the first is the default.
[[nodiscard]] std::span<const std::string_view> link_scheduler_names();

}  // namespace weir
