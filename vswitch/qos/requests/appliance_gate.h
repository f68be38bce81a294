// appliance_gate.h - an appliance's window: bound on its outstanding tokens, and whose request enters next.
// Source: SRP 3; docs/algorithms.md 5.4. Units: appliance tokens; ns. Threads: one owner (a worker).
// Allocates only when built.
//
// The controller allots each host a window: tokens of requests that may be forwarded and not yet answered. A
// request enters if its tokens fit beside the outstanding ones, or if none are outstanding: so no request is
// too large. Waiting flows are served by the uplink's schedulers with requests for packets: reservations
// first, then shares. The request in turn keeps its turn until it fits, so that small requests do not starve
// large ones.
//
// Example: a window of 2,000 tokens with 1,500 outstanding. Flow A's request of 929 tokens is in turn and
// waits; B's request of 400 would fit and waits behind it. When 500 tokens are answered, A's enters.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir {

/// A service flow's claim on an appliance's window.
struct GateProfile {
    std::uint64_t reservation = 0;  ///< tokens/s, 0 = none
    std::uint64_t burst = 0;        ///< tokens of the reservation that may enter at once
    std::uint32_t shares = 100;     ///< 1..10000
};

class ApplianceGate {
  public:
    using Flow = VnicId;
    /// Most requests of one flow that are announced: with the next one in sight a flow keeps its turn.
    static constexpr unsigned kAnnounced = 2;

    struct Setup {
        const SchedulerEntry* scheduler = &kSchedulers.front();
        std::uint32_t flows = 0;       ///< Flows are 0 .. flows-1
        TimingWheel* wheel = nullptr;  ///< outlives the gate; nothing is put into it
    };
    /// The flow whose request may enter, and the tokens that were taken for it.
    struct Grant {
        Flow flow;
        std::uint32_t tokens;
    };

    explicit ApplianceGate(const Setup& setup);

    // Changes; not per request.

    void set_window(std::uint64_t tokens) { window_ = tokens; }
    void open(Flow flow, const GateProfile& profile, Nanos now);
    void change(Flow flow, const GateProfile& profile, Nanos now);
    void close(Flow flow, Nanos now);

    // Per request.

    /// No flow waits, and the request fits.
    [[nodiscard]] bool has_room(std::uint32_t tokens) const { return !contended() && fits(tokens); }
    /// Takes the tokens of a request; has_room() was true.
    void enter(Flow flow, std::uint32_t tokens, Nanos now) {
        outstanding_ += tokens;
        scheduler_->bypass(flow, scaled(tokens), now);
    }
    /// The flow has a request that waits only for the window. @return false if kAnnounced are known already
    bool announce(Flow flow, std::uint32_t tokens, Nanos now);
    [[nodiscard]] unsigned announced(Flow flow) const { return announced_[flow]; }
    /// No request of the flow waits for the window any more.
    void withdraw(Flow flow);
    /// The next request that may enter now, if any; its tokens count as outstanding from here on.
    [[nodiscard]] std::optional<Grant> next(Nanos now);
    /// Another request than the announced one entered on a grant (or none: 0).
    void correct(std::uint32_t granted, std::uint32_t actual) {
        outstanding_ = outstanding_ + actual - granted;
    }
    /// Tokens of requests that were answered, or whose connection closed.
    void finish(std::uint64_t tokens) {
        assert(tokens <= outstanding_);
        outstanding_ -= tokens;
    }

    /// A flow waits for the window.
    [[nodiscard]] bool contended() const { return chosen_ || scheduler_->backlogged(); }
    [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
    [[nodiscard]] std::uint64_t window() const { return window_; }

  private:
    /// The scheduler counts in 256ths, so that its turns may be shorter than a token.
    static constexpr unsigned kScaleBits = 8;

    [[nodiscard]] bool fits(std::uint32_t tokens) const {
        return outstanding_ == 0 || outstanding_ + tokens <= window_;
    }
    [[nodiscard]] static std::uint32_t scaled(std::uint32_t tokens) {
        constexpr std::uint32_t kMost = UINT32_MAX >> kScaleBits;
        return (tokens < kMost ? tokens : kMost) << kScaleBits;
    }
    [[nodiscard]] static ClassProfile to_class(const GateProfile& profile);

    std::unique_ptr<LinkScheduler> scheduler_;
    std::vector<std::uint8_t> announced_;  // requests that are announced, by flow
    std::optional<Grant> chosen_;          ///< enters next, once it fits
    std::uint64_t window_ = UINT64_MAX;
    std::uint64_t outstanding_ = 0;
};

}  // namespace weir
