// worker_control.cc - the agent's side of a worker's command ring.
#include "vswitch/datapath/worker_control.h"

#include <chrono>
#include <thread>

namespace weir {

std::uint64_t WorkerControl::send(const WorkerCommand& command) {
    return commands_.push(command) ? ++sent_ : 0;
}

bool WorkerControl::wait(std::uint64_t number, Nanos patience) const {
    constexpr auto kNap = std::chrono::microseconds(50);
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
    while (done_.load(std::memory_order_acquire) < number) {
        if (std::chrono::steady_clock::now() > until)
            return false;
        std::this_thread::sleep_for(kNap);
    }
    return true;
}

}  // namespace weir
