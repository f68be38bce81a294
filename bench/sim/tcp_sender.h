// tcp_sender.h - sending half of one direction of a TCP connection: window, loss recovery, timeout.
// Source: RFC 5681; RFC 6675; RFC 6937; RFC 6298; RFC 8257; RFC 3168; docs/algorithms.md 13.1.
// Units: segments, as Linux counts; payload bytes; ns.
// Threads: one.
//
// Not modeled: CUBIC, which at a datacenter's round-trip times is in its Reno-friendly region, and tail loss
// probes, which Linux 3.4 of the EyeQ paper did not have either.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/sim/host.h"
#include "bench/sim/world.h"

namespace weir::sim {

enum class CongestionControl { kReno, kEcn, kDctcp };

struct TcpProfile {
    CongestionControl control = CongestionControl::kReno;
    std::uint32_t segment = 1448;  ///< payload bytes of a full segment
    std::uint32_t overhead = 90;   ///< wire bytes around a payload: TCP, IP, Ethernet, FCS, preamble, gap
    std::uint32_t window = 512;    ///< segments in flight at most; a power of two
    std::uint32_t initial_window = 10;  ///< segments
    std::uint32_t duplicate_threshold = 3;
    Nanos timeout_min = 200'000'000;
};

class TcpSender final : public Sender, public Handler {
  public:
    /// Where a direction of a connection is.
    struct Path {
        Host* host;
        VnicId vnic;
        EndpointId from;
        EndpointId to;
        StreamId flow;
        std::uint8_t side;
    };
    /// The receiving half of this side: fills in acknowledgements.
    class AckWriter {
      public:
        virtual void write_ack(Packet& packet) = 0;

      protected:
        ~AckWriter() = default;
    };
    struct Stats {
        std::uint64_t segments = 0;
        std::uint64_t retransmits = 0;
        std::uint64_t timeouts = 0;
    };

    TcpSender(World& world, const TcpProfile& profile, const Path& path, AckWriter& acks);

    /// Queues a message; kEndless is never exhausted.
    void write(std::uint64_t bytes);
    static constexpr std::uint64_t kEndless = UINT64_MAX;
    void on_ack(const Packet& packet);
    /// A packet that only acknowledges. It does not wait for room: it is small, and the peer waits for it.
    void send_ack();

    void resume() override { pump(); }
    void fire(std::uint32_t) override;

    [[nodiscard]] const Stats& stats() const { return stats_; }
    [[nodiscard]] double window() const { return window_; }
    [[nodiscard]] bool idle() const { return una_ == next_ && messages_.empty(); }

  private:
    enum State : std::uint8_t { kFlying, kSacked, kLost, kFlyingAgain };
    struct Segment {
        std::uint16_t bytes;
        State state;
        bool end_of_message;
    };

    struct Resent {
        std::uint64_t sequence;
        std::uint64_t next_then;  // of the first new segment that followed
    };

    [[nodiscard]] Segment& at(std::uint64_t sequence) { return ring_[sequence & (ring_.size() - 1)]; }
    [[nodiscard]] std::uint64_t flying() const { return next_ - una_ - sacked_ - lost_; }
    [[nodiscard]] bool may_send() const;
    void pump();
    void send_segment(std::uint64_t sequence, bool push);
    std::uint64_t cut_segment();
    std::uint64_t take_lost();

    std::uint64_t advance(std::uint64_t to);
    std::uint64_t mark_sacked(std::uint64_t sequence);
    bool mark_lost();
    void begin_recovery();
    void clock_recovery(std::uint64_t acked);
    void lose(std::uint64_t sequence);
    void sample_rtt(Nanos rtt);
    void grow(std::uint64_t acked);
    void on_marks(std::uint64_t acked, std::uint64_t marked);
    void shrink(double factor);
    void set_timer();

    World& world_;
    const TcpProfile& profile_;
    Path path_;
    AckWriter& acks_;

    std::deque<std::uint64_t> messages_;  // bytes that are not cut into segments yet
    std::vector<Segment> ring_;           // by sequence; allocated at the first write
    std::uint64_t una_ = 0;               // first that is not acknowledged
    std::uint64_t next_ = 0;              // next new one
    std::uint64_t sacked_ = 0;            // in una_..next_
    std::uint64_t lost_ = 0;              // to be sent again
    std::uint64_t highest_ = 0;           // one beyond the highest that has arrived
    std::uint64_t marked_ = 0;            // before it, losses have been looked for
    std::uint64_t repair_ = 0;            // before it, no segment is lost
    std::deque<Resent> resent_;           // in the order in which they were
    std::uint64_t recover_ = 0;           // recovery ends when all before it is acknowledged
    bool recovering_ = false;
    std::uint64_t recovery_flight_ = 1;     // segments in flight when it began
    std::uint64_t recovery_delivered_ = 0;  // and since then
    std::uint64_t recovery_sent_ = 0;

    double window_;
    double threshold_ = 1e9;  // slow start below it

    double alpha_ = 1;  // DCTCP: marked fraction, smoothed
    std::uint64_t round_acked_ = 0;
    std::uint64_t round_marked_ = 0;
    std::uint64_t round_end_ = 0;

    Nanos srtt_ = 0;
    Nanos rttvar_ = 0;
    Nanos timeout_;
    Nanos deadline_ = kNever;
    Nanos timer_at_ = kNever;  // the event that counts, perhaps before the deadline
    Stats stats_;
};

}  // namespace weir::sim
