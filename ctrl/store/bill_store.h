// bill_store.h - the bill: a folder with a file for each month, each line with a hash over all lines before.
// Source: SoftBW 4.2; docs/algorithms.md 6.3
// Units: Unix nanoseconds, Unix seconds where a name says so, bytes; money in the unit of p0.
// Threads: one at a time; bill_reader.h reads beside it.
//
// The month is that in which a line was written. When it is over, its file is sealed and the next one
// continues the chain. A period of November that came in December is in the file of December, and in the sums
// of its own day.
//
// After a failure nothing in memory is trusted: the next call reads the state from the file again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ctrl/billing/billed_time.h"
#include "ctrl/store/bill_file.h"

namespace weir {

class BillStore {
  public:
    /// As folder: the bill is in memory, for tests and simulations.
    static constexpr const char* kMemory = ":memory:";

    struct Appended {
        std::uint64_t added = 0;     ///< with those that were clipped
        std::uint64_t clipped = 0;   ///< of them, periods that overlapped others: the new part is on the bill
        std::uint64_t repeated = 0;  ///< on the bill already: sent again because no BILLED arrived
        std::uint64_t refused = 0;   ///< end before they begin
    };

    explicit BillStore(std::string folder) : folder_(std::move(folder)) {}

    /// Reads where the bill ends; a folder without files is the beginning. @throws HostError
    void open();
    /// Adds the periods of each list with their prices, all lists in one transaction.
    /// @throws HostError; then none of them is added
    std::vector<Appended> append(std::span<const std::span<const billing::Record>> lists,
                                 const billing::Prices& prices, std::int64_t unix_seconds);
    Appended append(std::span<const billing::Record> records, const billing::Prices& prices,
                    std::int64_t unix_seconds = 0);
    /// Takes over the lines of a store of version 1, in which they were a table. @return how many
    /// @throws HostError; the next call begins again
    std::int64_t take_over(Database& store);

    [[nodiscard]] const std::string& folder() const { return folder_; }
    /// The bill in memory, once it is open; null: it is in files.
    [[nodiscard]] Database* memory() {
        return folder_ == kMemory && current_ ? &current_->file.database() : nullptr;
    }
    /// Files of the folder in the order of their lines.
    [[nodiscard]] static std::vector<std::string> files_of(const std::string& folder);

  private:
    struct Vnic {
        billing::BilledTime time;
        std::string tenant{};
        std::int64_t id = 0;         // in the current file; 0: not known
        std::vector<DaySum> sums{};  // those that lines were added to lately
        std::int64_t changed = 0;    // number of the last line that is not in the stored sums; 0: none
    };
    struct Current {
        std::string month;
        BillFile file;
        BillChain chain{};
        bool is_sealed = false;
        std::unordered_map<std::string, Vnic> vnics{};
        std::vector<std::string> order{};  // of the vNICs whose sums are written in turn
        std::size_t turn = 0;
        std::int64_t round_began = 0;  // the chain's lines when the first of `order` had its turn
    };

    void load(const std::string& month, const BillBeginning& beginning);
    /// Opens the file of the month, which may be the first one or the next one.
    void prepare(std::int64_t unix_seconds);
    void rotate(const std::string& month);
    [[nodiscard]] std::string path_of(const std::string& month) const;
    Vnic& vnic_of(const billing::Record& record);
    Appended add(std::span<const billing::Record> records, const billing::Prices& prices);
    static DaySum& sum_of(Current& current, Vnic& vnic, const BillLine& line);
    void write_sums(std::size_t count);
    static void write_sums(Current& current, const std::string& name);

    std::string folder_;
    std::unique_ptr<Current> current_;
};

}  // namespace weir
