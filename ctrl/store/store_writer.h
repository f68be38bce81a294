// store_writer.h - writes changes of the store on a thread, so that no loop waits for the disk.
// Source: docs/design.md 7. Threads: one caller, and its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "ctrl/store/store.h"

namespace weir {

/// One set of changes at a time.
class StoreWriter {
  public:
    struct Outcome {
        StoreChanges changes{};
        std::string fault{};  ///< why they were not written; empty: they were
    };

    /// @param store outlives this
    explicit StoreWriter(Store& store);
    /// Waits for the write that is under way.
    ~StoreWriter();
    StoreWriter(const StoreWriter&) = delete;
    StoreWriter& operator=(const StoreWriter&) = delete;

    /// Those under way, or whose outcome was not taken, come first.
    [[nodiscard]] bool is_busy() const;
    /// @pre not busy
    void post(StoreChanges changes);
    /// Waits so long for the end of the write. @return nothing: it has not ended, or there is none
    [[nodiscard]] std::optional<Outcome> take(std::chrono::milliseconds patience);
    /// How long the write has been under way. The outcome's time, once it has ended.
    [[nodiscard]] std::chrono::milliseconds under_way() const;
    /// Entries of the audit trail that are under way, a copy: the store does not have them yet.
    [[nodiscard]] std::vector<AuditEntry> audit() const;

  private:
    enum class State { kIdle, kPosted, kDone };
    void run();

    Store& store_;
    mutable std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    State state_ = State::kIdle;
    bool stop_ = false;
    Outcome outcome_;
    std::chrono::steady_clock::time_point posted_{};
    std::thread thread_;
};

}  // namespace weir
