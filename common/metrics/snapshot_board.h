// snapshot_board.h - the latest snapshot of values, which the thread that owns them publishes at its own
// times. Source: docs/design.md 2. Units: Nanos of a monotonic clock. Threads: publish() by the owner of the
// values, read() by the renderers.
//
// For an owner that must not be interrupted, as the controller's loop: a reader costs it nothing, and a
// snapshot costs an exchange of pointers, besides making it. SnapshotDesk is for an owner that makes one only
// when a reader waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "common/clock.h"

namespace weir::metrics {

template <typename T>
class SnapshotBoard {
  public:
    /// An owner that has published nothing for so long does not answer.
    static constexpr Nanos kLasts = 3 * kNanosPerSec;

    void publish(Nanos now, T snapshot) {
        std::shared_ptr<const T> made = std::make_shared<const T>(std::move(snapshot));
        {
            const std::scoped_lock lock(mutex_);
            snapshot_.swap(made);
            made_at_ = now;
            ++number_;
        }
        changed_.notify_all();
    }

    /// The latest snapshot; nullptr: it is older than kLasts, and the owner published none within `patience`.
    [[nodiscard]] std::shared_ptr<const T> read(Nanos now, std::chrono::nanoseconds patience) {
        std::unique_lock lock(mutex_);
        if (snapshot_ && now < made_at_ + kLasts)
            return snapshot_;
        const std::uint64_t before = number_;
        const bool is_published = changed_.wait_for(lock, patience, [&] { return number_ != before; });
        return is_published ? snapshot_ : nullptr;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<const T> snapshot_;
    Nanos made_at_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace weir::metrics
