// egress.h - the rules around the scheduler for packets on their way from vNICs to the link.
// Source: EyeQ 3.3, 4.2; Pulsar 4.4; docs/algorithms.md 3.1.
// Units: accounted bytes; rates in bytes per second; ns. Threads: one owner (a worker).
//
// A packet takes these steps; the switch's uplink and the simulator's hosts call the same ones:
// - find_limit(): does its destination have a limiter, set by feedback or by the controller?
// - try_bypass(): if nothing waits before the packet, and link, vNIC limit and destination limiter can pay,
//   it pays and leaves.
// - enqueue(): else it waits in its vNIC's queue, where it may get a congestion mark, or in its destination's
//   queue; it is dropped when that queue is full.
// - dequeue_burst(): the scheduler gives the packets that may leave, in order and paid for.
//
// Example: a guest sends 1 Gbit/s to a destination whose receiver advertises 10 Mbit/s. Two frames bypass:
// the limiter's burst is 3,076 bytes. The next ones wait in the destination's queue, which is full (128 KiB)
// after 1.1 ms; then one frame leaves every 1.2 ms and all others are dropped. They carry no marks: the
// receiver that set the rate would take a mark for congestion in the network, and lower the rate. Frames to
// other destinations bypass all the while. Had the link been the bottleneck instead, the vNIC's own queue
// would mark from 96 KiB on, and at 128 KiB the switch would leave the guest's ring alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "vswitch/base/drop_reason.h"
#include "vswitch/base/limits.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/feedback/destination_sample.h"
#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir {

class Egress {
  public:
    /// A vNIC's queue marks packets while more than this waits in it. EyeQ marks at 100 KB of 128 KB.
    static constexpr std::uint64_t kMarkBytes = limits::kQueueBytesMax * 3 / 4;

    struct Setup {
        const SchedulerEntry* scheduler = &kSchedulers.front();
        TimingWheel* wheel = nullptr;            ///< outlives this; calls wake() and wake_destination()
        std::uint32_t vnics = 0;                 ///< VnicIds are 0 .. vnics-1
        std::uint32_t vnic_wheel_id = 0;         ///< wheel id of vNIC 0
        std::uint32_t destinations = 0;          ///< that may have a limiter at once, a power of two, or 0
        std::uint32_t destination_wheel_id = 0;  ///< wheel id of destination 0
        DestinationLimits::Profile limits;
    };
    /// The use of a destination with an allocation.
    struct Usage {
        std::uint64_t bytes = 0;   ///< sent since the allocation began
        std::uint64_t queued = 0;  ///< bytes that wait; 0 while a lower rate of the receiver holds them
        std::uint64_t refused =
            0;  ///< bytes for which the queue had no room, without those that the receiver held
    };

    /// Allocates everything. The link starts without capacity.
    explicit Egress(const Setup& setup);

    // Changes; not per packet.

    /// @param limit the vNIC's own; outlives the vNIC here; may be null
    void add(VnicId vnic, const ClassProfile& profile, Limiter* limit, Nanos now) {
        scheduler_->add(vnic, profile, limit, now);
    }
    /// Also to be called when the vNIC's limit was changed.
    void change(VnicId vnic, const ClassProfile& profile, Nanos now) {
        scheduler_->change(vnic, profile, now);
    }
    /// Gives every packet that waits to drop(const PacketRef&), oldest of each queue first.
    template <typename Drop>
    void remove(VnicId vnic, Nanos now, Drop&& drop);
    void set_capacity(std::uint64_t bytes_per_sec, std::uint64_t reservable, Nanos now) {
        scheduler_->set_capacity(bytes_per_sec, reservable, now);
    }
    void set_capacity(std::uint64_t bytes_per_sec, Nanos now) {
        scheduler_->set_capacity(bytes_per_sec, now);
    }
    [[nodiscard]] std::uint64_t capacity() const { return scheduler_->capacity(); }

