// bill_store.h - the bill in the controller's store: lines are appended, all of a call or none, and never
// changed. Source: SoftBW 4.2; design section 7. Units: Unix nanoseconds, bytes. Threads: one at a time.
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

/// What was asked of a bill: periods that began in a span of time.
struct BillSpan {
    std::string tenant{};         ///< empty: all
    std::int64_t from = 0;        ///< the first moment, Unix nanoseconds
    std::int64_t to = INT64_MAX;  ///< the first moment after it
};

/// A vNIC's periods under one kind of guarantee.
struct BillSum {
    std::string tenant{};
    std::string vnic{};
    billing::GuaranteeKind guarantee = billing::GuaranteeKind::kBestEffort;
    std::uint64_t periods = 0;
    double seconds = 0;
    std::uint64_t delivered = 0;  ///< bytes
    double promised = 0;          ///< bytes, of these periods
    double charge = 0;
    std::optional<double> fulfillment{};  ///< none where nothing was promised
};

class BillStore {
  public:
    struct Appended {
        std::uint64_t taken = 0;
        std::uint64_t repeated = 0;  ///< were there already: harmless
        std::uint64_t refused = 0;   ///< run backwards, or over what is there
    };

    /// Makes its tables, if they are not there. @param database outlives this
    explicit BillStore(Database& database);

    /// On disk when it returns. @throws HostError; then none of them is
    Appended append(std::span<const billing::Record> records, const billing::Prices& prices);
    /// By tenant, vNIC and guarantee.
    [[nodiscard]] std::vector<BillSum> sum(const BillSpan& span);
    /// Walks through all of it. @return the number of the first line that is not what it was, or is missing
    [[nodiscard]] std::optional<std::int64_t> first_altered();
    /// Of the last line: who noted it can tell later whether lines were taken off the end.
    [[nodiscard]] std::string head() const { return to_hex(head_); }
    [[nodiscard]] std::int64_t lines() const { return lines_; }

  private:
    Database& database_;
    std::map<std::string, std::int64_t, std::less<>> ended_;  // by vNIC: the end of its last period
    std::int64_t lines_ = 0;
    Sha256 head_{};
};

}  // namespace weir
