// appliance_gate.h - how much may be outstanding at one appliance, and who of those that wait for it is next:
// the uplink's scheduler, with requests for packets. Source: SRP 3 (host queue depth); design section 1.
// Units: appliance tokens; Nanos. Threads: one owner (a worker). Allocates only when built.
//
// A request enters when it fits the window beside what is outstanding, or when nothing is: so none is too
// large. Whoever has been chosen and does not fit yet is waited for, so that small requests do not starve
// large ones. Reservations come first, then shares.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir {

/// What a flow was promised at an appliance.
struct GateProfile {
    std::uint64_t reservation = 0;  ///< tokens/s, 0 = none
    std::uint64_t burst = 0;        ///< tokens of it that may come at once
    std::uint32_t shares = 100;     ///< 1..10000
};

class ApplianceGate {
  public:
    using Flow = VnicId;
    /// Requests of one flow that it knows of at most: with the next one in sight a flow keeps its turn.
    static constexpr unsigned kAnnounced = 2;

    struct Setup {
        const SchedulerEntry* scheduler = &kSchedulers.front();
        std::uint32_t flows = 0;       ///< Flows are 0 .. flows-1
        TimingWheel* wheel = nullptr;  ///< outlives the gate; nothing is put into it
    };
    /// Whose request may enter, and what was set aside for it.
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

    /// Nobody waits, and it fits.
    [[nodiscard]] bool has_room(std::uint32_t tokens) const { return !contended() && fits(tokens); }
    /// After has_room().
    void enter(Flow flow, std::uint32_t tokens, Nanos now) {
        outstanding_ += tokens;
        scheduler_->bypass(flow, scaled(tokens), now);
    }
    /// The flow would go on if there were room. @return false: kAnnounced of its requests are known already
    bool announce(Flow flow, std::uint32_t tokens, Nanos now);
    [[nodiscard]] unsigned announced(Flow flow) const { return waiting_[flow].announced; }
    /// It would not any more.
    void withdraw(Flow flow);
    /// Who may enter now; what it is granted is outstanding from here on.
    [[nodiscard]] std::optional<Grant> next(Nanos now);
    /// Another request than the one announced has entered on a grant, or none.
    void correct(std::uint32_t granted, std::uint32_t actual) {
        outstanding_ = outstanding_ + actual - granted;
    }
    /// So much has been answered, or is not waited for any more.
    void finish(std::uint64_t tokens) {
        assert(tokens <= outstanding_);
        outstanding_ -= tokens;
    }

    /// Somebody waits.
    [[nodiscard]] bool contended() const { return chosen_ || scheduler_->backlogged(); }
    [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
    [[nodiscard]] std::uint64_t window() const { return window_; }

  private:
    /// The scheduler counts in 256ths, so that its turns may be shorter than a token.
    static constexpr unsigned kScaleBits = 8;
    struct Waiting {
        std::uint8_t announced = 0;
        std::uint32_t tokens = 0;  ///< of the one announced last
    };

    [[nodiscard]] bool fits(std::uint32_t tokens) const {
        return outstanding_ == 0 || outstanding_ + tokens <= window_;
    }
    [[nodiscard]] static std::uint32_t scaled(std::uint32_t tokens) {
        constexpr std::uint32_t kMost = UINT32_MAX >> kScaleBits;
        return (tokens < kMost ? tokens : kMost) << kScaleBits;
    }
    [[nodiscard]] static ClassProfile to_class(const GateProfile& profile);

    std::unique_ptr<LinkScheduler> scheduler_;
    std::vector<Waiting> waiting_;
    std::optional<Grant> chosen_;  ///< next to enter, once it fits
    std::uint64_t window_ = UINT64_MAX;
    std::uint64_t outstanding_ = 0;
};

}  // namespace weir
