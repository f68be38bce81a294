// bill_writer.h - hands billing periods to a thread that writes them, so that no loop waits for the disk.
// Source: docs/algorithms.md 6.3
// Units: Unix seconds where a name says so. Threads: one caller, and its own after start().
//
// post() never waits: a queue that is full refuses. The thread takes all that waits, at most twice a second,
// and writes it in one transaction; take_outcomes() has the result of each. Before start(), and for a bill in
// memory, post() writes at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ctrl/store/bill_reader.h"
#include "ctrl/store/bill_store.h"

namespace weir {

class BillWriter {
  public:
    /// Periods that wait at most: eight seconds of 24,000 vNICs.
    static constexpr std::size_t kPeriodsMax = 200'000;

    struct Periods {
        std::uint64_t key = 0;  ///< the caller's
        std::vector<billing::Record> records{};
    };
    struct Outcome {
        std::uint64_t key = 0;
        bool is_stored = false;
        BillStore::Appended appended{};
    };
    struct State {
        std::int64_t failing_since = 0;  ///< 0: the last write succeeded
        std::string fault{};             ///< why it does not; empty when it does
        std::uint64_t refused = 0;       ///< transactions that failed, in all
        std::uint64_t waiting = 0;       ///< periods in the queue
        std::uint64_t turned_away = 0;   ///< periods that found no room in the queue, in all
        std::uint64_t transactions = 0;  ///< written
        double longest_ms = 0;           ///< the transaction that took longest
    };
    using Clock = std::function<std::int64_t()>;  ///< Unix seconds

    explicit BillWriter(std::string folder);
    /// Writes the periods that wait, once, and ends.
    ~BillWriter();
    BillWriter(const BillWriter&) = delete;
    BillWriter& operator=(const BillWriter&) = delete;

    /// Opens the bill. @throws HostError
    void open() { store_.open(); }
    /// From now on a thread writes.
    void start(Clock clock);

    /// @return false: the queue is full. Else there will be an outcome
    bool post(Periods periods, const billing::Prices& prices, std::int64_t unix_seconds);
    [[nodiscard]] std::vector<Outcome> take_outcomes();
    [[nodiscard]] State state() const;
    /// For another thread, unless the bill is in memory.
    [[nodiscard]] BillReader reader() { return BillReader(store_.folder(), store_.memory()); }
    /// The bill itself. @pre not started
    [[nodiscard]] BillStore& store() { return store_; }

  private:
    void run();
    /// Writes these in one transaction. Never throws.
    void write(const std::deque<Periods>& taken, const billing::Prices& prices, std::int64_t unix_seconds);

    BillStore store_;
    Clock clock_;
    mutable std::mutex mutex_;  // of all below
    std::condition_variable wake_;
    std::deque<Periods> queue_;
    billing::Prices prices_{};
    std::vector<Outcome> outcomes_;
    State state_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace weir
