// fan_in.h - packets that wait for receivers whose rings are full, or that are above their receivers' limits:
// a queue for each sender, served by the senders' reservations first and then by their shares.
// Source: EyeQ 3.3 (WRR root); DRR (SIGCOMM'95); SoftBW 5.1; docs/algorithms.md 4.6. Units: accounted bytes;
// bytes per second; ns. Threads: one owner (a worker). Allocates only when built.
//
// Several VMs send to one VM whose ring is full. First come, first served would give the next free place to
// the sender with the largest burst. Here every sender to a receiver has a *claim* with a queue of its own.
// stage() picks the packets that are delivered next: one packet of each claim whose reservation is due, in
// turn, then deficit round robin by shares. A packet that is picked by shares is charged to the reservation
// as well: a sender gets its reservation or its part by shares, whichever is more, and not their sum. A
// picked packet stays in its queue until the ring has taken it.
//
// Example: eight senders of equal shares flood a VM that takes 1 Gbit/s, one of them with a reservation of
// 250 Mbit/s. Round robin alone would give each 125. The reserved one is owed 250; it gets that, and the
// other seven get 750 / 7 = 107 Mbit/s each.
//
// A claim lives until nothing waits for its receiver any more, so that a queue that runs empty for a moment
// earns no second credit.
//
// A receiver with several rings has further lines, assign(), each like a receiver of its own: frames that
// wait for one of its rings do not stop the others. Their claims are the senders' again; the limit is the
// receiver's.
//
// Places and claims are divided among vNICs (shared_room.h): as a sender each has some of its own; as a
// receiver it has a claim and buffers of its own for other workers' frames, and as many for the wire's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/shared_room.h"
#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/bitmap_tree.h"
#include "vswitch/qos/buckets/sharable_bucket.h"
#include "vswitch/qos/schedulers/deficit_round_robin.h"
#include "vswitch/qos/schedulers/place_pool.h"
#include "vswitch/qos/schedulers/time_to_send.h"

namespace weir {

/// The sender of a packet: a vNIC of this worker by its id, or one of the groups below.
using SenderId = std::uint16_t;
inline constexpr SenderId kFromWorkers = limits::kVnicsMax;  ///< vNICs of this host's other workers
inline constexpr SenderId kFromWire = kFromWorkers + 1;
inline constexpr std::size_t kSenderIds = kFromWire + 1;

/// A line of packets that wait: that of a receiver, which has its id, or one of those behind them.
using LineId = std::uint16_t;

/// The reservation and the shares of a sender at a receiver.
struct SenderClaim {
    std::uint64_t reservation = 0;  ///< bytes per second; 0 = none
    std::uint32_t shares = 100;
};

class FanIn {
  public:
    /// Pairs of a sender and a receiver for which packets wait.
    static constexpr std::size_t kClaimsMax = 4096;
    /// Receivers for which one vNIC's packets may wait: bounds the look-up of a claim.
    static constexpr std::uint32_t kReceiversPerSender = 16;
    static constexpr std::size_t kGroups = kSenderIds - kFromWorkers;
    /// Claims of the vNICs as senders: one each, and in common those that the groups in all lines leave.
    static constexpr SharedRoom::Size kSenderClaims = SharedRoom::divide(
        kClaimsMax - kGroups * (limits::kVnicsMax + limits::kRingLinesMax), kFromWorkers, 1);
    static_assert(kSenderClaims.common != 0);

    /// The room for all receivers together.
    struct Room {
        std::size_t receivers = 0;
        SharedRoom::Size packets;  ///< of the vNICs of this worker, by sender
        SharedRoom::Size buffers;  ///< of the groups' packets, by user_of()
        std::size_t lines = 0;     ///< besides one for each receiver; their ids are behind the receivers'
    };
    /// The user of Room::buffers for a group at a receiver.
    [[nodiscard]] static constexpr std::size_t user_of(VnicId receiver, SenderId group) {
        return receiver * kGroups + group - kFromWorkers;
    }
    explicit FanIn(const Room& room);

