// store.cc - opening the file; specification, endpoint ids, pool settings, epochs, audit trail.
#include "ctrl/store/store.h"

#include <algorithm>
#include <cmath>

#include "common/byte_order.h"
#include "common/error.h"

namespace weir {
namespace {

using Statement = Database::Statement;
using billing::MeasuredUse;

constexpr std::int64_t kVersion = 1;
constexpr const char* kTables = R"(
    CREATE TABLE epochs (epoch INTEGER PRIMARY KEY, began INTEGER NOT NULL);
    CREATE TABLE specifications (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL);
    CREATE TABLE endpoints (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
    CREATE TABLE allocations (host TEXT PRIMARY KEY, epoch INTEGER NOT NULL, interval INTEGER NOT NULL,
                              flows BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE audit (number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
                        text TEXT NOT NULL);
)";
/// Tables that stores of the same version may lack. `filed` is PoolSetting::configured.
constexpr const char* kLaterTables = R"(
    CREATE TABLE IF NOT EXISTS pool_settings (appliance TEXT NOT NULL, name TEXT NOT NULL, vnic INTEGER NOT NULL,
        key TEXT NOT NULL, value INTEGER NOT NULL, filed INTEGER NOT NULL,
        PRIMARY KEY (appliance, name, vnic, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS use (vnic TEXT PRIMARY KEY, bins BLOB NOT NULL) WITHOUT ROWID;
)";

constexpr double kMillis = 1000;
/// A bin of a histogram never holds as many milliseconds: such a row is damaged.
constexpr auto kBinMillisMax = static_cast<std::uint64_t>(MeasuredUse::kSecondsMost * kMillis) * 2;

/// A histogram as stored: 64-bit little-endian milliseconds per bin.
std::vector<std::uint8_t> bytes_of(const MeasuredUse& use) {
    std::vector<std::uint8_t> bytes(use.bins().size() * sizeof(std::uint64_t));
    LittleEndianWriter writer(bytes.data());
    for (const double seconds : use.bins())
        writer.put(static_cast<std::uint64_t>(std::llround(seconds * kMillis)));
    return bytes;
}

std::optional<MeasuredUse> use_of(const std::vector<std::uint8_t>& bytes) {
    MeasuredUse::Bins bins{};
    if (bytes.size() != bins.size() * sizeof(std::uint64_t))
        return std::nullopt;
    LittleEndianReader reader(bytes.data());
    for (double& seconds : bins) {
        std::uint64_t millis = 0;
        reader.get(millis);
        if (millis > kBinMillisMax)
            return std::nullopt;
        seconds = static_cast<double>(millis) / kMillis;
    }
    return MeasuredUse(bins);
}

}  // namespace

Store::Store(const std::string& path) : database_(path) {
    make_tables();
    bill_.emplace(database_);
    Statement trim(database_, "DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?");
    trim.execute(kAuditMax);
    Statement endpoints(database_, "SELECT id, kind, name FROM endpoints");
    while (endpoints.step())
        ids_.emplace(endpoints.text(1) + ' ' + endpoints.text(2),
                     static_cast<std::uint32_t>(endpoints.integer(0)));
}

void Store::make_tables() {
    const std::int64_t version = single("PRAGMA user_version");
    if (version > kVersion)
        throw HostError("the store is of version " + std::to_string(version) + ", this controller knows " +
                        std::to_string(kVersion) + "; use the later weir-ctrl, or another store");
    if (version != kVersion) {
        Database::Transaction transaction(database_);
        database_.run(kTables);
        database_.run("PRAGMA user_version = 1");
        transaction.commit();
    }
    database_.run(kLaterTables);
}

std::int64_t Store::single(const char* sql) {
    Statement statement(database_, sql);
    return statement.step() ? statement.integer(0) : 0;
}

std::optional<std::string> Store::specification() {
    Statement last(database_, "SELECT text FROM specifications ORDER BY number DESC LIMIT 1");
    if (!last.step())
        return std::nullopt;
    return last.text(0);
}

bool Store::save_specification(std::string_view text, std::int64_t unix_time) {
    if (specification() == text)
        return false;
    Database::Transaction transaction(database_);
    Statement(database_, "INSERT INTO specifications (at, text) VALUES (?, ?)").execute(unix_time, text);
    audit("specification", std::to_string(text.size()) + " bytes", unix_time);
    transaction.commit();
    return true;
}

std::uint32_t Store::endpoint_id(std::string_view kind, std::string_view name) {
    const std::string key = std::string(kind) + ' ' + std::string(name);
    if (const auto known = ids_.find(key); known != ids_.end())
        return known->second;
    Statement insert(database_, "INSERT INTO endpoints (kind, name) VALUES (?, ?) RETURNING id");
    insert.bind(kind, name);
    insert.step();
    const auto id = static_cast<std::uint32_t>(insert.integer(0));
    insert.execute();
    ids_.emplace(key, id);
    return id;
}

void Store::save_pool_settings(std::span<const PoolSetting> settings) {
    Database::Transaction transaction(database_);
    database_.run("DELETE FROM pool_settings");
    Statement insert(
        database_,
        "INSERT INTO pool_settings (appliance, name, vnic, key, value, filed) VALUES (?, ?, ?, ?, ?, ?)");
    for (const PoolSetting& each : settings)
        insert.execute(each.appliance, each.name, each.is_vnic, each.key, each.value, each.configured);
    transaction.commit();
}

std::vector<PoolSetting> Store::pool_settings() {
    std::vector<PoolSetting> settings;
    Statement rows(database_, "SELECT appliance, name, vnic, key, value, filed FROM pool_settings");
    while (rows.step())
        settings.push_back({rows.text(0), rows.text(1), rows.integer(2) != 0, rows.text(3), rows.integer(4),
                            rows.integer(5)});
    return settings;
}

std::uint64_t Store::last_epoch() {
    return static_cast<std::uint64_t>(single("SELECT max(epoch) FROM epochs"));
}

std::uint64_t Store::begin_epoch(std::int64_t unix_time) {
    Database::Transaction transaction(database_);
    const auto epoch =
        std::max(static_cast<std::int64_t>(last_epoch()) + 1, std::max<std::int64_t>(unix_time, 1));
    Statement(database_, "INSERT INTO epochs (epoch, began) VALUES (?, ?)").execute(epoch, unix_time);
    audit("start", "epoch " + std::to_string(epoch), unix_time);
    transaction.commit();
    return static_cast<std::uint64_t>(epoch);
}

void Store::save_allocations(const std::map<std::string, StoredAllocation>& by_host) {
    Database::Transaction transaction(database_);
    Statement replace(
        database_,
        "INSERT INTO allocations (host, epoch, interval, flows) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (host) DO UPDATE SET epoch = excluded.epoch, interval = excluded.interval, "
        "flows = excluded.flows");
    Statement remove(database_, "DELETE FROM allocations WHERE host = ?");
    wire::Bytes bytes;
    for (const auto& [host, stored] : by_host) {
        if (stored.flows.empty()) {
            remove.execute(host);
            continue;
        }
        bytes.clear();
        for (const wire::FlowAllocation& flow : stored.flows)
            wire::encode(flow, bytes);
        replace.execute(host, stored.epoch, stored.interval, bytes);
    }
    transaction.commit();
}

std::map<std::string, StoredAllocation> Store::allocations() {
    std::map<std::string, StoredAllocation> by_host;
    Statement rows(database_, "SELECT host, epoch, interval, flows FROM allocations");
    while (rows.step()) {
        StoredAllocation stored;
        stored.epoch = static_cast<std::uint64_t>(rows.integer(1));
        stored.interval = static_cast<std::uint32_t>(rows.integer(2));
        (void)wire::decode(rows.bytes(3), stored.flows);
        by_host.emplace(rows.text(0), std::move(stored));
    }
    return by_host;
}

void Store::save_measured_use(const billing::UseTable::Uses& uses, std::size_t first, std::size_t step) {
    if (uses.size() <= first)
        return;
    Database::Transaction transaction(database_);
    Statement replace(database_,
                      "INSERT INTO use (vnic, bins) VALUES (?, ?) "
                      "ON CONFLICT (vnic) DO UPDATE SET bins = excluded.bins");
    std::size_t index = 0;
    for (const auto& [vnic, use] : uses) {
        if (index++ % step != first)
            continue;
        replace.execute(vnic, bytes_of(use));
    }
    transaction.commit();
}

billing::UseTable::Uses Store::measured_use() {
    billing::UseTable::Uses uses;
    Statement rows(database_, "SELECT vnic, bins FROM use");
    while (rows.step())
        if (const std::optional<MeasuredUse> use = use_of(rows.bytes(1)))
            uses.emplace(rows.text(0), *use);
    return uses;
}

void Store::audit(std::string_view kind, std::string_view text, std::int64_t unix_time) {
    Statement(database_, "INSERT INTO audit (at, kind, text) VALUES (?, ?, ?)")
        .execute(unix_time, kind, text);
}

std::vector<AuditEntry> Store::audit_tail(std::size_t count) {
    std::vector<AuditEntry> entries;
    Statement rows(database_, "SELECT number, at, kind, text FROM audit ORDER BY number DESC LIMIT ?");
    rows.bind(count);
    while (rows.step())
        entries.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3)});
    std::reverse(entries.begin(), entries.end());
    return entries;
}

}  // namespace weir
