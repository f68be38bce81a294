// bill_file.h - one file of the bill: lines that are only appended, and their sums by vNIC and day.
// Source: SoftBW 4.2; docs/algorithms.md 6.3
// Units: Unix nanoseconds, bytes; money in the unit of p0. Threads: one at a time.
//
// A file continues the chain of hashes of the file before it. Sums are written later than their lines, a part
// of them with each transaction; the number of the last line that a sum has is stored with it. A reader
// adds the lines after that one to the stored sum, so that sums are exact at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ctrl/billing/bill.h"
#include "ctrl/billing/billed_time.h"
#include "ctrl/store/database.h"

namespace weir {

/// Where a chain of lines ends.
struct BillChain {
    std::int64_t lines = 0;
    billing::Sha256 head{};  ///< hash of the last one
    bool operator==(const BillChain&) const = default;
};

/// The chain, and the vNICs' last periods, that a new file continues.
struct BillBeginning {
    BillChain chain{};
    std::map<std::string, billing::BilledTime> billed{};  ///< by vNIC
};

struct BillLine {
    std::int64_t number = 0;
    std::int64_t vnic_id = 0;  ///< in its file
    billing::Record record{};
    double charge = 0;
    billing::Sha256 hash{};
};

/// The periods of one vNIC of one tenant, with one kind of guarantee, that began in one day (UTC).
struct DaySum {
    std::int64_t vnic_id = 0;
    billing::GuaranteeKind guarantee = billing::GuaranteeKind::kBestEffort;
    std::int64_t day = 0;  ///< since 1970
    std::int64_t periods = 0;
    std::int64_t nanos = 0;
    std::int64_t delivered = 0;  ///< bytes
    double promised = 0;         ///< bytes: guaranteed rate times time
    double charge = 0;
    std::int64_t through = 0;  ///< number of the last line that is in the sum

    void add(const BillLine& line);
};

inline constexpr std::int64_t kBillDay = 86'400'000'000'000;

class BillFile {
  public:
    /// Files up to this size are read as a whole when they are opened, which takes half a second.
    static constexpr std::uint64_t kCheckedBytes = 256ULL << 20;

    /// Opens the file, or makes it. @param beginning of a new file
    /// @throws HostError, as all functions do
    BillFile(const std::string& path, const BillBeginning& beginning);
    BillFile(const BillFile&) = delete;
    BillFile& operator=(const BillFile&) = delete;

    /// Whether the file has its tables; it does not when the machine failed while it was made.
    [[nodiscard]] static bool is_begun(const std::string& path);

    [[nodiscard]] const BillChain& before() const { return before_; }
    /// With the lines of this file.
    [[nodiscard]] BillChain chain();
    [[nodiscard]] bool is_sealed();
    [[nodiscard]] Database& database() { return database_; }

    // Writing, in a transaction of the caller.

    [[nodiscard]] std::int64_t vnic_id(const std::string& vnic, const std::string& tenant);
    void add_line(const BillLine& line);
    /// States the numbers and times of one transaction's lines, so that a part of a day is found without an
    /// index.
    void add_batch(std::int64_t first, std::int64_t last, std::int64_t began, std::int64_t ended);
    [[nodiscard]] std::optional<DaySum> sum(std::int64_t vnic_id, billing::GuaranteeKind guarantee,
                                            std::int64_t day);
    void save_sum(const DaySum& sum);
    /// A controller that begins again knows the time between the vNIC's last periods that is not billed yet.
    void save_billed(const std::string& vnic, const billing::BilledTime& billed);
    /// All sums have the lines up to this one.
    void set_summed(std::int64_t line);
    /// No line can be added any more.
    void seal();

    [[nodiscard]] std::map<std::string, billing::BilledTime> billed();
    [[nodiscard]] std::int64_t summed();

  private:
    Database database_;
    BillChain before_;
    std::optional<Database::Statement> add_line_;
    std::optional<Database::Statement> find_sum_;
    std::optional<Database::Statement> save_sum_;
    std::optional<Database::Statement> save_billed_;
};

/// Calls `use` for the lines with a number in [first, last], in their order, until it returns false.
void for_bill_lines(Database& database, std::int64_t first, std::int64_t last,
                    const std::function<bool(const BillLine&)>& use);
/// The value of a fact, 0 when the file does not state it.
[[nodiscard]] std::int64_t bill_fact(Database& database, const char* key);
[[nodiscard]] BillChain bill_chain_before(Database& database);

}  // namespace weir
