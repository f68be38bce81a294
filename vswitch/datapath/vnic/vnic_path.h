// vnic_path.h - everything a worker keeps for one vNIC: identity, limits, frames that wait, counters.
// Units: bytes as accounted, ns, cycles. Threads: built by the agent; then the owning worker only, except
// `fixed` (const), which every worker reads, `queue_delay`, of which the agent takes snapshots, and the
// atomics of `pressure` and `backpressure`, which the workers of its receivers write.
//
// Order, with the commands of worker_control.h:
//     VnicPath path(make_fixed(...), make_vnic_profile(vnic, config), config.flood_limit_pps, now);
//     AddVnic{&path}            to every worker; when all have done it, the guest's rings may appear
//     ChangeVnic{id, &profile}  to the owner, which calls change()
//     RemoveVnic{id}            to every worker; when all have done it, the agent destroys the path
// RemoveVnic frees the vNIC's frames in all queues of its owner; the destructor frees those of `intake` only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/metrics.h"
#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/base/stats.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/frame_word.h"
#include "vswitch/datapath/frame/intake.h"
#include "vswitch/datapath/vnic/address_guard.h"
#include "vswitch/datapath/vnic/backpressure.h"
#include "vswitch/datapath/vnic/flood_queue.h"
#include "vswitch/datapath/vnic/mac_table.h"
#include "vswitch/datapath/vnic/spread.h"
#include "vswitch/datapath/vnic/tenant_traffic.h"
#include "vswitch/ports/port.h"
#include "vswitch/qos/buckets/limiter.h"
#include "vswitch/qos/requests/request_gate.h"
#include "vswitch/qos/schedulers/encryption_promise.h"
#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/packet_promise.h"
#include "vswitch/qos/schedulers/packet_queue.h"

namespace weir {

/// Values that may change at run time, in the datapath's units: bytes, packets or tokens, rates of them per
/// second. Made by the agent. Fields that every burst reads come first.
struct VnicProfile {
    bool limited = false;  ///< either limit is set
    bool isolated = true;  ///< false: forward only
    bool tracked = false;  ///< has appliances
    // One byte: the cache line is full.
    bool encryption_limited : 1 = false;
    bool refused : 1 = false;   ///< by the controller: its ring is left alone
    bool guarded : 1 = false;   ///< its guest's addresses are
    bool observed : 1 = false;  ///< frames to it are read: it is tracked, or learns addresses
    std::uint32_t buffers_max = 0;
    std::uint32_t run_bytes_max = limits::kRunBytesMax;  ///< longer runs pay by frame: the bucket holds less
    std::uint32_t super_frame_max = UINT32_MAX;  ///< bytes; longer ones are split before the limit (EyeQ 4.2)
    std::optional<std::uint8_t> dscp;            ///< for its frames on the wire: it has no reservation
    std::optional<std::uint8_t> pcp;             ///< likewise, where they get a VLAN tag
    std::uint32_t wake_bytes = 0;  ///< a held-back ring is taken up again when this much can be paid
    std::uint32_t cycle_shares = 100;
    BucketProfile limit_bytes = unlimited_profile();
    BucketProfile limit_packets = unlimited_profile();
    BucketProfile encryption = unlimited_profile();        ///< tokens of the tunnels' cost
    BucketProfile promised_packets = unlimited_profile();  ///< unlimited: none are promised
    // As a receiver.
    std::uint64_t receive_limit = UINT64_MAX;            ///< bytes per second from the wire
    BucketProfile receive_bucket = unlimited_profile();  ///< of all that it receives
    std::uint64_t receive_reservation = 0;               ///< bytes per second of the downlink
    std::uint32_t receive_shares = 100;                  ///< shares of the downlink
    ClassProfile uplink{};
    /// An appliance to which requests are tracked, and the tokens that these may use.
    struct Requests {
        std::uint16_t appliance = 0;  ///< index into the configuration's
        RequestGate::Profile gate;
        std::array<std::uint64_t, kPathResources> limit{};  ///< for reports: per second, UINT64_MAX = none
    };
    std::array<Requests, limits::kAppliancesPerVnic> requests{};
    std::uint8_t request_flows = 0;  ///< entries of `requests` in use
    AddressRules addresses;
    BucketProfile promised_encryption = unlimited_profile();  ///< as promised_packets
};

/// Flooded frames of weight 1 (offload.h) that may come at once.
inline constexpr std::uint64_t kFloodBurst = FloodQueue::kMax;

/// The profile of a configured vNIC, of which each appliance is in `config`. Agent. Without isolation it has
/// no limit, reservation or appliance; the address guard, `buffers_max` and `cycle_shares` hold.
[[nodiscard]] VnicProfile make_vnic_profile(const VnicConfig& vnic, const SwitchConfig& config);
/// The profile of a vNIC that the controller refuses: nothing is reserved for it, its shares are the
/// smallest, and if its service is kHold its ring is left alone.
[[nodiscard]] VnicProfile make_refused_profile(VnicConfig vnic, const SwitchConfig& config,
                                               OnRefused service);

/// The profile of each member of a vNIC that is spread, which has this one: all but its part of the buffers.
[[nodiscard]] VnicProfile make_member_profile(VnicProfile whole, std::size_t members);

/// Values that never change while the vNIC lives, but for its owner (Worker::give()).
struct VnicFixed {
    VnicId id = kNoVnic;
    VnicId home = kNoVnic;          ///< its first member's id, or its own (spread.h)
    VnicGeneration generation = 0;  ///< differs from that of the vNIC that had the id before
    WorkerId owner = 0;
    Port* port = nullptr;
    std::uint64_t mac = 0;       ///< 48 bits, first wire byte lowest; 0: none
    std::uint64_t mac_mask = 0;  ///< 48 ones with anti-spoofing, 0 without
    std::uint16_t vlan = 0;
    std::uint32_t frame_bytes_max = 0;  ///< MTU + Ethernet header, without tags
    std::uint32_t overhead_bytes = 0;   ///< accounted per wire frame on top of its length
    std::uint16_t tag_bytes = 0;        ///< more per wire frame on the uplink: its VLAN tag
    bool anti_spoofing = true;
    bool encrypted = false;  ///< over the wire in tunnels only
    TenantSlot tenant = 0;   ///< of the agent's list of tenants

