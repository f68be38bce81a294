// bill_store.h - the bill: lines that are only appended, each with a hash over all lines before it.
// Source: SoftBW 4.2; docs/algorithms.md 6.3
// Units: Unix nanoseconds, bytes; money in the unit of p0. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ctrl/billing/bill.h"
#include "ctrl/store/database.h"

namespace weir {

/// The lines to add up: periods that began in [from, to).
struct BillSpan {
    std::string tenant{};  ///< empty = all tenants
    std::int64_t from = 0;
    std::int64_t to = INT64_MAX;
};

/// The periods of one vNIC with one kind of guarantee, added up.
struct BillSum {
    std::string tenant{};
    std::string vnic{};
    billing::GuaranteeKind guarantee = billing::GuaranteeKind::kBestEffort;
    std::uint64_t periods = 0;
    double seconds = 0;
    std::uint64_t delivered = 0;  ///< bytes
    double promised = 0;          ///< bytes: guaranteed rate times time
    double charge = 0;
    std::optional<double> fulfillment{};  ///< delivered / promised; none when nothing was promised
};

class BillStore {
  public:
    struct Appended {
        std::uint64_t added = 0;
        std::uint64_t repeated = 0;  ///< on the bill already: sent again because no BILLED arrived
        std::uint64_t refused = 0;   ///< end before they begin, or overlap the vNIC's last period
    };

    /// Makes its tables unless they exist. @param database outlives this
    explicit BillStore(Database& database);

    /// Adds the periods with their prices, in one transaction. @throws HostError; then none of them is added
    Appended append(std::span<const billing::Record> records, const billing::Prices& prices);
    /// Ordered by tenant, vNIC and guarantee.
    [[nodiscard]] std::vector<BillSum> sum(const BillSpan& span);
    /// Computes all hashes again. @return the number of the first line that was altered or removed
    [[nodiscard]] std::optional<std::int64_t> first_altered();
    /// Hash of the last line, hexadecimal. Lines that are removed at the end do not show in the chain itself,
    /// but in a hash that the operator noted before.
    [[nodiscard]] std::string head() const { return billing::to_hex(head_); }
    [[nodiscard]] std::int64_t lines() const { return lines_; }

  private:
    Database& database_;
    std::map<std::string, std::int64_t, std::less<>> last_ended_;  // by vNIC: end of its last period
    std::int64_t lines_ = 0;
    billing::Sha256 head_{};
};

}  // namespace weir
