// port.h - output of a node: two classes of queue with a bound, a link with a rate and a delay.
// Source: EyeQ 5; Choudhury and Hahne (ToN'98); docs/algorithms.md 13.1.
// Units: bytes on the wire; ns.
// Threads: one.
//
// A shallow-buffered switch has bytes of each port's own, and a memory that ports share.
#pragma once

#include <array>
#include <cstdint>

#include "bench/sim/engine.h"
#include "bench/sim/packet.h"
#include "vswitch/qos/buckets/rate_profile.h"

namespace weir::sim {

/// A host or switch at the end of a link; a packet that it receives is its own from then on.
class Node {
  public:
    virtual void receive(Packet& packet) = 0;

  protected:
    ~Node() = default;
};

/// Informed when a packet has begun to leave its port's queue.
class DepartureWatcher {
  public:
    virtual void departed(const Packet& packet) = 0;

  protected:
    ~DepartureWatcher() = default;
};

/// A fixed delay for any number of packets, with one event in the queue.
class DelayLine final : public Handler {
  public:
    DelayLine(Engine& engine, Node& peer) : engine_(engine), peer_(peer) {}
    /// @param due not before that of the packet sent last
    void send(Packet& packet, Nanos due) {
        packet.due = due;
        if (packets_.empty())
            engine_.at(due, *this);
        packets_.push(packet);
        ++count_;
    }
    void fire(std::uint32_t) override {
        Packet& packet = packets_.pop();
        --count_;
        if (!packets_.empty())
            engine_.at(packets_.front().due, *this);
        peer_.receive(packet);
    }
    [[nodiscard]] std::uint64_t packets() const { return count_; }

  private:
    Engine& engine_;
    Node& peer_;
    PacketList packets_;
    std::uint64_t count_ = 0;
};

/// Bytes that the ports of one switch share beyond their own. A port may take `threshold` times the free
/// bytes (dynamic threshold, Choudhury and Hahne 1998): with 1, a single hot port gets half.
struct SharedBuffer {
    std::uint64_t bytes = 0;
    double threshold = 1;
    std::uint64_t used = 0;
};

class Port final : public Handler {
  public:
    struct Setup {
        std::uint64_t rate = 0;             ///< bytes/s
        Nanos delay = 0;                    ///< of propagation
        std::uint64_t buffer = UINT64_MAX;  ///< bytes that may wait, without the packet that is being sent
        SharedBuffer* shared = nullptr;     ///< more of them; may be null
        std::uint64_t ecn_threshold = UINT64_MAX;  ///< bytes waiting from which capable packets are marked
        DepartureWatcher* watcher = nullptr;       ///< may be null
    };
    struct Stats {
        std::uint64_t sent = 0;
        std::uint64_t sent_bytes = 0;
        std::uint64_t dropped = 0;
        std::uint64_t dropped_bytes = 0;
        std::uint64_t marked = 0;
    };

    Port(Engine& engine, PacketPool& pool, const Setup& setup, Node& peer);

    /// Takes the packet: it leaves now, waits, or is dropped.
    void send(Packet& packet);
    void fire(std::uint32_t) override;

    [[nodiscard]] std::uint64_t queue_bytes() const { return queues_[0].bytes + queues_[1].bytes; }
    /// The longest queue since the last call.
    [[nodiscard]] std::uint64_t take_peak();
    [[nodiscard]] const Stats& stats() const { return stats_; }
    /// Packets that wait.
    [[nodiscard]] std::uint64_t waiting() const { return waiting_; }
    /// Packets that wait or are on the link.
    [[nodiscard]] std::uint64_t packets() const { return waiting_ + line_.packets(); }
    [[nodiscard]] std::uint64_t rate() const { return setup_.rate; }

  private:
    struct Queue {
        PacketList packets;
        std::uint64_t bytes = 0;
    };

    [[nodiscard]] bool admit(std::uint32_t bytes);
    void transmit(Packet& packet, FineTime start);
    void announce(const Packet& packet);
    void release(Queue& queue, const Packet& packet);

    Engine& engine_;
    PacketPool& pool_;
    Setup setup_;
    BucketProfile pace_;           // prices bytes in time without dividing
    DelayLine line_;               // packets on the link
    std::array<Queue, 2> queues_;  // best effort last
    FineTime free_at_ = 0;         // the link has sent everything that it began
    std::uint64_t waiting_ = 0;
    std::uint64_t peak_ = 0;
    bool event_ = false;  // one is due when the link is free
    Stats stats_;
};

}  // namespace weir::sim
