// flow_setup_bench.cc - time from a new flow to its limiter, in the switch and with the controller's work.
// Source: Pulsar 6.3 (83 us a flow, controller included). Threads: one.
//
//   flow-setup-bench [TIMES]
//
// Prints JSON. In the switch: one iteration of a worker that receives a destination's first feedback frame,
// checks it and installs the limiter. With the controller: the computations of agent and controller
// when a service flow begins between two intervals; its limiter exists from the start and gets another rate.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/control/flow_setup.h"

namespace weir::bench {

nlohmann::json Spans::summary() const {
    std::vector<double> sorted = micros_;
    std::sort(sorted.begin(), sorted.end());
    const auto at = [&](double part) {
        return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
    };
    return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}, {"times", sorted.size()}};
}

}  // namespace weir::bench

int main(int argc, char** argv) {
    const unsigned times =
        std::max(10U, argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 2'000U);
    nlohmann::json out{{"switch", weir::bench::measure_switch(std::min(times, 4'000U))},
                       {"controller", nlohmann::json::array()}};
    for (const unsigned hosts : {10U, 200U, 2'000U})
        out["controller"].push_back(weir::bench::measure_controller(hosts, std::min(times, 100U)));
    std::printf("%s\n", out.dump(2).c_str());
}
