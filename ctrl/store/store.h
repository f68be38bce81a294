// store.h - what the controller must not forget: the cluster file it ran by, its epochs, the ids it gave, the
// last allocations, what operators set, and what happened. What was saved survives kill -9 and a power cut;
// nothing is half there. Source: design sections 5 and 7. Units: Unix seconds where a time is stored.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/records.h"
#include "ctrl/store/bill_store.h"
#include "ctrl/store/database.h"
#include "ctrl/store/use_store.h"

namespace weir {

/// What one host was last told.
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
    std::string kind;  ///< a word: start, specification, welcome, refused, lost, ...
    std::string text;
};

class Store {
  public:
    /// Entries of the audit trail that are kept.
    static constexpr std::int64_t kAuditMax = 100'000;

    /// @throws HostError: it cannot be opened, another controller uses it, it is damaged or of a later
    /// version
    explicit Store(const std::string& path);

    /// Begins a life of the controller: larger than all before, and than all of a lost store, as it follows
    /// the clock. @param unix_time also the time of the entry
    std::uint64_t begin_epoch(std::int64_t unix_time);
    [[nodiscard]] std::uint64_t last_epoch();

    /// Keeps the cluster file's text if it is another than the last. @return whether it was
    bool save_specification(std::string_view text, std::int64_t unix_time);
    [[nodiscard]] std::optional<std::string> specification();

    /// The number of a name for ever. `kind`: "vnic" or "appliance".
    std::uint32_t endpoint_id(std::string_view kind, std::string_view name);

    /// All of them together, or none. A host without flows is forgotten.
    void save_allocations(const std::map<std::string, StoredAllocation>& by_host);
    /// What cannot be read any more is left out.
    [[nodiscard]] std::map<std::string, StoredAllocation> allocations();

    /// All that operators have set of pools, instead of what was kept before.
    void save_pool_settings(std::span<const PoolSetting> settings);
    [[nodiscard]] std::vector<PoolSetting> pool_settings();

    [[nodiscard]] BillStore& bill() { return *bill_; }
    [[nodiscard]] UseStore& use() { return *use_; }

    void audit(std::string_view kind, std::string_view text, std::int64_t unix_time);
    /// The last entries, the oldest of them first.
    [[nodiscard]] std::vector<AuditEntry> audit_tail(std::size_t most);

  private:
    void make_tables();
    Database database_;
    std::optional<BillStore> bill_;  // once the tables are known to be ours
    std::optional<UseStore> use_;
    std::map<std::string, std::uint32_t, std::less<>> ids_;  // "kind name"
};

}  // namespace weir
