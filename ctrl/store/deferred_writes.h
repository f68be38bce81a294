// deferred_writes.h - changes that the store may have late: kept in memory, written once a tick.
// Source: docs/design.md 7
// Units: Unix seconds. Threads: one, the store's. Never throws after the constructor.
//
// A store that cannot be written (a full disk) changes nothing for the switches. Rates, measured use and pool
// settings wait with their newest value; entries of the audit trail wait up to a bound. Every tick tries
// again, and the first that succeeds writes all of it in one transaction.
//
// Between two ticks a bounded number of entries is taken, so that no peer fills the disk by its faults: with
// 200 of 100 bytes a second, 1.7 GB a day would pass, of which the store keeps the last 100,000 entries.
// Entries of operators' changes are always taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctrl/store/store.h"

namespace weir {

class DeferredWrites {
  public:
    /// Entries between two ticks, without those of operators' changes; more of them are counted.
    static constexpr std::size_t kNotesPerTick = 200;
    /// Entries that wait at most while the store cannot be written; more of them are lost, and counted.
    static constexpr std::size_t kNotesWaitingMax = 10'000;

    struct State {
        std::int64_t failing_since = 0;   ///< 0: the last write succeeded
        std::string fault{};              ///< why it does not; empty when it does
        std::uint64_t refused = 0;        ///< writes that failed, in all
        std::uint64_t audit_lost = 0;     ///< entries that found no room in memory, in all
        std::uint64_t audit_omitted = 0;  ///< entries beyond kNotesPerTick, in all
        [[nodiscard]] bool is_failing() const { return failing_since != 0; }
    };

    /// @param store outlives this
    explicit DeferredWrites(Store& store) : store_(store) {}

    void set_allocation(const std::string& host, StoredAllocation allocation) {
        changes_.allocations.insert_or_assign(host, std::move(allocation));
    }
    void set_use(const std::string& vnic, const billing::MeasuredUse& use) {
        changes_.use.insert_or_assign(vnic, use);
    }
    void set_pool_settings(std::vector<PoolSetting> settings) {
        changes_.pool_settings = std::move(settings);
    }
    /// An entry of the audit trail.
    void note(std::string_view kind, std::string text, std::int64_t unix_time);
    /// The same for an operator's change.
    void note_change(AuditEntry entry);

    /// Writes all that waits. @return whether the store has all of it now
    bool flush(std::int64_t unix_time);
    /// The same, and begins the count of kNotesPerTick again.
    void end_tick(std::int64_t unix_time);

    [[nodiscard]] const State& state() const { return state_; }
    /// Entries that the store does not have yet, oldest first.
    [[nodiscard]] const std::vector<AuditEntry>& waiting() const { return changes_.audit; }

  private:
    void add(AuditEntry entry);
    void on_written(std::int64_t unix_time);

    Store& store_;
    StoreChanges changes_;
    State state_;
    std::size_t notes_ = 0;    // since the last tick
    std::size_t omitted_ = 0;  // since the last tick
    std::uint64_t lost_before_ = 0;
};

}  // namespace weir
