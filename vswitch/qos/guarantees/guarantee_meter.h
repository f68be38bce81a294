// guarantee_meter.h - SoftBW's guarantees from period to period: the bytes promised to a vNIC and delivered.
// Source: SoftBW 3.2, 4.1, 4.2; docs/algorithms.md 6.1, 6.2. Units: bytes; bytes per second; ns. Threads: one
// owner (the agent).
//
// Every second the agent ends one period of every vNIC. A strict guarantee is the same in each. A dynamic
// guarantee (S bytes within T) is the rest of S over the rest of T: 10 GB in 100 s are 100 MB/s; if the vNIC
// sent 1 GB in the first 50 s, the guarantee for the next period is 9 GB / 50 s = 180 MB/s. The bill, too,
// has the bytes delivered in each period beside the promised rate.
//
// If a link has promised more than it has, GuaranteeRound decides which guarantees hold in the next period:
// strict ones keep the rate that they have just used, dynamic ones share the rest, earliest deadline first. A
// dynamic guarantee that is cut is owed the bytes that its vNIC wanted to send and could not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/guarantee.h"

namespace weir {

struct Promise {
    GuaranteeKind kind = GuaranteeKind::kFairness;
    std::uint64_t rate = 0;  ///< strict: the guaranteed rate; dynamic: size / time; else 0
    std::uint64_t size = 0;  ///< dynamic: bytes to send
    Nanos time = 0;          ///< dynamic: time to send them in
    bool operator==(const Promise&) const = default;
};

class GuaranteeMeter {
  public:
    struct Period {
        Nanos began = 0;
        Nanos ended = 0;
        GuaranteeKind kind = GuaranteeKind::kFairness;  ///< kFairness also after a dynamic guarantee ended
        std::uint64_t promised = 0;                     ///< Promise::rate
        std::uint64_t delivered = 0;                    ///< bytes in this period
        bool waiting = false;                           ///< at its end the vNIC had more to send

        /// Whether it belongs on the bill: something was delivered, or nothing although the vNIC had a
        /// guarantee and frames to send. The latter costs nothing and lowers the fulfillment.
        [[nodiscard]] bool counts() const { return delivered != 0 || (waiting && promised != 0); }
        /// Appends the period that followed; the vNIC waited if it did in one of both.
        /// @return false, and no change, if its promise is another one
        bool extend(const Period& next);
    };

    /// @param delivered bytes that the vNIC has sent so far: a counter that only grows
    GuaranteeMeter(const Promise& promise, std::uint64_t delivered, Nanos now);

    /// Ends the current period. The time of another dynamic promise begins now; the same promise continues.
    /// @return as of end_period()
    std::optional<Period> change(const Promise& promise, std::uint64_t delivered, Nanos now,
                                 bool waiting = false);
    /// Ends the current period and begins the next; a dynamic guarantee becomes bytes left / time left.
    /// @return the period that ended; nullopt, and no change, if the clock did not advance. After a counter
    /// that went back, counting continues from its new value.
    /// @param waiting the vNIC has more to send: the bytes that it missed in this period are owed to it
    std::optional<Period> end_period(std::uint64_t delivered, Nanos now, bool waiting = false);
    /// Lowers the guarantee to `rate` until the period ends, as the link has no room for more.
    void hold(std::uint64_t rate) { rate_ = std::min(rate_, rate); }

    [[nodiscard]] const Promise& promise() const { return promise_; }
    /// Current kind: a dynamic guarantee that has ended is kFairness.
    [[nodiscard]] GuaranteeKind kind() const { return over() ? GuaranteeKind::kFairness : promise_.kind; }
    /// Bytes per second that are guaranteed until the period ends.
    [[nodiscard]] std::uint64_t rate() const { return rate_; }
    /// The same without hold(): the rate if the link had room for all guarantees.
    [[nodiscard]] std::uint64_t due() const { return due_; }
    /// Bytes and time that a dynamic guarantee had left when the period began; 0 for other kinds.
    [[nodiscard]] std::uint64_t left() const { return left_; }
    [[nodiscard]] Nanos time_left() const { return time_left_; }

  private:
    [[nodiscard]] bool over() const { return promise_.kind == GuaranteeKind::kDynamic && due_ == 0; }
    void start(const Promise& promise);

    Promise promise_;
    std::uint64_t due_ = 0;
    std::uint64_t rate_ = 0;  // due_, lowered by hold()
    double owed_ = 0;         // bytes that the vNIC wanted to send and could not, at most those it is behind
    std::uint64_t left_ = 0;
    Nanos time_left_ = 0;
    std::uint64_t delivered_;
    Nanos began_;
};

/// The guarantees of one link at the end of a period, when more is promised than the link has.
class GuaranteeRound {
  public:
    /// @param capacity of the link, bytes per second
    explicit GuaranteeRound(std::uint64_t capacity) : room_(capacity) {}

    /// Adds one of the link's vNICs, whose period has just ended. @param meter outlives this
    void add(GuaranteeMeter& meter, const GuaranteeMeter::Period& ended);
    /// Lowers the dynamic guarantees that do not fit, those with the latest deadlines first.
    void settle();

  private:
    std::uint64_t room_;
    std::vector<GuaranteeMeter*> dynamic_;
};

}  // namespace weir
