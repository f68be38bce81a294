// store.cc - opening the file; specification, endpoint ids, pool settings.
#include "ctrl/store/store.h"

#include "common/error.h"

namespace weir {
namespace {

using Statement = Database::Statement;

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

}  // namespace

Store::Store(const std::string& path) : database_(path) {
    make_tables();
    bill_.emplace(database_);
    Statement trim(database_, "DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?");
    trim.bind(kAuditMax).execute();
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
    Statement(database_, "INSERT INTO specifications (at, text) VALUES (?, ?)")
        .bind(unix_time)
        .bind(text)
        .execute();
    audit("specification", std::to_string(text.size()) + " bytes", unix_time);
    transaction.commit();
    return true;
}

std::uint32_t Store::endpoint_id(std::string_view kind, std::string_view name) {
    const std::string key = std::string(kind) + ' ' + std::string(name);
    if (const auto known = ids_.find(key); known != ids_.end())
        return known->second;
    Statement insert(database_, "INSERT INTO endpoints (kind, name) VALUES (?, ?) RETURNING id");
    insert.bind(kind).bind(name);
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
        insert.bind(each.appliance)
            .bind(each.name)
            .bind(std::int64_t{each.is_vnic})
            .bind(each.key)
            .bind(each.value)
            .bind(each.configured)
            .execute();
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

}  // namespace weir
