// scheduler_factory.cc - a new scheduler is one line in each of two tables.
#include "vswitch/qos/schedulers/scheduler_factory.h"

#include <algorithm>
#include <array>

#include "vswitch/qos/schedulers/fulfillment_scheduler.h"
#include "vswitch/qos/schedulers/rls_scheduler.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir {
namespace {

using Make = std::unique_ptr<LinkScheduler> (*)(const LinkScheduler::Setup&);

template <class T>
std::unique_ptr<LinkScheduler> make(const LinkScheduler::Setup& setup) {
    return std::make_unique<T>(setup);
}

constexpr std::array<std::string_view, 3> kNames{"wrr", "fulfillment", "rls"};
constexpr std::array<Make, kNames.size()> kMakers{make<WrrScheduler>, make<FulfillmentScheduler>,
                                                  make<RlsScheduler>};

}  // namespace

std::unique_ptr<LinkScheduler> make_link_scheduler(std::string_view name, const LinkScheduler::Setup& setup) {
    const auto* const found = std::ranges::find(kNames, name);
    return found == kNames.end() ? nullptr : kMakers[static_cast<std::size_t>(found - kNames.begin())](setup);
}

std::span<const std::string_view> link_scheduler_names() {
    return kNames;
}

}  // namespace weir
