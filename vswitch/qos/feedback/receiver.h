// receiver.h - meters the bytes to a host's vNICs and computes the rate to advertise to their senders.
// Source: EyeQ 3.2, 3.4; SRP Algorithm 2; docs/algorithms.md 4.1, 4.2, 4.3. Units: tokens are accounted
// bytes; rates in tokens per second; ns. Threads: one owner (a worker). Allocates only when built.
//
// Several senders can overload one receiver's link, and the frames then queue in the network, where no switch
// of ours sees them. So the receiving switch computes one rate per vNIC and advertises it to all senders to
// that vNIC; their switches hold them to it. Once per period (200 us):
// - measure(): a vNIC's load is the rate at which it received, divided by its part. Frames with a congestion
//   mark stand for a queue before the link, which counts as if it had arrived, too.
// - split(): water filling divides the capacity by reservation, limit and shares among the vNICs that
//   receive. A part that a vNIC does not use is given to others, and is its own again within a period.
// - adjust(): the rate law moves the advertised rate until all senders together send the vNIC's part. Far
//   from that, the bytes that each sender sent give the rate at once.
//
// Example: vNICs with reservations of 2 and 4 Gbit/s, and shares in the same proportion, receive at a link
// with 9 Gbit/s to divide: their parts are 3 and 6 Gbit/s. Four senders send 2.25 Gbit/s each to the second,
// a load of 9 / 6 = 1.5. The law alone would advertise 2.25 * 1.5^-0.25 = 2.03 Gbit/s next; the level that
// makes four equal senders fit is 6 / 4 = 1.5 Gbit/s, and that rate is advertised to them.
//
// Two rules handle short times. A flood after a pause is cut within the period, at every 8,000 bytes, before
// its queue is long; while a queue stands, its senders are advertised less than their part, so that it
// drains. Capacity that was left unused while a vNIC wanted it is lent out of the headroom soon after. With
// `law: linear` the receiver does none of this beyond the paper: it uses the law alone, and splits without
// regard to demand.
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
    std::uint64_t capacity = 0;   ///< of the link less its headroom; set_capacity() sets a worker's part
    std::uint64_t line_rate = 0;  ///< of any sender; an advertised rate of this or more means "no limit"
    Nanos period = 200'000;
    RateLawProfile law;  ///< its rate_max is line_rate
};

/// A vNIC's claim on the receiving direction of the link.
struct EndpointProfile {
    std::uint64_t reservation = 0;
    std::uint64_t limit = Claim::kNoLimit;
    std::uint32_t shares = 100;
};

/// A rate to advertise to one sender.
struct Feedback {
    /// No limit. Not the line rate, as the sender's link may be faster than ours.
    static constexpr std::uint64_t kFree = UINT64_MAX;
    std::uint64_t rate;      ///< tokens per second, or kFree
    std::uint32_t sequence;  ///< grows by one with each feedback of this host
};

/// Rates of a vNIC for counters and commands.
struct EndpointReading {
    std::uint64_t received = 0;    ///< in the last period
    std::uint64_t capacity = 0;    ///< its part of the link
    std::uint64_t advertised = 0;  ///< rate for each of its senders
};

class Receiver {
  public:
    struct Setup {
        std::size_t endpoints = 1024;  ///< VnicIds are 0 .. endpoints-1
        std::uint32_t senders = 8192;  ///< places for senders, a power of two
        SenderKey sender_key = kSenderKey;
        std::uint32_t first_sequence = 0;  ///< above all sequences before this host's last restart
        /// Bytes of queue that congestion marks stand for: less than the threshold at which switches mark.
        std::uint32_t marked_queue = 30'000;
    };
    Receiver(const Setup& setup, const ReceiverProfile& profile);

    void add(VnicId vnic, const EndpointProfile& profile);
    void change(VnicId vnic, const EndpointProfile& profile) { endpoints_[vnic].profile = profile; }
    void remove(VnicId vnic);
    void set_capacity(std::uint64_t tokens_per_sec) { profile_.capacity = capacity_ = tokens_per_sec; }

    /// Counts frames of one sender to one vNIC, in line with their delivery.
    /// @param sender its address  @param marked_bytes bytes of frames with a congestion mark
    /// @return whether `out` is to be advertised to the sender now
    [[nodiscard]] bool received(VnicId vnic, std::uint64_t sender, std::uint32_t bytes,
                                std::uint32_t marked_bytes, Nanos now, Feedback& out);
    /// Ends a period: measures, splits, adjusts rates. To be called when due().
    void sweep(Nanos now);
    [[nodiscard]] bool due(Nanos now) const { return now >= due_; }
    /// Sequences of feedback from now on are above those of the other one.
    void advertise_behind(const Receiver& other) {
        if (static_cast<std::int32_t>(other.sequence_ - sequence_) > 0)
            sequence_ = other.sequence_;
    }
    /// No vNIC is active: the next periods change nothing.
    [[nodiscard]] bool idle() const { return active_.empty(); }

