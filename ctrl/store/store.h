// store.h - the controller's state that survives a restart, in one SQLite file.
// Source: docs/design.md 7, 10
// Units: Unix seconds where a time is stored. Threads: one at a time.
//
// Every function that writes is one transaction: when it returns, the data survives kill -9 and a power
// failure; when it throws, or the process dies before, the file holds none of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/records.h"
#include "ctrl/billing/overcommit.h"
#include "ctrl/store/bill_store.h"
#include "ctrl/store/database.h"

namespace weir {

/// The last rates that one host was sent.
struct StoredAllocation {
    std::uint64_t epoch = 0;
    std::uint32_t interval = 0;
    std::vector<wire::FlowAllocation> flows;
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

struct AuditEntry {
    std::int64_t number = 0;
    std::int64_t unix_time = 0;
    std::string kind;  ///< start, specification, welcome, refused, malformed, lost, pool, store
    std::string text;
};

class Store {
  public:
    /// Entries of the audit trail that are kept; older ones are removed at start.
    static constexpr std::int64_t kAuditMax = 100'000;

    /// Opens or creates the file.
    /// @throws HostError: it cannot be opened, another process uses it, it is damaged, or of a later version
    explicit Store(const std::string& path);

    /// Keeps the text of the cluster file, when it differs from the last one. @return whether it did
    bool save_specification(std::string_view text, std::int64_t unix_time);
    [[nodiscard]] std::optional<std::string> specification();
    /// The id of a vNIC or appliance (`kind`): the same one for a name, for ever.
    std::uint32_t endpoint_id(std::string_view kind, std::string_view name);
    /// Replaces all settings.
    void save_pool_settings(std::span<const PoolSetting> settings);
    [[nodiscard]] std::vector<PoolSetting> pool_settings();

    // Epochs, and the state that an epoch leaves to the next one.

    /// Begins an epoch. Its number is the Unix time, or the last epoch + 1 if that is more: so it is above
    /// those of this store even when the clock went back, and above those of a store that was lost.
    std::uint64_t begin_epoch(std::int64_t unix_time);
    /// 0: none has begun.
    [[nodiscard]] std::uint64_t last_epoch();
    /// Replaces the rates of these hosts; a host without flows is removed.
    void save_allocations(const std::map<std::string, StoredAllocation>& by_host);
    /// By host; records that cannot be read are left out.
    [[nodiscard]] std::map<std::string, StoredAllocation> allocations();
    /// Replaces the histograms of every `step`-th vNIC from `first` on: all of them after `step` calls.
    void save_measured_use(const billing::UseTable::Uses& uses, std::size_t first = 0, std::size_t step = 1);
    /// Damaged histograms are left out.
    [[nodiscard]] billing::UseTable::Uses measured_use();
    void audit(std::string_view kind, std::string_view text, std::int64_t unix_time);
    /// The last `count` entries, oldest first.
    [[nodiscard]] std::vector<AuditEntry> audit_tail(std::size_t count);

    [[nodiscard]] BillStore& bill() { return *bill_; }

  private:
    void make_tables();
    [[nodiscard]] std::int64_t single(const char* sql);

    Database database_;
    std::optional<BillStore> bill_;  // opened when the file is known to be a store of this version
    std::map<std::string, std::uint32_t, std::less<>> ids_;  // by "kind name"
};

}  // namespace weir
