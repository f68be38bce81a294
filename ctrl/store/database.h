// database.h - SQLite with exceptions and values that cannot leak. Threads: one at a time.
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
    /// Opens or creates the file for this process alone. @throws HostError naming the file and the mend
    explicit Database(const std::string& path);

    /// Statements without results, separated by semicolons. @throws HostError
    void run(const char* sql);

    class Statement {
      public:
        Statement(Database& database, const char* sql);
        Statement& bind(std::int64_t value);
        Statement& bind(std::string_view text);
        Statement& bind(std::span<const std::uint8_t> bytes);
        /// @return whether there is a row
        bool step();
        /// Steps through and makes it ready for other values.
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

    /// All or nothing: rolls back unless commit() was reached.
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
