// use_table.h - what each vNIC used of its promise, from what is billed; and how often links fail by that.
// Source: SoftBW 2.2. Units: bytes, bytes per second, Unix nanoseconds. Threads: one at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ctrl/billing/bill.h"
#include "ctrl/billing/measured_use.h"

namespace weir::billing {

/// Who shares a link, and what is reserved for it there.
struct Sharer {
    std::string_view vnic;
    double promised = 0;
};

class UseTable {
  public:
    using Uses = std::map<std::string, MeasuredUse, std::less<>>;
    /// What lasts longer says nothing of the seconds in it.
    static constexpr std::int64_t kPeriodMost = 2'000'000'000;
    /// A clock that was set may tell of years.
    static constexpr std::int64_t kIdleMost = 86'400'000'000'000;

    UseTable() = default;
    explicit UseTable(Uses measured) : uses_(std::move(measured)) {}

    /// A period. Periods in which nothing was sent are not on the bill: the time since the last one was idle.
    /// @param since from when on nothing that its host said was lost
    void add(const Record& record, std::int64_t since);
    [[nodiscard]] const Uses& all() const { return uses_; }

    /// How often those use more of their promises than there is. Who has not been measured for a day counts
    /// like the others on average. @param need what they need together, at most the sum of their promises
    /// @return nothing when nobody has been measured for a day
    [[nodiscard]] std::optional<double> failure(double need, double have,
                                                std::span<const Sharer> sharers) const;

  private:
    [[nodiscard]] const MeasuredUse& common() const;

    Uses uses_;
    std::map<std::string, std::int64_t, std::less<>> ended_;  // by vNIC: its last period
    mutable std::optional<MeasuredUse> common_;  // of all that were measured for a day; none: not added up
};

}  // namespace weir::billing