    [[nodiscard]] EndpointReading read(VnicId vnic) const;
    [[nodiscard]] std::uint32_t senders() const { return senders_.size(); }
    /// Tokens received since construction. With backlogged() the worker's demand where several workers divide
    /// the link.
    [[nodiscard]] std::uint64_t received_total() const { return received_total_; }
    /// A vNIC uses at least 80 % of its part: it may want more.
    [[nodiscard]] bool backlogged() const { return backlogged_; }

  private:
    /// Advertised rates that are remembered, one a period: feedback takes effect within these periods.
    static constexpr std::size_t kHistory = 4;

    struct alignas(64) Endpoint {
        std::uint64_t window_bytes = 0;
        std::uint64_t marked_bytes = 0;
        std::uint64_t check_at = 0;  ///< bytes of this window at which check_flood() is due
        std::uint64_t rate = 0;      ///< advertised to all senders
        Nanos limited_until = 0;     ///< senders may have a limiter for this vNIC until then
        std::uint32_t last_sender = SenderTable::kNone;  ///< of the last frames
        std::uint16_t silent_periods = 0;
        bool present = false;
        bool active = false;  ///< is measured
        bool awake = false;   ///< received a frame in the last periods
        // The rest is read less often than once per frame.
        SenderList senders{};
        Nanos window_from = 0;
        Nanos senders_from = 0;   ///< begin of its senders' windows
        std::uint32_t looks = 0;  ///< at its senders that it has saved for the next walk over them
        Sender unlisted{};        ///< all senders without an entry, as if they were one
        EndpointProfile profile;
        double measured = 0;                            ///< tokens per second in the last window
        double congestion = 0;                          ///< rate that congestion marks add to `measured`
        double demand = 0;                              ///< rate that it could use; falls slowly
        double target = 0;                              ///< its part of the capacity
        double target_before = 0;                       ///< its part in the last period
        double queue = 0;                               ///< bytes before the link, of senders that flooded it
        std::array<std::uint64_t, kHistory> history{};  ///< rates advertised in the last periods
    };

    void check_flood(Endpoint& endpoint, Nanos now);
    [[nodiscard]] static std::uint64_t next_check(const Endpoint& endpoint);
    [[nodiscard]] bool link_full(std::uint64_t bytes, Nanos span) const;
    [[nodiscard]] Sender& sender_of(Endpoint& endpoint, VnicId vnic, std::uint64_t address);
    void wake(VnicId vnic, Nanos now);
    void lend_headroom(std::uint64_t bytes, Nanos span);
    void measure(Endpoint& endpoint, std::uint64_t marked, Nanos span);
    void split();
    [[nodiscard]] std::uint32_t share_of_looks();
    [[nodiscard]] static bool look_is_due(Endpoint& endpoint, std::uint32_t share, std::uint32_t& looked);
    void adjust(Endpoint& endpoint, bool look, Nanos now);
    [[nodiscard]] std::uint64_t fitting_rate(Endpoint& endpoint, const SenderSummary& summary, double target,
                                             Nanos span);

    Setup setup_;
    ReceiverProfile profile_;
    SenderTable senders_;
    std::vector<Endpoint> endpoints_;
    std::vector<VnicId> active_;
    std::vector<Claim> claims_;
    std::vector<std::uint64_t> parts_;
    std::vector<std::uint32_t> windows_;  // bytes of one vNIC's senders, or numbers of senders
    Nanos swept_ = 0;
    Nanos due_ = 0;
    std::uint64_t received_total_ = 0;
    double headroom_;         // of the link, as a part of the capacity
    std::uint64_t capacity_;  // divided in this period: the profile's, and the lent part of the headroom
    double unused_ = 0;       // tokens of capacity that were wanted, not used and not lent yet
    std::uint32_t sequence_;
    std::uint64_t swept_total_ = 0;   // received_total_ at the last sweep
    unsigned full_periods_ = 0;       // periods in a row in which the link was full
    unsigned contested_periods_ = 0;  // further periods in which no rate exceeds its vNIC's part
    bool backlogged_ = false;
};

}  // namespace weir
