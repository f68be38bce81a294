// fulfillment_scheduler_bench.cc - the fulfillment scheduler's decision, per packet.
#include "bench/micro/scheduler_load.h"
#include "vswitch/qos/schedulers/fulfillment_scheduler.h"

namespace weir::bench {
namespace {

/// `busy` backlogged classes, which together are promised `promised` percent of the link.
void fulfillment(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 100 * static_cast<std::uint64_t>(state.range(1)) / busy;
    report_decisions(state, schedule<FulfillmentScheduler>(state, busy, 48, [each](VnicId) {
                         return ClassProfile{.reservation = each};
                     }));
}
BENCHMARK(fulfillment)->ArgNames({"busy", "promised"})->ArgsProduct({{1, 10, 100, 1000}, {50, 400}});

}  // namespace
}  // namespace weir::bench
