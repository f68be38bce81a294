// main.cc - from a new flow to its limiter: in the switch, and with the controller's work. Source: Pulsar
// 6.3 (83 us a flow, controller included).
//
//     flow-setup-bench [TIMES]
//
// Prints JSON. In the switch: a worker's whole turn in which the first feedback of a destination comes in, is
// checked, and the limiter is there. With the controller: what agent and controller compute when a request
// flow begins between two intervals; its limiter is there from the start and gets another rate.
#include <cstdio>
#include <cstdlib>

#include "bench/control/flow_setup.h"

int main(int argc, char** argv) {
    const unsigned times =
        std::max(10U, argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 2'000U);
    nlohmann::json out{{"switch", weir::bench::measure_switch(std::min(times, 4'000U))},
                       {"controller", nlohmann::json::array()}};
    for (const unsigned hosts : {10U, 200U, 2'000U})
        out["controller"].push_back(weir::bench::measure_control(hosts, std::min(times, 100U)));
    std::printf("%s\n", out.dump(2).c_str());
}