    [[nodiscard]] bool is_home() const { return home == id; }
};

/// @param id free, below limits::kVnicsMax  @param port outlives the path
/// @param generation one more than that of the last vNIC with this id, modulo 2^kVnicGenerationBits
[[nodiscard]] VnicFixed make_fixed(VnicId id, WorkerId owner, Port* port, const VnicConfig& vnic,
                                   const SwitchConfig& config, VnicGeneration generation = 0);

/// Another member of a vNIC that is spread. @param home the first one  @param id, generation as make_fixed()
[[nodiscard]] VnicFixed make_member(const VnicFixed& home, VnicId id, WorkerId owner, Port* port,
                                    VnicGeneration generation);

/// The frame goes to this vNIC, now or when it has waited: writes the mbuf's `hash.usr` (frame_word.h).
inline void set_destination(rte_mbuf* frame, const VnicFixed& to, FrameOrigin origin = FrameOrigin::kVm) {
    FrameWord{to.id, origin, to.generation}.write_to(frame);
}

/// Frames on their way to one VM, gathered while one port is polled. Only Delivery touches it; it is empty
/// between two poll turns.
struct Staging {
    std::uint16_t count = 0;
    bool copies = false;  ///< of flooded frames
    std::uint32_t bytes = 0;
    std::uint32_t longest = 0;
    std::uint64_t offload_flags = 0;
    std::array<rte_mbuf*, limits::kBurst> frames;
};

/// Laid out by use: a burst reads `fixed`, `state`, the limiter and the tallies, a cache line each; large
/// frames push everything out of the first-level cache, so lines count.
struct VnicPath {
    /// @param flood_pps bound on flooded frames: weights (offload.h) per second
    /// @param spread of which it is member `index`, outlives it; null: of none
    VnicPath(const VnicFixed& what, const VnicProfile& profile, std::uint64_t flood_pps, Nanos now,
             Spread* spread = nullptr, std::size_t index = 0);

    /// Copies a changed profile; waiting frames go on waiting under its rates, and without `learns` the guard
    /// forgets. Then RingPoller::change(), Stages::change() and the cycle shares follow (change_vnic()).
    void change(const VnicProfile& profile, Nanos now);

    /// Frames from the VM wait for a limit, the uplink, their copies or an appliance.
    [[nodiscard]] bool backlogged() const { return stats.from_vm.queued.packets != 0; }
    /// A promise allows a poll of the ring that its share of the cycles does not.
    [[nodiscard]] bool promise_pays(Nanos now) const {
        return (promise.given() && promise.may_poll(now)) ||
               (encryption_promise.given() && encryption_promise.may_poll(now));
    }
    /// Divides the vNIC's class anew. @return another part than before
    bool refresh_part();
    [[nodiscard]] bool receive_limited() const { return !profile.receive_bucket.unlimited(); }

