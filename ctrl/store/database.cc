// database.cc - opening with full durability; statements, transactions, errors.
#include "ctrl/store/database.h"

#include "common/error.h"

namespace weir {

Database::Database(const std::string& path) : path_(path) {
    sqlite3* opened = nullptr;
    const int result =
        sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    database_.reset(opened);
    if (result != SQLITE_OK)
        fail(result);
    // Exclusive locking refuses a second controller at once, and needs no shared memory for WAL.
    run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "PRAGMA foreign_keys = ON; BEGIN EXCLUSIVE; COMMIT;");
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
            mend =
                "it is not a weir-ctrl store, or it is damaged: move it away, and the controller makes a new "
                "one";
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

void Database::run(const char* sql) {
    const int result = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK)
        fail(result);
}

Database::Statement::Statement(Database& database, const char* sql) : database_(database) {
    sqlite3_stmt* prepared = nullptr;
    check(sqlite3_prepare_v2(database.database_.get(), sql, -1, &prepared, nullptr));
    statement_.reset(prepared);
}

void Database::Statement::check(int result) {
    if (result != SQLITE_OK)
        database_.fail(result);
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

void Database::Statement::finish() {
    while (step()) {
    }
    check(sqlite3_reset(statement_.get()));
    bound_ = 0;
}

std::int64_t Database::Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
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
