// database.h - SQLite: statements and transactions that throw on failure and free themselves.
// Threads: one at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class Database {
  public:
    /// Opens or creates the file; no other process can open it meanwhile.
    /// @throws HostError naming the file, and what to do
    explicit Database(const std::string& path);

    /// Runs statements without results, separated by semicolons. @throws HostError
    void run(const char* sql);

    /// A prepared statement. Each bind() sets the next parameter. Every function throws HostError on failure.
    class Statement {
      public:
        Statement(Database& database, const char* sql);
        Statement& bind(std::int64_t value);
        Statement& bind(std::string_view text);
        Statement& bind(std::span<const std::uint8_t> bytes);
        /// @return whether there is another row
        bool step();
        /// Steps to the end, and resets the statement for new parameters.
        void execute();
        [[nodiscard]] std::int64_t integer(int column) const;
        [[nodiscard]] std::string text(int column) const;
        [[nodiscard]] std::vector<std::uint8_t> bytes(int column) const;

      private:
        struct Finalize {
            void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
        };
        void check(int result);
        Database& database_;
        std::unique_ptr<sqlite3_stmt, Finalize> statement_;
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
    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close(database); }
    };
    std::string path_;
    std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace weir
