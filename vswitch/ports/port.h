// port.h - interface of a port to the data path: bursts in, bursts out.
// Units: frames. Threads: rx_burst and tx_burst by the owning worker only; the rest as noted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vswitch/ports/virtio/ring_watch.h"

struct rte_mbuf;

namespace weir {

/// Offloads that the far side of a port does itself; decides where checksums and segments are made.
struct PortOffloads {
    bool checksum = false;  ///< accepts frames without a TCP or UDP checksum
    bool tso = false;       ///< accepts TCP/IPv4 super-frames
};

class Port {
  public:
    Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    virtual ~Port() = default;

    /// Takes at most `max` (<= 32) frames; they belong to the caller. 0 also while the port is down. The
    /// payloads of long frames may be left with the far side (left_payload.h): while owes_chains() the caller
    /// sends or fetches all of them, then calls return_chains(), before it takes more.
    virtual std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) = 0;
    [[nodiscard]] bool owes_chains() const { return owes_chains_; }
    /// Gives the far side its buffers back.
    virtual void return_chains() {}
    /// The frames of the last burst are from a ring that the far side has disabled, and go nowhere. Owning
    /// worker.
    [[nodiscard]] bool ring_is_disabled() const { return ring_is_disabled_; }
    /// tx_burst() takes frames whose payloads are left. Any worker.
    [[nodiscard]] bool takes_left_payloads() const { return takes_left_payloads_; }
    /// rx_burst() copies payloads from now on and leaves none: it is to be known in whose memory a worker
    /// waits. Any thread.
    void copy_payloads() { copies_payloads_.store(true, std::memory_order_relaxed); }
    /// Frames that tx_burst() copied out of their senders' memory. Any thread.
    [[nodiscard]] virtual std::uint64_t straight_frames() const { return 0; }
    /// Destination of the frame that rx_burst() would give first, 48 bits, first wire byte lowest; none: no
    /// frame, or it cannot be known. The far side may put another frame in its place meanwhile. Owning
    /// worker.
    [[nodiscard]] virtual std::optional<std::uint64_t> peek_destination() { return std::nullopt; }
    /// After rx_burst() gave no frame: words of which one changes before it gives one. They may be read until
    /// epoch() is another, which is so before Quiescence::changes() is. @param words room for
    /// limits::kQueuesMax @return how many were filled in, 0 while the port is down; none: the port has to be
    /// polled. Owning worker.
    [[nodiscard]] virtual std::optional<std::size_t> watch(std::span<virtio::RingWatch> /*words*/) {
        return std::nullopt;
    }
    /// How often the far side came, went or changed its rings. Any thread.
    [[nodiscard]] std::uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
    /// Whether a frame of the far side ends the worker's sleep (wakeups.h).
    enum class Wake : std::uint8_t {
        kWill,    ///< the next one does
        kReady,   ///< there is a frame already
        kCannot,  ///< the port has to be polled
    };
    /// Asks the far side to wake the worker; forget_wake() always follows. Owning worker.
    [[nodiscard]] virtual Wake ask_for_wake() { return Wake::kCannot; }
    /// The far side need not wake the worker any more. Owning worker.
    virtual void forget_wake() {}
    /// Stages of prefetch(), in their order: each reads memory that the one before has brought.
    enum class Prefetch : std::uint8_t { kIndex, kDescriptor, kBuffer };
    /// Brings memory into the cache that the next tx_burst() reads: several ports' misses overlap where their
    /// bursts would wait for one after the other. Owning worker.
    virtual void prefetch(Prefetch /*stage*/) {}
    /// Offers `count` (<= 32) frames. @return number of frames that the port accepted and now owns; the
    /// others stay the caller's and are moved to the end of the array: those that there was no room for, in
    /// order, and behind them those that take_too_long() counts
    virtual std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) = 0;
    /// Of the frames that the last tx_burst() left, how many at the end of the array are longer than the
    /// buffers which the far side has posted: to offer them again is of no use. Owning worker.
    [[nodiscard]] std::uint16_t take_too_long() { return std::exchange(too_long_, std::uint16_t{0}); }
    /// Rings among which tx_burst() spreads frames by FlowHash; a full one does not stop the others. Any
    /// worker.
    [[nodiscard]] virtual std::uint16_t rings() const { return 1; }
    /// Bit n: ring n took frames of the last tx_burst(); of ports with several rings. Owning worker.
    [[nodiscard]] std::uint32_t took() const { return took_; }
    /// Descriptors that tx_burst() looked at since the last call, beyond those of plain buffers for its
    /// frames: the far side pays for them. Owning worker.
    [[nodiscard]] std::uint32_t take_excess() { return std::exchange(excess_, 0U); }
    /// Whether rx_burst() spent cycles on descriptors from which it could make no frame, since the last call:
    /// the far side pays. Owning worker.
    [[nodiscard]] bool take_wasted() { return std::exchange(wasted_, false); }
    /// Whether the far side is attached. Any thread.
    [[nodiscard]] virtual bool up() const = 0;
    /// Owning worker; changes only while the port is down.
    [[nodiscard]] virtual PortOffloads offloads() const = 0;
    /// Time of bursts in which costly pages of the far side's memory were not there, ns of the worker's own
    /// time, while GuestAccess measures. Any thread.
    [[nodiscard]] virtual std::uint64_t fault_time() const { return 0; }
    /// Names of the negotiated features, for reports. Agent.
    [[nodiscard]] virtual std::vector<std::string> features() const = 0;
    /// Descriptors of the far side that had an error. Any thread.
    [[nodiscard]] virtual std::uint64_t ring_errors() const { return 0; }

  protected:
    /// @param takes_left_payloads see there
    explicit Port(bool takes_left_payloads) : takes_left_payloads_(takes_left_payloads) {}

    std::atomic<std::uint32_t> epoch_{0};
    std::atomic<bool> copies_payloads_{false};
    bool owes_chains_ = false;
    bool ring_is_disabled_ = false;
    bool wasted_ = false;
    std::uint16_t too_long_ = 0;
    std::uint32_t took_ = 0;
    std::uint32_t excess_ = 0;

  private:
    bool takes_left_payloads_ = false;
};

}  // namespace weir
