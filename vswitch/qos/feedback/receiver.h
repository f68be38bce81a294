// receiver.h - what this host may receive, divided among its vNICs, and what their senders are told.
// Source: EyeQ 3.2 (rate meters, receive scheduler), 3.4 (RCP); division by water filling (SRP Algorithm 2).
// Units: tokens are accounted bytes; rates in tokens per second; ns. Threads: one owner (a worker); built
// and given vNICs by whoever commands the worker. Nothing is allocated after construction.
//
// Once per period every active vNIC is measured, the capacity is split, and one rate per vNIC is advertised
// to all who send to it. Beyond the paper: (1) the split knows demand, so that a vNIC that receives little
// leaves its part to others, and is given it back within a period; (2) the meter knows what each sender
// sent. A full link hides how much more was offered, and a multiplicative law needs many periods to find out;
// the level to which the senders' own rates must be cut to fit is known at once, and does not build up when
// feedback is late. (3) who floods after a pause is cut within the period, before the queue that he builds is
// long, and told at once; while a queue stands, those who built it give up part of theirs, so that it drains.
// (4) capacity that was left unused while it was wanted is given out soon after, from the headroom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/water_fill.h"
#include "vswitch/qos/feedback/rate_law.h"
#include "vswitch/qos/feedback/sender_table.h"

namespace weir {

struct ReceiverProfile {
    /// What may be received: the link less its headroom; a worker's part of it comes by set_capacity().
    std::uint64_t capacity = 0;
    std::uint64_t line_rate = 0;  ///< what no sender exceeds: the rate that means "no limit"
    Nanos period = 200'000;
    RateLawProfile law;         ///< its rate_max is line_rate
    bool knows_senders = true;  ///< false: the law alone, and a split without demand, as in the paper
};

/// What a vNIC was promised as a receiver.
struct EndpointProfile {
    std::uint64_t reservation = 0;
    std::uint64_t limit = Claim::kNoLimit;
    std::uint32_t shares = 100;
};

/// What a sender is told.
struct Feedback {
    /// No limit: the sender's link may be faster than ours.
    static constexpr std::uint64_t kFree = UINT64_MAX;
    std::uint64_t rate;      ///< tokens per second, or kFree
    std::uint32_t sequence;  ///< grows by one with each
};

/// A vNIC's meter as people see it.
struct EndpointReading {
    std::uint64_t received = 0;    ///< in the last period
    std::uint64_t capacity = 0;    ///< its part of the link
    std::uint64_t advertised = 0;  ///< to each sender
};

class Receiver {
  public:
    struct Setup {
        std::size_t endpoints = 1024;         ///< VnicIds are 0 .. endpoints-1
        std::uint32_t senders = 8192;         ///< remembered at once, a power of two
        std::uint32_t first_sequence = 0;     ///< larger than any of this host's earlier life
        std::uint32_t marked_queue = 30'000;  ///< bytes that marks stand for, less than where switches mark
    };
    Receiver(const Setup& setup, const ReceiverProfile& profile);

    void add(VnicId vnic, const EndpointProfile& profile);
    void change(VnicId vnic, const EndpointProfile& profile) { endpoints_[vnic].profile = profile; }
    void remove(VnicId vnic);
    void set_capacity(std::uint64_t tokens_per_sec) { profile_.capacity = capacity_ = tokens_per_sec; }

    /// In line with delivery, for frames of one sender to one vNIC. @param marked_bytes of frames with a
    /// congestion mark @return true when the sender is to be told `out`
    [[nodiscard]] bool received(VnicId vnic, std::uint64_t sender, std::uint32_t bytes,
                                std::uint32_t marked_bytes, Nanos now, Feedback& out);
    /// Measures, splits, sets rates; when due(), in every turn of the poll loop.
    void sweep(Nanos now);
    [[nodiscard]] bool due(Nanos now) const { return now >= due_; }

    [[nodiscard]] EndpointReading read(VnicId vnic) const;
    [[nodiscard]] std::uint32_t senders() const { return senders_.size(); }
    /// Tokens received since construction, and whether somebody is held back for lack of capacity: what a
    /// worker says when several divide the link.
    [[nodiscard]] std::uint64_t received_total() const { return received_total_; }
    [[nodiscard]] bool hungry() const { return hungry_; }

  private:
    static constexpr std::size_t kHistory = 4;

    struct alignas(64) Endpoint {
        std::uint64_t window_bytes = 0;
        std::uint64_t marked_bytes = 0;
        Nanos window_from = 0;
        std::uint64_t look_at = 0;  ///< so many in this window: look whether it is too much
        std::uint64_t rate = 0;     ///< advertised
        Nanos limited_until = 0;    ///< somebody may have a limiter until then
        std::uint32_t senders = SenderTable::kNone;
        std::uint32_t last_sender = SenderTable::kNone;
        std::uint16_t silent_periods = 0;
        bool present = false;
        bool active = false;  ///< among those that are measured
        bool awake = false;   ///< received something of late
        // The rest is for the sweep.
        EndpointProfile profile;
        double measured = 0;                            ///< tokens per second in the last window
        double congestion = 0;                          ///< what marks add to it
        double demand = 0;                              ///< what it could use, falling slowly
        double target = 0;                              ///< its part
        double target_before = 0;                       ///< in the last period
        double queue = 0;                               ///< what those who flood have before the link, bytes
        std::array<std::uint64_t, kHistory> history{};  ///< rates advertised before
    };

    void look(Endpoint& endpoint, Nanos now);
    [[nodiscard]] bool link_full(std::uint64_t bytes, Nanos span) const;
    [[nodiscard]] Sender* sender_of(Endpoint& endpoint, VnicId vnic, std::uint64_t address);
    void wake(VnicId vnic, Nanos now);
    void lend(std::uint64_t bytes, Nanos span);
    void measure(Endpoint& endpoint, std::uint64_t marked, Nanos span);
    void split();
    void adjust(Endpoint& endpoint, Nanos span);
    [[nodiscard]] std::uint64_t fitting(Endpoint& endpoint, const SenderSummary& summary, double target,
                                        Nanos span);

    Setup setup_;
    ReceiverProfile profile_;
    SenderTable senders_;
    std::vector<Endpoint> endpoints_;
    std::vector<VnicId> active_;
    std::vector<Claim> claims_;
    std::vector<std::uint64_t> parts_;
    std::vector<std::uint32_t> windows_;  ///< what the senders of one vNIC sent
    Nanos swept_ = 0;
    Nanos due_ = 0;
    std::uint64_t received_total_ = 0;
    double headroom_;         ///< of the link, in parts of the capacity
    std::uint64_t capacity_;  ///< what is divided: the profile's, and what was left unused
    double unused_ = 0;       ///< tokens of late that somebody wanted
    std::uint32_t sequence_;
    std::uint64_t swept_total_ = 0;   ///< received_total_ at the last sweep
    unsigned full_periods_ = 0;       ///< for how long a queue has stood before the link
    unsigned contested_periods_ = 0;  ///< for so many more, nobody is told more than his part
    bool hungry_ = false;
};

}  // namespace weir
