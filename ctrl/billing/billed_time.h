// billed_time.h - the time of one vNIC that its bill has: each instant once, in any order of the periods.
// Source: docs/algorithms.md 6.3
// Units: Unix nanoseconds. Threads: any (values).
//
// Periods of [0, 10) and [20, 30) are on the bill. A third one of [5, 15) overlaps: [10, 15) of it is new.
// One of [12, 18) came late, from the host that had the vNIC before, and all of it is new. One of [20, 30) is
// there already.
//
// The last spans are known one by one; time before the oldest of them counts as billed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::billing {

class BilledTime {
  public:
    /// Spans that are known one by one; periods without a gap between them are one span.
    static constexpr std::size_t kSpansMax = 8;

    struct Span {
        std::int64_t began = 0;
        std::int64_t ended = 0;
        bool operator==(const Span&) const = default;
    };

    /// @param through all time before it counts as billed
    explicit BilledTime(std::int64_t through = INT64_MIN) : through_(through) {}
    /// As it was: through() and spans(). Spans that are not in order, or overlap, are added one by one.
    BilledTime(std::int64_t through, const std::vector<Span>& spans);

    /// The longest part of the span that is not billed; nothing: all of it is.
    [[nodiscard]] std::optional<Span> unbilled_part(Span span) const;
    /// @param span not billed so far
    void add(Span span);
    /// All time before it counts as billed.
    [[nodiscard]] std::int64_t through() const { return through_; }
    [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
    /// End of the last span.
    [[nodiscard]] std::int64_t ended() const { return spans_.empty() ? through_ : spans_.back().ended; }

  private:
    std::int64_t through_;
    std::vector<Span> spans_;  // ordered, with gaps between them
};

}  // namespace weir::billing
