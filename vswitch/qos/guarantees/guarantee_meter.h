// guarantee_meter.h - what a vNIC is promised from period to period, and what it got in each: the guarantee
// that varies with what is left to be sent, and the source of what is billed. Source: SoftBW 3.2, 4.1, 4.2.
// Units: bytes, bytes per second, Nanos. Threads: one owner (the agent).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/guarantee.h"

namespace weir {

struct Promise {
    GuaranteeKind kind = GuaranteeKind::kFairness;
    std::uint64_t rate = 0;  ///< B; of a dynamic guarantee S / T; 0 of the others
    std::uint64_t size = 0;  ///< S
    Nanos time = 0;          ///< T
    bool operator==(const Promise&) const = default;
};

class GuaranteeMeter {
  public:
    struct Period {
        Nanos began = 0;
        Nanos ended = 0;
        GuaranteeKind kind = GuaranteeKind::kFairness;  ///< fairness too when a dynamic guarantee was over
        std::uint64_t promised = 0;                     ///< B, or S / T
        std::uint64_t delivered = 0;                    ///< bytes, in this period

        /// Takes in what came behind it. @return whether both are of the same promise; else nothing changes
        bool extend(const Period& next);
    };

    /// @param delivered what the vNIC had sent so far, of a counter that only grows
    GuaranteeMeter(const Promise& promise, std::uint64_t delivered, Nanos now);

    /// Ends the period that runs; T of another dynamic promise begins now, the same one goes on.
    /// @return what end_period() says
    std::optional<Period> change(const Promise& promise, std::uint64_t delivered, Nanos now);
    /// The next period begins; a dynamic guarantee becomes s' / t'. @return nothing, and nothing changes,
    /// when the clock has not moved, or moved back. A counter that went back counts from there.
    /// @param waiting there is more to be sent: what it was short of in this period is owed to it
    std::optional<Period> end_period(std::uint64_t delivered, Nanos now, bool waiting = false);
    /// Until the period ends no more is guaranteed, because there is no room for it.
    void hold(std::uint64_t rate) { rate_ = std::min(rate_, rate); }

    [[nodiscard]] const Promise& promise() const { return promise_; }
    /// What it is now: a dynamic one that is over has become fairness.
    [[nodiscard]] GuaranteeKind kind() const { return over() ? GuaranteeKind::kFairness : promise_.kind; }
    /// What is guaranteed until the period ends.
    [[nodiscard]] std::uint64_t rate() const { return rate_; }
    /// The same, were there room for all.
    [[nodiscard]] std::uint64_t due() const { return due_; }
    /// Of a dynamic guarantee, when the period began; 0 of the others.
    [[nodiscard]] std::uint64_t left() const { return left_; }
    [[nodiscard]] Nanos time_left() const { return time_left_; }

  private:
    [[nodiscard]] bool over() const { return promise_.kind == GuaranteeKind::kDynamic && due_ == 0; }
    void start(const Promise& promise);

    Promise promise_;
    std::uint64_t due_ = 0;
    std::uint64_t rate_ = 0;  // what of it is not held
    double owed_ = 0;
    std::uint64_t left_ = 0;
    Nanos time_left_ = 0;
    std::uint64_t delivered_;
    Nanos began_;
};

}  // namespace weir