    VnicFixed fixed;  ///< const, but for the owner, which is another when all workers have stood still
    alignas(64) std::uint64_t quiet_until = 0;  ///< cycles: the ring is left to fill until then
    bool parked = false;                        ///< in the timing wheel: the limit cannot pay
    bool held = false;                          ///< the ring is left alone since held_since, for held_for
    HoldReason held_for = HoldReason::kLimit;
    bool promised : 1 = false;                 ///< `promise` or `encryption_promise` is given
    bool captured : 1 = false;                 ///< frames that pass are shown to captures
    bool silent : 1 = false;                   ///< its ring is not polled until it changes (silent_rings.h)
    bool leaving : 1 = false;                  ///< its ring is left alone: it goes to another worker
    std::uint16_t empty_polls = 0;             ///< of its ring, since it last gave a frame
    std::uint32_t queued_buffers = 0;          ///< of its frames in queues of this worker, receivers' too
    std::uint32_t frame_bytes_mean = 1538;     ///< of the last burst, to ask for no more than the tokens pay
    std::uint32_t burst_max = limits::kBurst;  ///< frames of one poll, so that copying them takes some 20 us
    BurstPressure pressure;                    ///< whether it, or a receiver of its frames, is too slow
    Nanos burst_changed = 0;                   ///< when burst_max did
    Nanos held_since = 0;
    Intake intake;
    VnicProfile profile;
    Limiter limiter;
    VnicStats stats;
    Staging staging;            ///< towards this VM
    Backpressure backpressure;  ///< of the receivers of its frames
    SharableBucket encryption;  ///< in debt the ring is left alone
    PacketPromise promise;      ///< packets taken from its ring independent of other vNICs
    SharableBucket flood;       ///< weights/s of broadcast, multicast, unknown
    PacketQueue local;  ///< to other VMs, waiting for the limit; those for the uplink are in its scheduler
    FloodQueue floods;  ///< to all of the VLAN, waiting to be copied
    std::uint64_t drain_rate =
        UINT64_MAX;         ///< bytes per second that the VM takes of the wire, if it is behind
    Histogram queue_delay;  ///< of the packets that waited; the other admitted packets waited 0 ns
    AddressGuard guard;
    EncryptionPromise encryption_promise;  ///< as `promise`; behind the others, as few vNICs have one
    Nanos longest_delay = 0;               ///< of queue_delay since the last sample (readings.h)
    ClassProfile uplink;                   ///< the profile's; a member's part of it
    std::optional<SpreadMember> member;    ///< of a vNIC that is spread

    /// The frames of a burst had this length in the mean, in accounted bytes, 1 at least. A burst of long
    /// ones shrinks the next at once, and without long ones it grows by a frame per 2 ms, so that a VM
    /// that alternates gains little: 32 small bursts and one of 2 MiB, again and again, are no more than
    /// a burst of 2 MiB per 64 ms.
    void note_frame_bytes(std::uint32_t mean, Nanos now) {
        constexpr std::uint32_t kBurstBytes = 128 * 1024;
        constexpr Nanos kGrowth = 2'000'000;
        frame_bytes_mean = mean;
        if (mean > kBurstBytes / limits::kBurst) [[unlikely]] {
            burst_max = std::max(kBurstBytes / mean, 1U);
            burst_changed = now;
        } else if (burst_max < limits::kBurst && now - burst_changed >= kGrowth) [[unlikely]] {
            ++burst_max;
            burst_changed = now;
        }
    }

    /// A burst goes to this destination. Floods do not count: every VM sends some.
    void note_destination(Destination to, Nanos now) {
        if (to == pressure.last || to == kToAll) [[likely]]
            return;
        if (pressure.last != kToAll)
            backpressure.changed = now;
        pressure.last = to;
    }

    /// A packet leaves after it has waited.
    void note_delay(Nanos waited) {
        queue_delay.add(waited);
        longest_delay = std::max(longest_delay, waited);
    }

    /// Starts to count the time for which the ring is held back, or goes on for another reason. It counts
    /// only: the caller leaves the ring alone, and ends the time with release().
    void hold(HoldReason reason, Nanos now) {
        if (held && held_for == reason)
            return;
        release(now);
        held = true;
        held_for = reason;
        held_since = now;
    }
    /// The ring has been held back for this reason, and no other, for `span` now.
    [[nodiscard]] bool held_for_as_long(HoldReason reason, Nanos span, Nanos now) const {
        return held && held_for == reason && now - held_since >= span;
    }
    void release(Nanos now) {
        if (!held)
            return;
        stats.held_ns[static_cast<std::size_t>(held_for)] += now - held_since;
        held = false;
    }
};

}  // namespace weir