    /// The rate at which the receiver takes frames at most, from all senders together.
    /// @param share of a limit that other workers share; null: the limit is its own
    void set_limit(VnicId receiver, const BucketProfile& limit, Nanos now, BucketShare* share = nullptr) {
        receivers_[receiver].limit.share(share);
        receivers_[receiver].limit.set_profile(limit, now);
    }
    /// The receiver's limit goes on at the level that it has there.
    void take_limit(VnicId receiver, FanIn& from) {
        receivers_[receiver].limit = std::exchange(from.receivers_[receiver].limit, SharableBucket());
    }
    /// The next receiver with this id has a limit of its own.
    void forget_limit(VnicId receiver) { receivers_[receiver].limit = SharableBucket(); }
    /// Makes an empty line, of those behind the receivers', one of this receiver. The calls below that name a
    /// receiver concern one line, but for its limit.
    void assign(LineId line, VnicId receiver) { receivers_[line].owner = receiver; }
    /// The receiver's limit can pay for the bytes, and has paid when this is true; waiting packets do not
    /// matter.
    [[nodiscard]] bool pays(VnicId receiver, std::uint32_t bytes, Nanos now);
    /// Past the queues: nothing waits for the receiver, and its limit pays for the bytes.
    [[nodiscard]] bool admit(VnicId receiver, std::uint32_t bytes, Nanos now);
    /// Pays `bytes` back to the receiver's limit: admit() or stage() has charged them, and the ring did not
    /// take them.
    void give_back(VnicId receiver, std::uint32_t bytes) { receivers_[receiver].limit.give_back(bytes); }

    /// @return false when its sender has no place for it, or no claim; the packet was not taken
    [[nodiscard]] bool push(VnicId receiver, SenderId sender, const SenderClaim& claim,
                            const PacketRef& packet, Nanos now);
    /// The vNIC's claims at all receivers changed; those of its packets that wait follow.
    void change(VnicId sender, const SenderClaim& claim, Nanos now);
    /// That of one sender at one receiver.
    void change(VnicId receiver, SenderId sender, const SenderClaim& claim, Nanos now);

    /// Picks packets for the receiver until `most` are picked, its limit does not pay, or none waits.
    /// @return how many are picked now
    std::uint32_t stage(VnicId receiver, std::uint32_t most, Nanos now);
    /// The picked packets, in order: see(const PacketRef&).
    template <class See>
    void staged(VnicId receiver, See&& see) const {
        const Receiver& r = receivers_[receiver];
        places_.visit(r.next, r.next.packets, see);
    }
    /// The receiver has taken the first picked packet, or it is to be dropped: take(packet, sender).
    template <class Take>
    void pop(VnicId receiver, Take&& take) {
        Receiver& r = receivers_[receiver];
        pop_of(r, r.next, take);
    }

    /// Removes all that waits for the receiver: take(packet, sender).
    template <class Take>
    void drain_receiver(VnicId receiver, Take&& take);
    /// Removes all that the vNIC has sent: take(packet, receiver).
    template <class Take>
    void drain_sender(SenderId sender, Take&& take);

    [[nodiscard]] bool empty() const { return waiting_.empty(); }
    /// The receivers for which packets wait, in no particular order.
    [[nodiscard]] std::span<const VnicId> waiting() const { return waiting_; }
    [[nodiscard]] bool waits(VnicId receiver) const { return receivers_[receiver].packets != 0; }
    /// Bytes that wait from one sender for one receiver, with those that are picked.
    [[nodiscard]] std::uint32_t bytes(VnicId receiver, SenderId sender) const {
        const ClaimId at = find(receiver, sender);
        return at == kNone ? 0 : claims_[at].bytes;
    }
    /// The vNIC has places for so many packets more.
    [[nodiscard]] bool has_room(VnicId sender, std::uint32_t packets) const {
        return packets_.fits(sender, packets);
    }

  private:
    using ClaimId = std::uint16_t;
    static constexpr ClaimId kNone = UINT16_MAX;
    using Members = BitmapTree<kClaimsMax>;

