// signal_relay.cc - the rounds of the thread over all lines.
#include "vswitch/ports/signal_relay.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace weir {

SignalRelay::SignalRelay() : thread_([this] { run(); }) {}

SignalRelay::~SignalRelay() {
    stop_.store(true);
    wakeups_.ring();
    thread_.join();
}

void SignalRelay::add(Line& line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(&line);
}

void SignalRelay::remove(Line& line) {
    const std::scoped_lock lock(mutex_);
    std::erase(lines_, &line);
}

void SignalRelay::signal(Line& line, std::uint16_t ring, int file) {
    line.files_[ring].store(file, std::memory_order_relaxed);
    line.wanted_.fetch_or(1U << ring);
    wakeups_.ring();
}

void SignalRelay::forget(Line& line) {
    constexpr std::chrono::microseconds kNap{50};
    line.wanted_.store(0);
    while (at_.load() == &line)
        std::this_thread::sleep_for(kNap);
}

/// First it says at which line it is, then it takes the bit: forget() clears the bit, then looks.
bool SignalRelay::signal_one(Line& line) {
    at_.store(&line);
    const std::uint32_t wanted = line.wanted_.load();
    const auto ring = static_cast<unsigned>(std::countr_zero(wanted));
    const bool takes = wanted != 0 && (line.wanted_.fetch_and(~(1U << ring)) >> ring & 1) != 0;
    if (takes)
        notifier_.notify(line.files_[ring].load(std::memory_order_relaxed));
    at_.store(nullptr);
    return takes;
}

void SignalRelay::run() {
    constexpr Nanos kSleepMax = kNanosPerSec;
    constexpr std::chrono::microseconds kRoundGap{50};
    const auto signal_all = [this] {
        const std::scoped_lock lock(mutex_);
        bool any = false;
        for (Line* line : lines_)
            any |= line->wanted_.load(std::memory_order_relaxed) != 0 && signal_one(*line);
        return any;
    };
    while (!stop_.load()) {
        wakeups_.lie_down();
        if (!signal_all() && !stop_.load())
            wakeups_.sleep(kSleepMax);
        wakeups_.get_up();
        while (signal_all())  // others come to the lines between two rounds
            std::this_thread::sleep_for(kRoundGap);
    }
}

}  // namespace weir
