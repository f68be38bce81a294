// database.cc - opening with full durability; statements, transactions, errors.
#include "ctrl/store/database.h"

#include <utility>

#include "common/error.h"

namespace weir {
namespace {

constexpr const char* kDamaged =
    "it is not a weir-ctrl store, or it is damaged: put a backup in its place (weirctl backup makes one), or "
    "move it away and start a new one by weir-ctrl --epoch-above N, where N is the epoch that `weirctl "
    "status` "
    "of a switch shows";

constexpr const char* kDamagedBill =
    "it is damaged: put a backup of it in its place (weirctl backup makes one), or move it away, and the "
    "bill "
    "goes on in a new file";

/// Time that a database that others may read waits for their locks.
constexpr int kBusyMillis = 2'000;
/// Pages that are copied between two looks at whether to stop.
constexpr int kPagesPerStep = 4'096;

}  // namespace

Database::Database(const std::string& path, Access access)
    : path_(path), damaged_(access == Access::kExclusive ? kDamaged : kDamagedBill) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(
        path.c_str(), &opened,
        SQLITE_OPEN_NOMUTEX |
            (access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE),
        nullptr);
    database_.reset(opened);
    if (result != SQLITE_OK)
        fail(result);
    if (access != Access::kExclusive)
        sqlite3_busy_timeout(opened, kBusyMillis);
    // Exclusive locking refuses a second controller at once, and needs no shared memory for WAL.
    if (access == Access::kExclusive)
        run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "PRAGMA foreign_keys = ON; BEGIN EXCLUSIVE; COMMIT;");
    if (access == Access::kShared)
        run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
}

void Database::fail(int result) const {
    const std::string why = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(result);
    std::string mend;
    switch (result & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            mend = "another weir-ctrl uses it: each controller needs a store of its own";
            break;
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
            mend = damaged_;
            break;
        case SQLITE_CANTOPEN:
            mend = "check that its folder exists and belongs to this user";
            break;
        case SQLITE_FULL:
            mend = "the disk is full";
            break;
        default:
            mend = "check that the file and its folder can be written";
    }
    throw HostError("store " + path_ + ": " + why + "; " + mend);
}

void Database::check_integrity() {
    Statement check(*this, "PRAGMA quick_check(1)");
    const std::string found = check.step() ? check.text(0) : "no answer";
    if (found != "ok")
        throw HostError("store " + path_ + ": " + found + "; " + damaged_);
}

std::vector<std::uint8_t> Database::image() {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
        sqlite3_serialize(database_.get(), "main", &size, 0), sqlite3_free);
    if (!bytes)
        fail(SQLITE_NOMEM);
    return {bytes.get(), bytes.get() + size};
}

void Database::copy_to(const std::string& path, const std::atomic<bool>& stop) {
    Database copy(path, Access::kShared);
    // One reading transaction: else each commit of a writer would begin the copy anew.
    run("BEGIN; SELECT count(*) FROM sqlite_schema;");
    sqlite3_backup* const backup = sqlite3_backup_init(copy.database_.get(), "main", database_.get(), "main");
    if (backup == nullptr)
        copy.fail(sqlite3_errcode(copy.database_.get()));
    int result = SQLITE_OK;
    while (result == SQLITE_OK && !stop.load(std::memory_order_relaxed))
        result = sqlite3_backup_step(backup, kPagesPerStep);
    const int finished = sqlite3_backup_finish(backup);
    run("COMMIT");
    if (finished != SQLITE_OK)
        copy.fail(finished);
    copy.run("PRAGMA journal_mode = DELETE");
}

void Database::run(const char* sql) {
    const int result = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK)
        fail(result);
}

Database::Prepared Database::take(std::string_view sql) {
    const auto found = kept_.find(sql);
    if (found == kept_.end())
        return {nullptr, sqlite3_finalize};
    Prepared prepared = std::move(found->second);
    kept_.erase(found);
    return prepared;
}

void Database::keep(std::string sql, Prepared prepared) {
    sqlite3_reset(prepared.get());
    sqlite3_clear_bindings(prepared.get());
    kept_.emplace(std::move(sql), std::move(prepared));
}

Database::Statement::Statement(Database& database, std::string sql)
    : database_(database), sql_(std::move(sql)), statement_(database.take(sql_)) {
    if (statement_)
        return;
    sqlite3_stmt* prepared = nullptr;
    check(sqlite3_prepare_v3(database.database_.get(), sql_.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &prepared,
                             nullptr));
    statement_.reset(prepared);
}

Database::Statement::~Statement() {
    if (statement_)
        database_.keep(std::move(sql_), std::move(statement_));
}

void Database::Statement::check(int result) {
    if (result != SQLITE_OK)
        database_.fail(result);
}

void Database::Statement::bind_next(double value) {
    check(sqlite3_bind_double(statement_.get(), ++bound_, value));
}

void Database::Statement::bind_next(std::string_view text) {
    check(sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
}

void Database::Statement::bind_next(std::span<const std::uint8_t> bytes) {
    // SQLite takes a null pointer for NULL, not for an empty blob.
    check(sqlite3_bind_blob64(statement_.get(), ++bound_,
                              bytes.empty() ? "" : static_cast<const void*>(bytes.data()), bytes.size(),
                              SQLITE_TRANSIENT));
}

bool Database::Statement::step() {
    const int result = sqlite3_step(statement_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        database_.fail(result);
    return result == SQLITE_ROW;
}

void Database::Statement::reset() {
    check(sqlite3_reset(statement_.get()));
    bound_ = 0;
}

void Database::Statement::finish() {
    while (step()) {
    }
    reset();
}

std::int64_t Database::Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

double Database::Statement::real(int column) const {
    return sqlite3_column_double(statement_.get(), column);
}

std::string Database::Statement::text(int column) const {
    const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return begin == nullptr
               ? std::string()
               : std::string(begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::vector<std::uint8_t> Database::Statement::bytes(int column) const {
    const auto* begin = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    return begin == nullptr ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(begin, begin + size);
}

Database::Transaction::~Transaction() {
    if (!open_)
        return;
    try {
        database_.run("ROLLBACK");
    } catch (...) {  // after some errors SQLite has rolled back already
    }
}

void Database::Transaction::commit() {
    database_.run("COMMIT");
    open_ = false;
}

}  // namespace weir