    struct Claim {
        PlacePool::Chain queue;  ///< without packets that are picked
        TimeToSend reserved;
        DrrAccount by_shares;
        std::uint32_t bytes = 0;  ///< with those that are picked
        std::uint32_t shares = 100;
        SenderId sender = 0;
        VnicId receiver = kNoVnic;
        ClaimId next_of_receiver = kNone;
        ClaimId next_of_sender = kNone;  ///< or of the free ones
    };
    struct Receiver {
        PlacePool::Chain next;  ///< picked
        SharableBucket limit;
        Members active;    ///< claims with packets that are not picked
        Members reserved;  ///< active claims with a reservation
        DeficitRoundRobin<kClaimsMax> turns;
        std::size_t reserved_turn = 0;
        std::uint32_t packets = 0;      ///< that wait, with those that are picked
        std::uint32_t most_shares = 0;  ///< of any of its claims
        std::uint32_t place = 0;        ///< in waiting_
        ClaimId claims = kNone;
        VnicId owner = kNoVnic;  ///< whose line it is: its limit holds, and its buffers are used
        std::array<ClaimId, kGroups> groups{kNone, kNone};  ///< claims of the groups
    };

    [[nodiscard]] SharableBucket& limit_of(const Receiver& r) { return receivers_[r.owner].limit; }
    [[nodiscard]] ClaimId find(VnicId receiver, SenderId sender) const;
    [[nodiscard]] bool may_claim(SenderId sender);
    [[nodiscard]] ClaimId find_or_add(VnicId receiver, SenderId sender, const SenderClaim& claim, Nanos now);
    void set_claim(Claim& claim, const SenderClaim& what, Nanos now);
    void change_claim(ClaimId at, const SenderClaim& what, Nanos now);
    void set_quanta(Receiver& r);
    [[nodiscard]] bool pick(Receiver& r, ClaimId at, Nanos now);
    void stage_reserved(Receiver& r, std::uint32_t most, Nanos now);
    void stage_by_shares(Receiver& r, std::uint32_t most, Nanos now);
    void move(Receiver& r, ClaimId at);
    void leave(Receiver& r, ClaimId at);
    void departed(Receiver& r, ClaimId at, const PacketRef& packet);
    void remove(Receiver& r, ClaimId at);
    template <class Take>
    void pop_of(Receiver& r, PlacePool::Chain& queue, Take&& take) {
        const PacketRef packet = places_.front(queue);
        const ClaimId at = places_.front_tag(queue);
        const SenderId sender = claims_[at].sender;
        places_.pop(queue);
        departed(r, at, packet);
        take(packet, sender);
    }

    PlacePool places_;
    SharedRoom packets_;
    SharedRoom buffers_;
    SharedRoom sender_claims_;
    std::vector<Receiver> receivers_;
    std::vector<Claim> claims_;
    std::vector<ClaimId> of_sender_;
    std::vector<VnicId> waiting_;
    ClaimId free_ = 0;  ///< first of a list
};

template <class Take>
void FanIn::drain_receiver(VnicId receiver, Take&& take) {
    Receiver& r = receivers_[receiver];
    while (r.packets != 0) {
        if (r.next.empty())
            move(r, static_cast<ClaimId>(r.active.find_from(0)));
        pop(receiver, take);
    }
}

template <class Take>
void FanIn::drain_sender(SenderId sender, Take&& take) {
    while (of_sender_[sender] != kNone) {
        const ClaimId at = of_sender_[sender];
        const VnicId receiver = claims_[at].receiver;
        Receiver& r = receivers_[receiver];
        const auto give = [&](const PacketRef& packet, SenderId) { take(packet, receiver); };
        // Picked packets of others keep their order.
        for (std::uint32_t left = r.next.packets; left != 0; --left) {
            if (places_.front_tag(r.next) == at)
                pop(receiver, give);
            else
                places_.move_front(r.next, r.next);
        }
        if (!claims_[at].queue.empty())
            leave(r, at);
        while (!claims_[at].queue.empty())
            pop_of(r, claims_[at].queue, give);
        if (of_sender_[sender] == at)  // its receiver has packets of others
            remove(r, at);
    }
}

}  // namespace weir
