// vm_count_bench.cc - what each scheduler decides per packet with as many VMs as SoftBW's Fig. 10 has: all
// backlogged, all with the same reservation, nine tenths of the link together.
#include "bench/micro/scheduler_load.h"
#include "vswitch/qos/schedulers/fulfillment_scheduler.h"
#include "vswitch/qos/schedulers/rls_scheduler.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir::bench {
namespace {

template <class Scheduler>
void vms(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 10 * 9 / busy;
    report_decisions(state, schedule<Scheduler>(state, busy, 48, [=](VnicId id) {
                         return ClassProfile{.reservation = id < busy ? each : 0};
                     }));
}
BENCHMARK_TEMPLATE(vms, WrrScheduler)->Name("vms_wrr")->RangeMultiplier(2)->Range(1, 16);
BENCHMARK_TEMPLATE(vms, FulfillmentScheduler)->Name("vms_fulfillment")->RangeMultiplier(2)->Range(1, 16);
BENCHMARK_TEMPLATE(vms, RlsScheduler)->Name("vms_rls")->RangeMultiplier(2)->Range(1, 16);

}  // namespace
}  // namespace weir::bench
