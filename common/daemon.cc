// daemon.cc - one flag for both signals.
#include "common/daemon.h"

#include <csignal>

namespace weir {
namespace {

std::atomic<bool> stop{false};

void on_signal(int) {
    stop.store(true, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    return stop;
}

}  // namespace weir
