// deferred_writes.h - changes that the store may have late: kept in memory, written once a tick.
// Source: docs/design.md 7
// Units: Unix seconds. Threads: one, the caller's, and after start() one that writes. Never throws after the
// constructor.
//
// The thread has one set of changes at a time, so that no tick waits for a disk that takes long to answer;
// those of later ticks wait for it, with their newest value.
//
// A store that cannot be written (a full disk) changes nothing for the switches. Rates, measured use and pool
// settings wait with their newest value; entries of the audit trail wait up to a bound. Every tick tries
// again, and the first that succeeds writes all of it in one transaction.
//
// Between two ticks a bounded number of entries is taken, so that no peer fills the disk by its faults: with
// 200 of 100 bytes a second, 1.7 GB a day would pass, of which the store keeps the last 100,000 entries. Each
// peer has a part of it, and the controller's own entries, as of a host that was lost, have as much again:
// the faults of one host hide those of no other. Entries of operators' changes are always taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctrl/store/store.h"
#include "ctrl/store/store_writer.h"

namespace weir {

class DeferredWrites {
  public:
    /// Entries of peers between two ticks, and of the controller itself; more of them are counted.
    static constexpr std::size_t kNotesPerTick = 200;
    static constexpr std::size_t kNotesPerPeer = 20;
    /// Peers that are named with the number of their further entries.
    static constexpr std::size_t kPeersNamed = 20;
    /// Entries that wait at most while the store cannot be written; more of them are lost, and counted.
    static constexpr std::size_t kNotesWaitingMax = 10'000;

    struct State {
        std::int64_t failing_since = 0;   ///< 0: the last write succeeded
        std::string fault{};              ///< why it does not; empty when it does
        std::uint64_t refused = 0;        ///< writes that failed, in all
        std::uint64_t audit_lost = 0;     ///< entries that found no room in memory, in all
        std::uint64_t audit_omitted = 0;  ///< entries beyond these bounds, in all
        [[nodiscard]] bool is_failing() const { return failing_since != 0; }
    };

    /// A write that takes longer is a fault, as one that fails.
    static constexpr std::chrono::seconds kSlow{3};

    /// @param store outlives this
    explicit DeferredWrites(Store& store) : store_(store) {}
    /// Writes all that waits.
    ~DeferredWrites();
    DeferredWrites(const DeferredWrites&) = delete;
    DeferredWrites& operator=(const DeferredWrites&) = delete;
    /// From now on a thread writes.
    void start() { writer_.emplace(store_); }

    void set_allocation(const std::string& host, StoredAllocation allocation) {
        changes_.allocations.insert_or_assign(host, std::move(allocation));
    }
    void set_use(const std::string& vnic, const billing::MeasuredUse& use) {
        changes_.use.insert_or_assign(vnic, use);
    }
    void set_pool_settings(std::vector<PoolSetting> settings) {
        changes_.pool_settings = std::move(settings);
    }
    /// An entry of the audit trail. @param peer that caused it; empty: the controller itself
    void note(std::string_view kind, std::string text, std::int64_t unix_time, const std::string& peer = {});
    /// The same for an operator's change.
    void note_change(AuditEntry entry);

    /// Writes all that waits, and waits 100 ms for the thread. @return whether the store has all of it now
    bool flush(std::int64_t unix_time);
    /// Writes as well, waits for no thread, and begins the count of entries again.
    void end_tick(std::int64_t unix_time);

    [[nodiscard]] const State& state() const { return state_; }
    /// Entries that the store does not have yet, oldest first.
    [[nodiscard]] std::vector<AuditEntry> waiting() const;

  private:
    void add(AuditEntry entry);
    void on_written(std::int64_t unix_time);
    void on_fault(const std::string& fault, std::int64_t unix_time);
    /// Takes the thread's outcome in, and gives it the changes that wait. @return whether nothing waits
    bool exchange_with_thread(std::chrono::milliseconds patience, std::int64_t unix_time);
    void take_back(StoreChanges changes);

    Store& store_;
    StoreChanges changes_;
    std::optional<StoreWriter> writer_;
    State state_;
    std::size_t notes_ = 0;                     // of the controller, since the last tick
    std::size_t peers_notes_ = 0;               // of all peers, since then
    std::map<std::string, std::size_t> peers_;  // entries of each peer since then
    std::map<std::string, std::size_t>
        omitted_by_;  // since then; without a name: of the controller, or others
    std::uint64_t lost_before_ = 0;
};

}  // namespace weir
