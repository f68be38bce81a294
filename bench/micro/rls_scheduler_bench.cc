// rls_scheduler_bench.cc - the decision by reservation, limit and shares, per packet.
#include "bench/micro/scheduler_load.h"
#include "vswitch/qos/schedulers/rls_scheduler.h"

namespace weir::bench {
namespace {

/// `busy` backlogged classes with shares 1:2:3:4 in turn, of which every second has its part of `promised`
/// percent of the link.
void rls(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 100 * static_cast<std::uint64_t>(state.range(1)) / ((busy + 1U) / 2);
    report_decisions(state, schedule<RlsScheduler>(state, busy, 48, [=](VnicId id) {
                         return ClassProfile{.reservation = id < busy && id % 2 == 0 ? each : 0,
                                             .shares = 100U * (1 + id % 4)};
                     }));
}
BENCHMARK(rls)->ArgNames({"busy", "promised"})->ArgsProduct({{1, 10, 100, 1000}, {0, 50, 95}});

}  // namespace
}  // namespace weir::bench
