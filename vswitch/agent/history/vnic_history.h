// vnic_history.h - rate, burst, queue delay, held-back time and drops of one vNIC: each millisecond of the
// last ten seconds, each second of the last hour.
// Source: docs/design.md 5. Units: bytes as accounted, packets, ns. Threads: one (agent).
//
// Samples are counters; a record has their growth from the sample before. Where samples come late, a record
// covers more time and states so: nothing is invented between two samples. Example: samples at 1, 2 and 5 ms
// are records of 1 ms and of 3 ms; the burst of the latter is a third of its bytes, the mean per millisecond.
//
// A second ends with the first sample beyond a whole second of Unix time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "vswitch/agent/history/sample_ring.h"
#include "vswitch/base/vnic_sample.h"

namespace weir {

/// The time from one sample to a later one.
struct HistoryRecord {
    Nanos from = 0;
    Nanos until = 0;
    std::uint32_t samples = 0;  ///< that end in it; (until - from) / samples is the resolution
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_burst = 0;      ///< most bytes of one sample, of a longer one per millisecond
    std::uint64_t received_burst = 0;  ///< likewise
    Nanos queue_delay = 0;             ///< longest, of packets that waited; 4.29 s at most
    std::uint64_t dropped = 0;
    std::array<Nanos, kHoldReasons> held{};  ///< of one sample the chief reason has all

    [[nodiscard]] Nanos span() const { return until - from; }
    [[nodiscard]] Nanos held_in_all() const;
    /// The reason with the longest time; kCount: none.
    [[nodiscard]] HoldReason held_by() const;
    /// Adds the record that follows.
    void extend(const HistoryRecord& next);
};

class VnicHistory {
  public:
    static constexpr std::size_t kFineSamples = 10'000;
    static constexpr std::size_t kSeconds = 3'600;
    static constexpr Nanos kFineGap = 1'000'000;  ///< between two samples, if a worker has few vNICs

    /// @param phase Unix time, ns, when the clock of the samples was 0: whole seconds are counted from there
    explicit VnicHistory(Nanos phase) : phase_(phase) {}

    /// The next sample's counters begin anew: it is of a vNIC that was added under the same name.
    void restart() { before_.reset(); }
    /// @param at later than of the sample before, else it is ignored @return a second has ended
    bool add(const VnicSample& sample, Nanos at);

    /// Begin and end of the records of seconds, the one that has not ended among them; absent: there are
    /// none.
    struct Range {
        Nanos from = 0;
        Nanos until = 0;
        Nanos fine_from = 0;  ///< of the samples; `until`: there are none
    };
    [[nodiscard]] std::optional<Range> range() const;
    /// Those that share time with from..until, the oldest first.
    [[nodiscard]] std::vector<HistoryRecord> seconds(Nanos from, Nanos until) const;
    /// The same of single samples.
    [[nodiscard]] std::vector<HistoryRecord> samples(Nanos from, Nanos until) const;
    /// The last second that has ended. One has: add() returned true.
    [[nodiscard]] HistoryRecord last_second() const { return second(seconds_.size() - 1); }

    struct HeldSince {
        Nanos at = 0;
        bool before_history = false;  ///< it was held back when the history began
    };
    /// Begin of the time, without a second of less than 1 % of it, for which this reason held the vNIC back.
    /// To the sample where there are samples of it. @param at within the time
    [[nodiscard]] HeldSince held_since(HoldReason reason, Nanos at) const;

    static constexpr std::size_t bytes();

  private:
    /// 24 bytes; `at` counts on modulo 2^32, in microseconds.
    struct Fine {
        std::uint32_t at;
        std::uint32_t sent;
        std::uint32_t received;
        std::uint32_t queue_delay;  // ns
        std::uint32_t held;         // us
        std::uint16_t dropped;
        std::uint8_t held_by;
        bool begins;  // no more than the time from which on the next one counts
    };
    /// 64 bytes; held-back times are shares of the record's.
    struct Second {
        Nanos until;
        std::uint64_t sent;
        std::uint64_t received;
        std::uint32_t span;  // us
        std::uint32_t sent_burst;
        std::uint32_t received_burst;
        std::uint32_t queue_delay;  // ns
        std::uint32_t dropped;
        std::uint16_t samples;
        std::array<std::uint16_t, kHoldReasons> held;
    };
    static_assert(sizeof(Fine) == 24 && sizeof(Second) == 64);

    void push_fine(const HistoryRecord& record);
    void push_second(const HistoryRecord& record);
    [[nodiscard]] HistoryRecord second(std::size_t index) const;
    [[nodiscard]] std::vector<HistoryRecord> all_seconds() const;

    Nanos phase_;
    std::optional<VnicSample> before_;
    Nanos before_at_ = 0;
    HistoryRecord open_;  // the second that has not ended
    SampleRing<Fine, kFineSamples + 1> fine_;
    SampleRing<Second, kSeconds> seconds_;
};

/// Of the rings, per vNIC.
constexpr std::size_t VnicHistory::bytes() {
    return decltype(fine_)::kBytes + decltype(seconds_)::kBytes;
}

}  // namespace weir