    /// A receiver's switch advertises `rate` for the vNIC's packets to `address`.
    /// @param address_of (const PacketRef&) gives a packet's destination address: packets that wait already
    /// move to the destination's queue when it opens  @return kFull also when the queues have no room for
    /// those
    template <typename AddressOf>
    DestinationLimits::Change on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                          std::uint32_t sequence, Nanos now, AddressOf&& address_of) {
        return apply(limits_.on_feedback(vnic, address, rate, sequence, now), vnic, address, now, address_of);
    }
    /// The controller allocates a rate (UINT64_MAX: counts only), or withdraws it (nullopt); see
    /// DestinationLimits::allocate().
    template <typename AddressOf>
    DestinationLimits::Change allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate,
                                       Nanos now, AddressOf&& address_of) {
        return apply(limits_.allocate(vnic, address, rate, now), vnic, address, now, address_of);
    }
    /// 0 of a destination without an allocation.
    [[nodiscard]] Usage usage(VnicId vnic, std::uint64_t address) const;
    /// Visits some destinations: halves rates without feedback, erases limiters that are idle. To be called
    /// at least 10 times per DestinationLimits::Profile::silence.
    void sweep(Nanos now);
    [[nodiscard]] const DestinationLimits& limits() const { return limits_; }
    /// Some addresses without an allocation that packets went to.
    void take_destinations(DestinationSample::Taken& out) { sample_.take(out); }

    // Per packet, or per run of packets.

    /// The limiter of the packet's destination, if any; it counts as used.
    [[nodiscard]] DestinationId find_limit(VnicId vnic, std::uint64_t address, Nanos now) {
        const DestinationId destination = limits_.find(vnic, address);
        if (destination != kNoDestination)
            limits_.touch(destination, now);
        if (destination == kNoDestination || !limits_.is_allocated(destination))
            sample_.note(vnic, address);
        return destination;
    }
    /// One of the addresses of a run that needs no find_limit(), as the vNIC has no limited destination.
    void note_destination(VnicId vnic, std::uint64_t address) { sample_.note(vnic, address); }
    /// The destination's limiter lets super-frames pass unsplit.
    [[nodiscard]] bool takes_super_frames(VnicId vnic, std::uint64_t address) const {
        const DestinationId destination = limits_.find(vnic, address);
        return destination == kNoDestination || limits_.rate(destination) >= limits::kSuperFrameRateMin;
    }

    /// Past the queues: everything that limits the packet can pay, and has paid when this is true. A run of
    /// packets without limited destinations may pay as one.
    /// @param limit the vNIC's own; null: none  @param frames wire frames of `bytes`
    [[nodiscard]] bool try_bypass(VnicId vnic, DestinationId destination, Limiter* limit, std::uint32_t bytes,
                                  std::uint32_t frames, Nanos now) {
        if (!can_bypass(vnic, bytes, now) || !can_pay(destination, bytes, now) ||
            (limit != nullptr && !limit->admit({bytes, frames}, now)))
            return false;
        pay(destination, bytes, now);
        charge_bypassed(vnic, bytes, now);
        return true;
    }
    /// The same for vNICs without isolation: only packets that wait in their own queues are respected,
    /// because no frame may overtake them, and nothing is charged.
    [[nodiscard]] bool try_bypass_unisolated(VnicId vnic, DestinationId destination, std::uint32_t bytes) {
        if (scheduler_->backlog_packets(vnic) != 0 ||
            (destination != kNoDestination && !scheduler_->destination(destination).empty()))
            return false;
        if (destination != kNoDestination)
            limits_.count(destination, bytes);
        return true;
    }

    // The parts of try_bypass(), for runs whose packets have several destinations: link and class are asked
    // once, destinations packet by packet, and the bytes that have passed are charged at the end.

    [[nodiscard]] bool can_bypass(VnicId vnic, std::uint32_t bytes, Nanos now) const {
        return scheduler_->can_bypass(vnic, bytes, now);
    }
    /// Nothing waits for the destination and its limiter can pay; always true without one.
    [[nodiscard]] bool can_pay(DestinationId destination, std::uint32_t bytes, Nanos now) const {
        return destination == kNoDestination || scheduler_->destination_pays(destination, bytes, now);
    }
    void pay(DestinationId destination, std::uint32_t bytes, Nanos now) {
        if (destination == kNoDestination)
            return;
        limits_.limiter(destination).pay(bytes, now);
        limits_.count(destination, bytes);
    }
    void charge_bypassed(VnicId vnic, std::uint32_t bytes, Nanos now) {
        scheduler_->bypass(vnic, bytes, now);
    }
    /// Something that no vNIC has sent used the link.
    void charge_link(std::uint32_t bytes, Nanos now) { scheduler_->charge_link(bytes, now); }

    /// Whether another burst of the vNIC may be taken from its ring.
    [[nodiscard]] bool has_room(VnicId vnic) const { return scheduler_->room(vnic) != 0; }
    /// Queues the packet. mark() is called before when the packet is to carry a congestion mark.
    /// @return why the packet is to be dropped; nullopt when it was taken
    template <typename Mark>
    [[nodiscard]] std::optional<DropReason> enqueue(VnicId vnic, DestinationId destination,
                                                    const PacketRef& packet, Nanos now, Mark&& mark) {
        if (destination != kNoDestination) {
            if (scheduler_->enqueue(vnic, destination, packet, now))
                return std::nullopt;
            limits_.count_refused(destination, packet.bytes);
            return DropReason::kDestinationCongested;
        }
        if (scheduler_->backlog_bytes(vnic) > kMarkBytes)
            mark();
        if (!scheduler_->enqueue(vnic, packet, now))
            return DropReason::kQueueFull;
        return std::nullopt;
    }
    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) {
        return scheduler_->dequeue_burst(now, out);
    }
    /// To be called for every packet of dequeue_burst(): counts the bytes to destinations with an allocation.
    template <typename AddressOf>
    void count_departure(VnicId vnic, const PacketRef& packet, AddressOf&& address_of) {
        if (!limits_.has_allocated(vnic))
            return;
        if (const DestinationId destination = limits_.find(vnic, address_of(packet));
            destination != kNoDestination)
            limits_.count(destination, packet.bytes);
    }
    [[nodiscard]] bool backlogged() const { return scheduler_->backlogged(); }
    /// Of the vNIC's queue, without those of destinations; see LinkScheduler.
    [[nodiscard]] Nanos backlog_since(VnicId vnic) const { return scheduler_->backlog_since(vnic); }
    /// See LinkScheduler::next_ready().
    [[nodiscard]] Nanos next_ready(Nanos now) const { return scheduler_->next_ready(now); }

    /// The wheel fired for a vNIC, or for a destination.
    void wake(VnicId vnic, Nanos now) { scheduler_->wake(vnic, now); }
    void wake_destination(DestinationId destination, Nanos now) {
        scheduler_->wake_destination(destination, now);
    }

  private:
    template <typename AddressOf>
    DestinationLimits::Change apply(const DestinationLimits::Result& result, VnicId vnic,
                                    std::uint64_t address, Nanos now, AddressOf& address_of);

    std::unique_ptr<LinkScheduler> scheduler_;
    DestinationLimits limits_;
    DestinationSample sample_;
};

template <typename Drop>
void Egress::remove(VnicId vnic, Nanos now, Drop&& drop) {
    limits_.erase_vnic(
        vnic, [&](DestinationId destination) { scheduler_->close_destination(destination, now, drop); });
    scheduler_->drain(vnic, drop);
    scheduler_->remove(vnic, now);
}

/// Makes the scheduler follow a change of the limits.
template <typename AddressOf>
DestinationLimits::Change Egress::apply(const DestinationLimits::Result& result, VnicId vnic,
                                        std::uint64_t address, Nanos now, AddressOf& address_of) {
    using Change = DestinationLimits::Change;
    const auto [change, destination] = result;
    if (change == Change::kChanged)
        scheduler_->rate_changed(destination, now);
    if (change != Change::kOpened)
        return change;
    const auto belongs = [&](const PacketRef& packet) { return address_of(packet) == address; };
    if (scheduler_->open_destination(destination, vnic, &limits_.limiter(destination), now, belongs))
        return change;
    limits_.erase(destination);
    return Change::kFull;
}

}  // namespace weir
