// vhost_rings.h - the rings of one guest that one worker polls: the worker's bursts on them.
// Source: vhost-user protocol. Units: frames; rings.
// Threads: bursts by the owning worker; publish() to serve() by one thread at a time, which vhost_port.h sees
// to.
//
// The worker reads one pointer to a virtio::Device. VhostPort publishes, hides and reclaims the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/metrics.h"
#include "vswitch/ports/fault_meter.h"
#include "vswitch/ports/foreign_files.h"
#include "vswitch/ports/guest_access.h"
#include "vswitch/ports/notifier.h"
#include "vswitch/ports/port.h"
#include "vswitch/ports/signal_pace.h"
#include "vswitch/ports/signal_relay.h"
#include "vswitch/ports/virtio/device.h"
#include "vswitch/ports/wakeups.h"

namespace weir {

class VhostRings final : public Port {
  public:
    /// @param pool of the owning worker; outlives this
    /// @param notifier of the owning worker; outlives this
    /// @param access of the owning worker; outlives this
    /// @param relay for signals that take long, and those of other threads; outlives this
    /// @param wakeups of the owning worker; outlives this; null: it never sleeps
    /// @param rings_least that rings() gives, also while there is no device
    VhostRings(rte_mempool* pool, Notifier& notifier, GuestAccess& access, SignalRelay& relay,
               Wakeups* wakeups, std::uint16_t rings_least);
    ~VhostRings() override;

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    void return_chains() override;
    [[nodiscard]] std::uint64_t straight_frames() const override { return straight_.value(); }
    /// With several rings, of the next one in turn at each call.
    [[nodiscard]] std::optional<std::uint64_t> peek_destination() override;
    [[nodiscard]] std::optional<std::size_t> watch(std::span<virtio::RingWatch> words) override;
    [[nodiscard]] Wake ask_for_wake() override;
    void forget_wake() override;
    /// Of the only ring: with several the frames' flows decide.
    void prefetch(Prefetch stage) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    [[nodiscard]] std::uint16_t rings() const override { return rings_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool up() const override { return up_.load(std::memory_order_relaxed); }
    [[nodiscard]] PortOffloads offloads() const override;
    [[nodiscard]] std::vector<std::string> features() const override;
    [[nodiscard]] std::uint64_t ring_errors() const override { return ring_errors_.value(); }
    /// Why a ring is stopped until its driver sets it up again; empty when none is. Any thread.
    [[nodiscard]] std::string ring_fault() const;
    [[nodiscard]] std::uint64_t fault_time() const override { return meter_.time(); }
    /// Why another thread interrupts the guest's drivers; empty: its worker does. Any thread.
    [[nodiscard]] std::string signal_fault() const;

    /// The worker polls these rings from now on; it has no device.
    void publish(std::unique_ptr<virtio::Device> device, std::uint64_t negotiated);
    /// The worker finds no device any more. @return it may still use one: wait for quiescence before
    /// reclaim()
    [[nodiscard]] bool hide() {
        const bool used = device_.exchange(nullptr) != nullptr;
        begin_epoch();
        return used;
    }
    /// Ends the hidden device and gives the library its indices.
    void reclaim();
    [[nodiscard]] bool is_reclaimed() const { return published_ == nullptr; }
    /// Ends the worker's sleep: after something that it may find has changed, and was counted.
    void wake_worker() {
        if (wakeups_ != nullptr)
            wakeups_->ring();
    }
    /// Interrupts the drivers of the published rings that are not in `done`: a device before this one may
    /// have shown chains and ended before it signalled. @param done bit n: not ring n @return bit n: the
    /// device has ring n
    std::uint32_t wake_drivers(std::uint32_t done);
    /// The guest has gone; its device is reclaimed.
    void take_down() { up_.store(false, std::memory_order_relaxed); }
    /// The next burst begins with a RARP frame of this MAC address.
    /// @param mac 48 bits, first wire byte lowest
    void announce(std::uint64_t mac);
    /// Another worker polls from now on, and its pool's buffers are taken. Neither is polling.
    void serve(Notifier& notifier, GuestAccess& access, Wakeups* wakeups, rte_mempool* pool);

  private:
    /// The worker is at this guest's rings for a scope.
    class Visit {
      public:
        explicit Visit(VhostRings& rings) : rings_(rings) { rings.access_->enter(rings); }
        ~Visit() { rings_.access_->leave(); }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

      private:
        VhostRings& rings_;
    };
    /// For a burst, whose page faults are counted while that is wished. Where payloads of another guest are
    /// read, too, they are not this guest's alone.
    class BurstVisit {
      public:
        explicit BurstVisit(VhostRings& rings) : visit_(rings), rings_(rings) {
            if (rings.access_->measures()) [[unlikely]]
                measured_ = rings.meter_.begin();
        }
        ~BurstVisit() {
            if (measured_) [[unlikely]]
                rings_.meter_.end(rings_.access_->lender() == nullptr || rings_.access_->lender() == &rings_);
        }
        [[nodiscard]] bool measured() const { return measured_; }
        BurstVisit(const BurstVisit&) = delete;
        BurstVisit& operator=(const BurstVisit&) = delete;

      private:
        Visit visit_;
        VhostRings& rings_;
        bool measured_ = false;
    };
    void begin_epoch() { epoch_.fetch_add(1, std::memory_order_release); }
    void watch_kicks();
    void forget_kicks();
    std::uint16_t settle(virtio::Lane& lane, const virtio::BurstResult& result);
    /// @return cycles beyond those of a signal to one waiter
    std::uint64_t interrupt(const virtio::Lane& lane);
    [[gnu::noinline]] void note_fault(std::uint16_t ring, virtio::RingFault fault);
    [[gnu::noinline]] rte_mbuf* make_announcement();
    std::uint16_t tx_lane(virtio::Device& device, virtio::Lane& lane, std::span<rte_mbuf*> frames,
                          std::uint16_t& too_long);

    // A burst finds these in one line with the flags of Port: the other thread of its core may use the cache.
    rte_mempool* pool_;
    GuestAccess* access_;
    virtio::Lane* owing_ = nullptr;  ///< of the device in use, whose used chains the driver does not see yet
    Counter straight_;
    // Touched when something is unusual, or a driver wants an interrupt.
    Notifier* notifier_;
    Counter ring_errors_;
    std::atomic<std::uint32_t> fault_{0};  ///< of a ring that is stopped: its number << 8 | RingFault
    FaultMeter meter_;
    SignalPace pace_;
    SignalRelay& relay_;
    SignalRelay::Line line_;
    // The control side's own.
    Wakeups* wakeups_;
    std::uint16_t rings_least_;
    std::unique_ptr<virtio::Device> published_;  ///< until reclaim(), which may be later than hide()
    std::vector<FileHandle> kicks_;              ///< of its rings, watched by the worker's wakeups
    // Written by the control thread.
    alignas(64) std::atomic<virtio::Device*> device_{nullptr};
    std::atomic<std::uint64_t> announced_{0};  ///< MAC address and bit 63; the worker clears it
    std::atomic<std::uint64_t> negotiated_{0};
    std::atomic<std::uint16_t> rings_;  ///< receive rings of the last device
    std::atomic<bool> up_{false};
};

}  // namespace weir
