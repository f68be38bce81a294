// database.h - SQLite: statements and transactions that throw on failure and free themselves.
// Threads: one at a time.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class Database {
    using Prepared = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

  public:
    enum class Access : std::uint8_t {
        kExclusive,  ///< no other process, and no other Database, can open the file meanwhile
        kShared,     ///< others may read it
        kReadOnly,
    };

    /// Opens the file, and creates it unless it is to be read only.
    /// @throws HostError with the file, the fault and its remedy
    explicit Database(const std::string& path, Access access = Access::kExclusive);

    /// Reads the whole file. @throws HostError: it is damaged
    void check_integrity();
    /// The file's content as it is committed.
    [[nodiscard]] std::vector<std::uint8_t> image();
    /// Copies the committed content into a new file, while others write. @param stop ends it early
    /// @throws HostError; then, and when it was stopped, the new file is useless
    void copy_to(const std::string& path, const std::atomic<bool>& stop);

    /// Runs statements without results, separated by semicolons. @throws HostError
    void run(const char* sql);

    /// A prepared statement, which the database keeps for the next one of the same text. Every function
    /// throws HostError on failure.
    class Statement {
      public:
        Statement(Database& database, std::string sql);
        ~Statement();
        Statement(const Statement&) = delete;
        Statement& operator=(const Statement&) = delete;
        /// Sets the next parameters: integers, texts or bytes.
        template <typename... Values>
        void bind(const Values&... values) {
            (bind_next(values), ...);
        }
        /// @return whether there is another row
        bool step();
        /// Binds the values in order, steps to the end, and resets the statement for new parameters.
        template <typename... Values>
        void execute(const Values&... values) {
            bind(values...);
            finish();
        }
        /// Ends the rows before the last one, so that the statement may be bound again.
        void reset();
        [[nodiscard]] std::int64_t integer(int column) const;
        [[nodiscard]] double real(int column) const;
        [[nodiscard]] std::string text(int column) const;
        [[nodiscard]] std::vector<std::uint8_t> bytes(int column) const;

      private:
        void check(int result);
        void bind_next(std::integral auto value) {
            check(sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<std::int64_t>(value)));
        }
        void bind_next(double value);
        void bind_next(std::string_view text);
        void bind_next(std::span<const std::uint8_t> bytes);
        void finish();
        Database& database_;
        std::string sql_;
        Prepared statement_{nullptr, sqlite3_finalize};
        int bound_ = 0;
    };

    /// Rolls back when it goes out of scope without commit().
    class Transaction {
      public:
        explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
        ~Transaction();
        Transaction(const Transaction&) = delete;
        Transaction& operator=(const Transaction&) = delete;
        void commit();

      private:
        Database& database_;
        bool open_ = true;
    };

  private:
    [[noreturn]] void fail(int result) const;
    /// One that no Statement has; null = there is none.
    Prepared take(std::string_view sql);
    void keep(std::string sql, Prepared prepared);
    std::string path_;
    const char* damaged_;  // how to mend a damaged file
    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_{nullptr, sqlite3_close};
    std::multimap<std::string, Prepared, std::less<>> kept_{};  // statements by their text
};

}  // namespace weir
