// store.h - the controller's state that survives a restart, in one SQLite file.
// Source: docs/design.md 7, 10
// Units: Unix seconds where a time is stored. Threads: any; one after the other. A disk may take long to
// answer, and write() is called by a thread that waits for it: every other function that finds the file in
// use for longer than 100 ms throws.
//
// Every function that writes is one transaction: when it returns, the data survives kill -9 and a power
// failure; when it throws, or the process dies before, the file holds none of it.
//
// Epochs and ids are written before a switch may see them, so that a controller without them cannot begin.
// All else (write()) may come later or never: see deferred_writes.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/wire/records.h"
#include "ctrl/billing/overcommit.h"
#include "ctrl/store/bill_writer.h"
#include "ctrl/store/database.h"

namespace weir {

/// The last rates that one host was sent.
struct StoredAllocation {
    /// Rates of that age and older are not sent again. A restart, of the controller's machine too, takes
    /// less; rates for the demands of ten minutes ago are no better than the flows' guarantees.
    static constexpr std::int64_t kAgeMax = 600;

    std::uint64_t epoch = 0;
    std::uint32_t interval = 0;
    std::vector<wire::FlowAllocation> flows;
    std::int64_t unix_time = 0;  ///< when they were sent

    /// False also when the clock went back, because then the age is not known.
    [[nodiscard]] bool is_usable(std::int64_t now) const {
        return now >= unix_time && now - unix_time < kAgeMax;
    }
};

/// A value of a pool, or of a vNIC in one, that an operator set and that differs from the cluster file's.
struct PoolSetting {
    static constexpr std::int64_t kNoLimit = -1;

    std::string appliance{};
    std::string name{};
    bool is_vnic = false;
    std::string key{};  ///< reservation or limit (tokens per second), shares
    std::int64_t value = 0;
    std::int64_t configured = 0;  ///< the cluster file's value when it was set

    bool operator==(const PoolSetting&) const = default;
};

/// A vNIC that the cluster file no longer has; the periods from before are still billed.
struct RemovedVnic {
    std::uint32_t id = 0;
    std::string name{};
    std::string tenant{};
    std::uint64_t reservation_bps = 0;
    std::int64_t unix_time = 0;  ///< when the controller began without it
    bool operator==(const RemovedVnic&) const = default;
};

/// Changes of the ids of vNICs and appliances.
struct EndpointChanges {
    struct Added {
        std::uint32_t id = 0;
        std::string kind{};
        std::string name{};
    };
    std::vector<Added> added{};
    std::vector<Added> back{};  ///< have their ids since an earlier revision; nothing is written
    std::vector<std::uint32_t>
        retired{};  ///< no longer of their names, which may get others; never used again
};

/// The store's part of a new revision.
struct NewRevision {
    std::string_view text{};
    EndpointChanges ends{};
    std::vector<RemovedVnic> removed{};
    std::string author{};  ///< empty = not known
    std::string via{};     ///< the operator's command, such as "tenant add"; empty = not known
    std::string values{};  ///< as AuditEntry
    std::size_t values_in_all = 0;
};

/// A text of the cluster file that was in force.
struct Revision {
    std::int64_t number = 0;
    std::int64_t unix_time = 0;  ///< when it came into force
    std::int64_t bytes = 0;
    std::string author{};  ///< empty = not known
};

struct AuditEntry {
    std::int64_t number = 0;
    std::int64_t unix_time = 0;
    std::string
        kind{};  ///< start, specification, welcome, refused, malformed, lost, pool, backup, store, audit
    std::string text{};
    std::string peer{};         ///< of an operator's command: its process; empty = no command
    std::int64_t revision = 0;  ///< of the specification that a change made, or that was in force; 0 = none
    std::string values{};       ///< JSON: the first that changed (ctrl/config/audited_values.h)
    std::size_t values_in_all = 0;  ///< that changed
};

/// Changes that are written together.
struct StoreChanges {
    std::map<std::string, StoredAllocation> allocations{};    ///< by host; one without flows is removed
    billing::UseTable::Uses use{};                            ///< by vNIC
    std::optional<std::vector<PoolSetting>> pool_settings{};  ///< all that there are
    std::vector<AuditEntry> audit{};                          ///< without numbers

    [[nodiscard]] bool is_empty() const {
        return allocations.empty() && use.empty() && !pool_settings && audit.empty();
    }
};

/// The cluster that the store must be of, and its operator's statements: a new name, a lost store.
struct StoreTerms {
    static constexpr std::uint64_t kEpochAboveMax = std::uint64_t{1} << 53;  ///< exact as a number of JSON

    std::string cluster{};          ///< the cluster's name; empty = any
    std::string renamed_from{};     ///< the name that the cluster had; empty = it was not renamed
    std::uint64_t epoch_above = 0;  ///< epochs begin above this one; 0 = the store was not lost
};

class Store {
  public:
    /// Entries of the audit trail that are kept; older ones are removed as new ones are written. Starts,
    /// files and operators' changes are kept longer, so that a flood of faults does not remove them.
    static constexpr std::int64_t kAuditMax = 100'000;
    static constexpr std::int64_t kAuditChangesMax = 100 * kAuditMax;
    /// The newest entries with changed values; the values of older ones are removed.
    static constexpr std::int64_t kAuditValuesMax = 10'000;

