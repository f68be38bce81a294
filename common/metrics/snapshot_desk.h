// snapshot_desk.h - hands snapshots from the thread that owns the values to the thread that renders them.
// Source: docs/design.md 2. Units: Nanos of a monotonic clock.
// Threads: serve() by the owner of the values, read() by the renderers.
//
// The owner makes a snapshot only when a reader waits for one, and at most one in kFresh: readers within that
// time share it. After a failure, such as a worker that does not answer, it tries no more for kRetry, because
// a failure may take seconds of the owner's thread. serve() without a waiting reader costs one load.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "common/clock.h"

namespace weir::metrics {

template <typename T>
class SnapshotDesk {
  public:
    static constexpr Nanos kFresh = 500'000'000;
    static constexpr Nanos kRetry = 10 * kNanosPerSec;

    /// @param make returns a T; called when a reader waits. Its exception counts as a failure, and ends here
    template <typename Make>
    void serve(Nanos now, Make make) {
        if (!wanted_.load(std::memory_order_relaxed) || now < next_)
            return;
        std::shared_ptr<const T> made;
        try {
            made = std::make_shared<const T>(make());
        } catch (const std::exception&) {  // the owner's other calls report it
        }
        next_ = now + (made ? kFresh : kRetry);
        const std::scoped_lock lock(mutex_);
        wanted_.store(false, std::memory_order_relaxed);
        made_at_ = now;
        snapshot_ = std::move(made);
        ++number_;
        changed_.notify_all();
    }

    /// A snapshot that is at most kFresh old; nullptr: the owner made none within `patience`, or failed less
    /// than kRetry ago.
    [[nodiscard]] std::shared_ptr<const T> read(Nanos now, std::chrono::nanoseconds patience) {
        std::unique_lock lock(mutex_);
        if (snapshot_ && now < made_at_ + kFresh)
            return snapshot_;
        if (!snapshot_ && number_ != 0 && now < made_at_ + kRetry)
            return nullptr;
        const std::uint64_t before = number_;
        wanted_.store(true, std::memory_order_relaxed);
        const bool is_made = changed_.wait_for(lock, patience, [&] { return number_ != before; });
        return is_made ? snapshot_ : nullptr;
    }

  private:
    std::atomic<bool> wanted_{false};
    Nanos next_ = 0;  // the owner's
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<const T> snapshot_;
    Nanos made_at_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace weir::metrics
