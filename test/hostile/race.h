// race.h - a second thread that changes memory while the switch reads it.
// Threads: `rewrite` runs on a thread of its own, which is joined.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace weir::hostile {

inline constexpr auto kRace = std::chrono::milliseconds(5);

/// Calls `rewrite` on a second thread while `publish` is called on this one, for kRace.
template <typename Rewrite, typename Publish>
void race(Rewrite rewrite, Publish publish) {
    std::atomic<bool> over{false};
    std::thread rewriter([&] {
        while (!over.load(std::memory_order_relaxed))
            rewrite();
    });
    const auto end = std::chrono::steady_clock::now() + kRace;
    while (std::chrono::steady_clock::now() < end) {
        publish();
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    over.store(true);
    rewriter.join();
}

}  // namespace weir::hostile
