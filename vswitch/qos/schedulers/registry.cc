// registry.cc - makers of the schedulers, in the order of the table.
#include "vswitch/qos/schedulers/registry.h"

#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir {

#define WEIR_DECLARE_SCHEDULER(name, summary) \
    std::unique_ptr<LinkScheduler> make_##name(const SchedulerSetup& setup);
WEIR_SCHEDULERS(WEIR_DECLARE_SCHEDULER)
#undef WEIR_DECLARE_SCHEDULER

std::unique_ptr<LinkScheduler> make_scheduler(const SchedulerEntry& entry, const SchedulerSetup& setup) {
#define WEIR_SCHEDULER_MAKER(name, summary) make_##name,
    constexpr std::array kMakers{WEIR_SCHEDULERS(WEIR_SCHEDULER_MAKER)};
#undef WEIR_SCHEDULER_MAKER
    return kMakers[static_cast<std::size_t>(&entry - kSchedulers.data())](setup);
}

}  // namespace weir