    /// Opens or creates the file.
    /// @throws HostError: it cannot be opened, another process uses it, it is damaged, of a later version, of
    /// another cluster, or it is missing although its bill is there
    explicit Store(const std::string& path, const StoreTerms& terms = {});

    // The specification: texts of the cluster file, numbered from 1.

    static constexpr std::int64_t kRevisionsMax = 1'000;
    static constexpr std::int64_t kRevisionBytesMax = 256 << 20;
    /// Keeps the revision as the next one, with the ids of its ends and all vNICs that are removed by now. Of
    /// earlier revisions the last 1,000 are kept, and of these the newest 256 MiB, at least one.
    /// @return its number
    std::int64_t add_revision(const NewRevision& revision, std::int64_t unix_time);
    /// Number of the last revision; 0: there is none.
    [[nodiscard]] std::int64_t revision();
    /// Text of a revision; nothing: it is not kept. Without a number, of the last one.
    [[nodiscard]] std::optional<std::string> specification(std::int64_t number = 0);
    /// The last `count`, oldest first.
    [[nodiscard]] std::vector<Revision> revisions(std::size_t count);
    /// vNICs that the last revision no longer has.
    [[nodiscard]] std::vector<RemovedVnic> removed_vnics();

    // Ids of vNICs and appliances (`kind`): the same one for a name, until it is retired.

    using Name = std::pair<std::string_view, std::string_view>;  ///< kind, name
    /// Gives an id to each that has none, in one transaction.
    void add_endpoints(std::span<const Name> names);
    std::uint32_t endpoint_id(std::string_view kind, std::string_view name);
    /// Nothing: it has none yet.
    [[nodiscard]] std::optional<std::uint32_t> find_endpoint(std::string_view kind,
                                                             std::string_view name) const;
    /// Above all that were given so far.
    [[nodiscard]] std::uint32_t next_endpoint() const { return next_id_; }

    // Epochs, and the state that an epoch leaves to the next one.

    /// Begins an epoch. Its number is the Unix time, or the last epoch + 1 if that is more: so it is above
    /// those of this store even when the clock went back, and above those of a store that was lost.
    std::uint64_t begin_epoch(std::int64_t unix_time);
    /// 0: none has begun.
    [[nodiscard]] std::uint64_t last_epoch();

    void write(const StoreChanges& changes);
    [[nodiscard]] std::vector<PoolSetting> pool_settings();
    /// By host; records that cannot be read are left out.
    [[nodiscard]] std::map<std::string, StoredAllocation> allocations();
    /// Damaged histograms are left out.
    [[nodiscard]] billing::UseTable::Uses measured_use();
    /// The last `count` entries, oldest first.
    /// @param with_peer only those of operators' commands
    [[nodiscard]] std::vector<AuditEntry> audit_tail(std::size_t count, bool with_peer = false);

    /// The file grows no further than to this many pages of 4 KiB: tests of a full disk.
    void set_pages_max(std::uint32_t pages);
    /// Runs SQL on the file: tests of damaged stores.
    void spoil(const char* sql);

    /// The bill, in the folder beside the file.
    [[nodiscard]] BillWriter& bill() { return bill_; }
    /// The file's content as it is committed now.
    [[nodiscard]] std::vector<std::uint8_t> image();
    /// Lines of the bill that were taken over from a store of version 1 when this one was opened.
    [[nodiscard]] std::int64_t bill_lines_taken_over() const { return taken_over_; }
    /// Where the bill of a store is.
    [[nodiscard]] static std::string bill_folder(const std::string& path);

  private:
    void make_tables();
    void refuse_lost(const StoreTerms& terms);
    void claim(const StoreTerms& terms);
    void write_allocations(const std::map<std::string, StoredAllocation>& by_host);
    void write_use(const billing::UseTable::Uses& uses);
    void write_pool_settings(std::span<const PoolSetting> settings);
    void write_audit(std::span<const AuditEntry> entries);
    void write_removed_vnics(std::span<const RemovedVnic> vnics);
    void write_endpoints(const EndpointChanges& ends);
    void note_endpoints(const EndpointChanges& ends);
    void remove_old_revisions(std::int64_t last);
    [[nodiscard]] std::int64_t single(const char* sql);
    using Lock = std::unique_lock<std::recursive_timed_mutex>;
    /// @throws HostError: another thread uses the file for too long
    [[nodiscard]] Lock lock_file();

    std::string path_;
    std::recursive_timed_mutex mutex_;            // of the file
    std::atomic<std::int64_t> writing_since_{0};  // when write() began last: ns of the steady clock
    Database database_;
    std::uint64_t epoch_above_;
    BillWriter bill_;
    std::int64_t taken_over_ = 0;
    std::map<std::string, std::uint32_t, std::less<>> ids_;  // by "kind name"
    std::uint32_t next_id_ = 1;
};

}  // namespace weir
