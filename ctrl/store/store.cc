// store.cc - opening the file; specification, endpoint ids, epochs; changes and their reading.
#include "ctrl/store/store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <unordered_set>

#include "common/byte_order.h"
#include "common/error.h"

namespace weir {
namespace {

using Statement = Database::Statement;
using billing::MeasuredUse;

constexpr std::int64_t kVersion = 4;
/// Those of version 1.
constexpr const char* kTables = R"(
    CREATE TABLE epochs (epoch INTEGER PRIMARY KEY, began INTEGER NOT NULL);
    CREATE TABLE specifications (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL);
    CREATE TABLE endpoints (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
    CREATE TABLE allocations (host TEXT PRIMARY KEY, epoch INTEGER NOT NULL, interval INTEGER NOT NULL,
                              flows BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE audit (number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
                        text TEXT NOT NULL);
)";
/// Tables that stores of version 1 may lack. `filed` is PoolSetting::configured.
constexpr const char* kLaterTables = R"(
    CREATE TABLE IF NOT EXISTS pool_settings (appliance TEXT NOT NULL, name TEXT NOT NULL, vnic INTEGER NOT NULL,
        key TEXT NOT NULL, value INTEGER NOT NULL, filed INTEGER NOT NULL,
        PRIMARY KEY (appliance, name, vnic, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS use (vnic TEXT PRIMARY KEY, bins BLOB NOT NULL) WITHOUT ROWID;
)";
constexpr const char* kVersion2 = R"(
    ALTER TABLE allocations ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE removed_vnics (name TEXT PRIMARY KEY, tenant TEXT NOT NULL, reservation INTEGER NOT NULL,
        at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)";
constexpr const char* kVersion3 = R"(
    ALTER TABLE specifications ADD COLUMN author TEXT NOT NULL DEFAULT '';
    ALTER TABLE removed_vnics RENAME TO removed_before;
    CREATE TABLE removed_vnics (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL,
        reservation INTEGER NOT NULL, at INTEGER NOT NULL);
    INSERT INTO removed_vnics SELECT endpoints.id, removed_before.name, tenant, reservation, at
        FROM removed_before JOIN endpoints ON kind = 'vnic' AND endpoints.name = removed_before.name;
    DROP TABLE removed_before;
)";
constexpr const char* kVersion4 = R"(
    ALTER TABLE audit ADD COLUMN peer TEXT NOT NULL DEFAULT '';
    ALTER TABLE audit ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE audit ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX audit_peers ON audit (number) WHERE peer <> '';
    CREATE TABLE audit_values (number INTEGER PRIMARY KEY, list TEXT NOT NULL);
    PRAGMA user_version = 4;
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

Store::Store(const std::string& path, const StoreTerms& terms)
    : path_(path), database_(path), epoch_above_(terms.epoch_above), bill_(bill_folder(path)) {
    refuse_lost(terms);
    make_tables();
    claim(terms);
    taken_over_ = bill_.store().take_over(database_);
    bill_.open();
    Statement endpoints(database_, "SELECT id, kind, name FROM endpoints");
    while (endpoints.step()) {
        const auto id = static_cast<std::uint32_t>(endpoints.integer(0));
        ids_.emplace(endpoints.text(1) + ' ' + endpoints.text(2), id);
        next_id_ = std::max(next_id_, id + 1);
    }
}

std::string Store::bill_folder(const std::string& path) {
    return path == BillStore::kMemory ? path : path + "-bill";
}

/// A bill without its store means that epochs and ids were lost: switches would ignore a controller whose
/// epochs begin anew under an earlier clock.
void Store::refuse_lost(const StoreTerms& terms) {
    const std::string folder = bill_folder(path_);
    if (single("PRAGMA user_version") != 0 || terms.epoch_above != 0 || BillStore::files_of(folder).empty())
        return;
    throw HostError(
        "store " + path_ + " is empty, and its bill, " + folder +
        ", is not: put a backup of the store in its place, or start with --epoch-above N, where N is "
        "the epoch that `weirctl status` of a switch shows");
}

void Store::make_tables() {
    const std::int64_t version = single("PRAGMA user_version");
    if (version > kVersion)
        throw HostError("store " + path_ + " is of version " + std::to_string(version) +
                        ", this controller knows " + std::to_string(kVersion) +
                        "; use the later weir-ctrl, or another \"store\"");
    database_.check_integrity();
    if (version == kVersion)
        return;
    Database::Transaction transaction(database_);
    if (version == 0)
        database_.run(kTables);
    database_.run(kLaterTables);
    if (version < 2)
        database_.run(kVersion2);
    if (version < 3)
        database_.run(kVersion3);
    database_.run(kVersion4);
    transaction.commit();
}

/// The store of another cluster has other ids, epochs and bills, which its switches rely on.
void Store::claim(const StoreTerms& terms) {
    if (terms.cluster.empty())
        return;
    Statement named(database_, "SELECT value FROM facts WHERE key = 'cluster'");
    const std::string owner = named.step() ? named.text(0) : "";
    if (owner == terms.cluster)
        return;
    if (!owner.empty() && owner != terms.renamed_from)
        throw HostError("store " + path_ + " is of the cluster \"" + owner +
                        "\", the cluster file's name is \"" + terms.cluster +
                        "\"; name another \"store\", or, if the cluster was renamed, start with " +
                        "--renamed-from " + owner);
    named.reset();
    Statement(database_,
              "INSERT INTO facts (key, value) VALUES ('cluster', ?) "
              "ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        .execute(terms.cluster);
}

std::int64_t Store::single(const char* sql) {
    Statement statement(database_, sql);
    return statement.step() ? statement.integer(0) : 0;
}

std::optional<std::string> Store::specification(std::int64_t number) {
    const Lock lock = lock_file();
    Statement text(database_,
                   "SELECT text FROM specifications WHERE ? IN (0, number) ORDER BY number DESC LIMIT 1");
    text.bind(number);
    if (!text.step())
        return std::nullopt;
    return text.text(0);
}

std::int64_t Store::revision() {
    const Lock lock = lock_file();
    return single("SELECT max(number) FROM specifications");
}

std::vector<Revision> Store::revisions(std::size_t count) {
    const Lock lock = lock_file();
    std::vector<Revision> revisions;
    Statement rows(database_,
                   "SELECT number, at, length(CAST(text AS BLOB)), author FROM specifications "
                   "ORDER BY number DESC LIMIT ?");
    rows.bind(count);
    while (rows.step())
        revisions.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.text(3)});
    std::reverse(revisions.begin(), revisions.end());
    return revisions;
}

std::int64_t Store::add_revision(const NewRevision& revision, std::int64_t unix_time) {
    const Lock lock = lock_file();
    Database::Transaction transaction(database_);
    const std::int64_t number = this->revision() + 1;
    Statement(database_, "INSERT INTO specifications (number, at, text, author) VALUES (?, ?, ?, ?)")
        .execute(number, unix_time, revision.text, revision.author);
    remove_old_revisions(number);
    write_endpoints(revision.ends);
    write_removed_vnics(revision.removed);
    const AuditEntry entry{.unix_time = unix_time,
                           .kind = "specification",
                           .text = "revision " + std::to_string(number) + ", " +
                                   std::to_string(revision.text.size()) + " bytes" +
                                   (revision.via.empty() ? "" : ", by `" + revision.via + '`'),
                           .peer = revision.author,
                           .revision = number,
                           .values = revision.values,
                           .values_in_all = revision.values_in_all};
    write_audit({&entry, 1});
    transaction.commit();
    note_endpoints(revision.ends);
    return number;
}

/// A retired row keeps its id, under a name that no vNIC can have.
void Store::write_endpoints(const EndpointChanges& ends) {
    Statement retire(database_, "UPDATE endpoints SET name = name || char(10) || id WHERE id = ?");
    for (const std::uint32_t id : ends.retired)
        retire.execute(id);
    Statement insert(database_, "INSERT INTO endpoints (id, kind, name) VALUES (?, ?, ?)");
    for (const EndpointChanges::Added& each : ends.added)
        insert.execute(each.id, each.kind, each.name);
}

void Store::note_endpoints(const EndpointChanges& ends) {
    // One pass: this is on the controller's loop, and a rename of a large tenant retires thousands.
    const std::unordered_set<std::uint32_t> retired(ends.retired.begin(), ends.retired.end());
    if (!retired.empty())
        std::erase_if(ids_, [&retired](const auto& each) { return retired.contains(each.second); });
    for (const EndpointChanges::Added& each : ends.added) {
        ids_[each.kind + ' ' + each.name] = each.id;
        next_id_ = std::max(next_id_, each.id + 1);
    }
}

void Store::remove_old_revisions(std::int64_t last) {
    Statement rows(database_,
                   "SELECT number, length(CAST(text AS BLOB)) FROM specifications ORDER BY number DESC");
    std::int64_t bytes = 0;
    std::int64_t oldest = last;
    while (rows.step() && rows.integer(0) > last - kRevisionsMax) {
        bytes += rows.integer(1);
        if (bytes > kRevisionBytesMax && rows.integer(0) != last)
            break;
        oldest = rows.integer(0);
    }
    rows.reset();
    Statement(database_, "DELETE FROM specifications WHERE number < ?").execute(oldest);
}

void Store::write_removed_vnics(std::span<const RemovedVnic> vnics) {
    database_.run("DELETE FROM removed_vnics");
    Statement insert(database_,
                     "INSERT INTO removed_vnics (id, name, tenant, reservation, at) VALUES (?, ?, ?, ?, ?)");
    for (const RemovedVnic& vnic : vnics)
        insert.execute(vnic.id, vnic.name, vnic.tenant, vnic.reservation_bps, vnic.unix_time);
}

std::vector<RemovedVnic> Store::removed_vnics() {
    const Lock lock = lock_file();
    std::vector<RemovedVnic> vnics;
    Statement rows(database_,
                   "SELECT id, name, tenant, reservation, at FROM removed_vnics ORDER BY name, id");
    while (rows.step())
        vnics.push_back({static_cast<std::uint32_t>(rows.integer(0)), rows.text(1), rows.text(2),
                         static_cast<std::uint64_t>(rows.integer(3)), rows.integer(4)});
    return vnics;
}

void Store::add_endpoints(std::span<const Name> names) {
    const Lock lock = lock_file();
    std::map<std::string, std::uint32_t, std::less<>> added;
    Database::Transaction transaction(database_);
    Statement insert(database_, "INSERT INTO endpoints (kind, name) VALUES (?, ?) RETURNING id");
    for (const auto& [kind, name] : names) {
        std::string key = std::string(kind) + ' ' + std::string(name);
        if (ids_.contains(key) || added.contains(key))
            continue;
        insert.bind(kind, name);
        insert.step();
        added.emplace(std::move(key), static_cast<std::uint32_t>(insert.integer(0)));
        insert.execute();
    }
    transaction.commit();
    for (const auto& [name, id] : added)
        next_id_ = std::max(next_id_, id + 1);
    ids_.merge(added);
}

std::uint32_t Store::endpoint_id(std::string_view kind, std::string_view name) {
    const Lock lock = lock_file();
    const std::string key = std::string(kind) + ' ' + std::string(name);
    auto known = ids_.find(key);
    if (known == ids_.end()) {
        add_endpoints(std::array{Name{kind, name}});
        known = ids_.find(key);
    }
    return known->second;
}

std::optional<std::uint32_t> Store::find_endpoint(std::string_view kind, std::string_view name) const {
    const auto known = ids_.find(std::string(kind) + ' ' + std::string(name));
    return known == ids_.end() ? std::nullopt : std::optional(known->second);
}

Store::Lock Store::lock_file() {
    constexpr std::chrono::milliseconds kPatience{100};
    Lock lock(mutex_, kPatience);
    if (!lock.owns_lock()) {
        const auto since = std::chrono::nanoseconds(writing_since_.load());
        const auto waited = std::chrono::steady_clock::now().time_since_epoch() - since;
        throw HostError("store " + path_ + ": the disk has not answered for " +
                        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
                        " s; look at it, and ask again");
    }
    return lock;
}

std::vector<std::uint8_t> Store::image() {
    const Lock lock = lock_file();
    return database_.image();
}

void Store::spoil(const char* sql) {
    const Lock lock = lock_file();
    database_.run(sql);
}

void Store::write(const StoreChanges& changes) {
    const std::lock_guard lock(mutex_);
    writing_since_ = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    Database::Transaction transaction(database_);
    if (changes.pool_settings)
        write_pool_settings(*changes.pool_settings);
    write_allocations(changes.allocations);
    write_use(changes.use);
    write_audit(changes.audit);
    transaction.commit();
}

void Store::write_pool_settings(std::span<const PoolSetting> settings) {
    database_.run("DELETE FROM pool_settings");
    Statement insert(
        database_,
        "INSERT INTO pool_settings (appliance, name, vnic, key, value, filed) VALUES (?, ?, ?, ?, ?, ?)");
    for (const PoolSetting& each : settings)
        insert.execute(each.appliance, each.name, each.is_vnic, each.key, each.value, each.configured);
}

std::vector<PoolSetting> Store::pool_settings() {
    const Lock lock = lock_file();
    std::vector<PoolSetting> settings;
    Statement rows(database_, "SELECT appliance, name, vnic, key, value, filed FROM pool_settings");
    while (rows.step())
        settings.push_back({rows.text(0), rows.text(1), rows.integer(2) != 0, rows.text(3), rows.integer(4),
                            rows.integer(5)});
    return settings;
}

std::uint64_t Store::last_epoch() {
    const Lock lock = lock_file();
    return static_cast<std::uint64_t>(single("SELECT max(epoch) FROM epochs"));
}

std::uint64_t Store::begin_epoch(std::int64_t unix_time) {
    const Lock lock = lock_file();
    Database::Transaction transaction(database_);
    const auto epoch = std::max({static_cast<std::int64_t>(last_epoch()) + 1,
                                 static_cast<std::int64_t>(epoch_above_) + 1, unix_time, std::int64_t{1}});
    Statement(database_, "INSERT INTO epochs (epoch, began) VALUES (?, ?)").execute(epoch, unix_time);
    const AuditEntry entry{.unix_time = unix_time, .kind = "start", .text = "epoch " + std::to_string(epoch)};
    write_audit({&entry, 1});
    transaction.commit();
    return static_cast<std::uint64_t>(epoch);
}

void Store::write_allocations(const std::map<std::string, StoredAllocation>& by_host) {
    if (by_host.empty())
        return;
    Statement replace(
        database_,
        "INSERT INTO allocations (host, epoch, interval, flows, at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (host) DO UPDATE SET epoch = excluded.epoch, interval = excluded.interval, "
        "flows = excluded.flows, at = excluded.at");
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
        replace.execute(host, stored.epoch, stored.interval, bytes, stored.unix_time);
    }
}

std::map<std::string, StoredAllocation> Store::allocations() {
    const Lock lock = lock_file();
    std::map<std::string, StoredAllocation> by_host;
    Statement rows(database_, "SELECT host, epoch, interval, flows, at FROM allocations");
    while (rows.step()) {
        StoredAllocation stored;
        stored.epoch = static_cast<std::uint64_t>(rows.integer(1));
        stored.interval = static_cast<std::uint32_t>(rows.integer(2));
        (void)wire::decode(rows.bytes(3), stored.flows);
        stored.unix_time = rows.integer(4);
        by_host.emplace(rows.text(0), std::move(stored));
    }
    return by_host;
}

void Store::write_use(const billing::UseTable::Uses& uses) {
    if (uses.empty())
        return;
    Statement replace(database_,
                      "INSERT INTO use (vnic, bins) VALUES (?, ?) "
                      "ON CONFLICT (vnic) DO UPDATE SET bins = excluded.bins");
    for (const auto& [vnic, use] : uses)
        replace.execute(vnic, bytes_of(use));
}

billing::UseTable::Uses Store::measured_use() {
    const Lock lock = lock_file();
    billing::UseTable::Uses uses;
    Statement rows(database_, "SELECT vnic, bins FROM use");
    while (rows.step())
        if (const std::optional<MeasuredUse> use = use_of(rows.bytes(1)))
            uses.emplace(rows.text(0), *use);
    return uses;
}

void Store::write_audit(std::span<const AuditEntry> entries) {
    if (entries.empty())
        return;
    Statement insert(database_,
                     "INSERT INTO audit (at, kind, text, peer, revision, changed) VALUES (?, ?, ?, ?, ?, ?)");
    Statement values(database_,
                     "INSERT INTO audit_values (number, list) VALUES ((SELECT max(number) FROM audit), ?)");
    bool has_values = false;
    for (const AuditEntry& entry : entries) {
        insert.execute(entry.unix_time, entry.kind, entry.text, entry.peer, entry.revision,
                       entry.values_in_all);
        if (entry.values.empty())
            continue;
        values.execute(entry.values);
        has_values = true;
    }
    Statement last(database_, "SELECT max(number) FROM audit");
    const std::int64_t newest = last.step() ? last.integer(0) : 0;
    Statement(database_,
              "DELETE FROM audit WHERE number <= ? AND "
              "(kind NOT IN ('start', 'specification', 'pool', 'backup') OR number <= ?)")
        .execute(newest - kAuditMax, newest - kAuditChangesMax);
    if (has_values)
        Statement(database_,
                  "DELETE FROM audit_values WHERE number <= "
                  "(SELECT number FROM audit_values ORDER BY number DESC LIMIT 1 OFFSET ?)")
            .execute(kAuditValuesMax);
}

std::vector<AuditEntry> Store::audit_tail(std::size_t count, bool with_peer) {
    const Lock lock = lock_file();
    std::vector<AuditEntry> entries;
    Statement rows(database_,
                   "SELECT audit.number, at, kind, text, peer, revision, changed, list FROM audit "
                   "LEFT JOIN audit_values ON audit_values.number = audit.number "
                   "WHERE peer <> '' OR NOT ? ORDER BY audit.number DESC LIMIT ?");
    rows.bind(with_peer, count);
    while (rows.step())
        entries.push_back({.number = rows.integer(0),
                           .unix_time = rows.integer(1),
                           .kind = rows.text(2),
                           .text = rows.text(3),
                           .peer = rows.text(4),
                           .revision = rows.integer(5),
                           .values = rows.text(7),
                           .values_in_all = static_cast<std::size_t>(rows.integer(6))});
    std::reverse(entries.begin(), entries.end());
    return entries;
}

void Store::set_pages_max(std::uint32_t pages) {
    const Lock lock = lock_file();
    database_.run(("PRAGMA max_page_count = " + std::to_string(pages)).c_str());
}

}  // namespace weir
