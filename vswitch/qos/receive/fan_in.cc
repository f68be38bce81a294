// fan_in.cc - FanIn: claims in lists per receiver and per sender, reservations, and round robin by shares.
#include "vswitch/qos/receive/fan_in.h"

#include <algorithm>

namespace weir {
namespace {

/// Bytes of a turn of the claim with the most shares: two full frames.
constexpr std::uint64_t kQuantum = 4096;
/// Bytes that a reservation may catch up after a poll turn that came late, as time at its rate.
constexpr Nanos kCatchUp = 500'000;
constexpr std::uint64_t kCatchUpLeast = 4096;

BucketProfile reservation_profile(std::uint64_t bytes_per_sec) {
    if (bytes_per_sec == 0)
        return make_profile(0, 0);
    const auto burst = static_cast<std::uint64_t>(Wide{bytes_per_sec} * kCatchUp / kNanosPerSec);
    return make_profile(bytes_per_sec, std::max(burst, kCatchUpLeast));
}

}  // namespace

/// A packet of a group has a buffer at least, so that their places suffice.
FanIn::FanIn(const Room& room)
    : places_(room.packets.total() + room.buffers.total()),
      packets_(room.packets),
      buffers_(room.buffers),
      sender_claims_(kSenderClaims),
      receivers_(room.receivers + room.lines),
      claims_(kClaimsMax),
      of_sender_(kFromWorkers, kNone) {
    waiting_.reserve(room.receivers + room.lines);
    for (std::size_t receiver = 0; receiver < room.receivers; ++receiver)
        receivers_[receiver].owner = static_cast<VnicId>(receiver);
    for (std::size_t at = 0; at < kClaimsMax; ++at)
        claims_[at].next_of_sender = at + 1 < kClaimsMax ? static_cast<ClaimId>(at + 1) : kNone;
}

bool FanIn::admit(VnicId receiver, std::uint32_t bytes, Nanos now) {
    return receivers_[receiver].packets == 0 && pays(receiver, bytes, now);
}

bool FanIn::pays(VnicId receiver, std::uint32_t bytes, Nanos now) {
    SharableBucket& limit = receivers_[receiver].limit;
    if (!limit.can_pay(bytes, now))
        return false;
    limit.pay(bytes, now);
    return true;
}

FanIn::ClaimId FanIn::find(VnicId receiver, SenderId sender) const {
    if (sender >= kFromWorkers)
        return receivers_[receiver].groups[sender - kFromWorkers];
    ClaimId at = of_sender_[sender];
    while (at != kNone && claims_[at].receiver != receiver)
        at = claims_[at].next_of_sender;
    return at;
}

/// A vNIC may have one more claim. One without packets, at a receiver for which others' wait, is given up for
/// it.
bool FanIn::may_claim(SenderId sender) {
    const auto fits = [&] {
        return sender_claims_.used(sender) < kReceiversPerSender && sender_claims_.fits(sender, 1);
    };
    for (ClaimId at = of_sender_[sender]; at != kNone && !fits();) {
        const ClaimId next = claims_[at].next_of_sender;
        if (claims_[at].bytes == 0)
            remove(receivers_[claims_[at].receiver], at);
        at = next;
    }
    return fits();
}

FanIn::ClaimId FanIn::find_or_add(VnicId receiver, SenderId sender, const SenderClaim& claim, Nanos now) {
    if (const ClaimId found = find(receiver, sender); found != kNone)
        return found;
    if (sender < kFromWorkers) {
        if (!may_claim(sender))
            return kNone;
        sender_claims_.take(sender, 1);
    }
    const ClaimId at = free_;
    Receiver& r = receivers_[receiver];
    Claim& c = claims_[at];
    free_ = c.next_of_sender;
    c = Claim{};
    c.sender = sender;
    c.receiver = receiver;
    c.next_of_receiver = r.claims;
    r.claims = at;
    ClaimId& mine = sender >= kFromWorkers ? r.groups[sender - kFromWorkers] : of_sender_[sender];
    c.next_of_sender = mine;
    mine = at;
    set_claim(c, claim, now);
    c.reserved.begin(now);
    return at;
}

void FanIn::set_claim(Claim& c, const SenderClaim& claim, Nanos now) {
    Receiver& r = receivers_[c.receiver];
    c.reserved.set_profile(reservation_profile(claim.reservation), now);
    c.shares = std::max(claim.shares, 1U);
    if (c.shares > r.most_shares) {
        r.most_shares = c.shares;
        set_quanta(r);
    }
    c.by_shares.quantum = std::max<std::uint64_t>(1, kQuantum * c.shares / r.most_shares);
}

void FanIn::set_quanta(Receiver& r) {
    for (ClaimId at = r.claims; at != kNone; at = claims_[at].next_of_receiver)
        claims_[at].by_shares.quantum =
            std::max<std::uint64_t>(1, kQuantum * claims_[at].shares / r.most_shares);
}

void FanIn::change_claim(ClaimId at, const SenderClaim& claim, Nanos now) {
    Claim& c = claims_[at];
    const bool had = !c.reserved.never();
    set_claim(c, claim, now);
    if (!had)
        c.reserved.begin(now);
    Members& reserved = receivers_[c.receiver].reserved;
    if (!c.queue.empty())
        c.reserved.never() ? reserved.clear(at) : reserved.set(at);
}

void FanIn::change(VnicId sender, const SenderClaim& claim, Nanos now) {
    for (ClaimId at = of_sender_[sender]; at != kNone; at = claims_[at].next_of_sender)
        change_claim(at, claim, now);
}

void FanIn::change(VnicId receiver, SenderId sender, const SenderClaim& claim, Nanos now) {
    if (const ClaimId at = find(receiver, sender); at != kNone)
        change_claim(at, claim, now);
}

bool FanIn::push(VnicId receiver, SenderId sender, const SenderClaim& claim, const PacketRef& packet,
                 Nanos now) {
    Receiver& r = receivers_[receiver];
    const bool group = sender >= kFromWorkers;
    if (group ? !buffers_.fits(user_of(r.owner, sender), packet.buffers) : !packets_.fits(sender, 1))
        return false;
    const ClaimId at = find_or_add(receiver, sender, claim, now);
    if (at == kNone)
        return false;
    Claim& c = claims_[at];
    if (c.queue.empty()) {
        r.active.set(at);
        if (!c.reserved.never())
            r.reserved.set(at);
    }
    group ? buffers_.take(user_of(r.owner, sender), packet.buffers) : packets_.take(sender, 1);
    (void)places_.push(c.queue, packet, at);
    c.bytes += packet.bytes;
    if (r.packets++ == 0) {
        r.place = static_cast<std::uint32_t>(waiting_.size());
        waiting_.push_back(receiver);
    }
    return true;
}

/// The claim has no packets that could be picked any more.
void FanIn::leave(Receiver& r, ClaimId at) {
    r.active.clear(at);
    r.reserved.clear(at);
    r.turns.end_turn(at);
    claims_[at].by_shares.deficit = 0;
}

/// Picks the claim's first packet.
void FanIn::move(Receiver& r, ClaimId at) {
    Claim& c = claims_[at];
    if (c.queue.packets == 1)
        leave(r, at);
    places_.move_front(c.queue, r.next);
}

/// @return false when the receiver's limit does not pay for the claim's first packet
bool FanIn::pick(Receiver& r, ClaimId at, Nanos now) {
    const std::uint32_t bytes = places_.front(claims_[at].queue).bytes;
    SharableBucket& limit = limit_of(r);
    if (!limit.can_pay(bytes, now))
        return false;
    limit.pay(bytes, now);
    move(r, at);
    return true;
}

/// One packet of each claim whose reservation is due, in turn, until none is.
void FanIn::stage_reserved(Receiver& r, std::uint32_t most, Nanos now) {
    std::size_t first_idle = Members::kNone;
    while (r.next.packets < most && !r.reserved.empty()) {
        const std::size_t found = r.reserved.find_cyclic(r.reserved_turn);
        if (found == first_idle)
            return;  // a whole round, and none was due
        const auto at = static_cast<ClaimId>(found);
        r.reserved_turn = found + 1;
        Claim& c = claims_[at];
        if (!c.reserved.has_come(now)) {
            if (first_idle == Members::kNone)
                first_idle = found;
            continue;
        }
        const std::uint32_t bytes = places_.front(c.queue).bytes;
        if (!pick(r, at, now)) {
            r.reserved_turn = found;
            return;
        }
        c.reserved.depart_due(bytes, now);
        first_idle = Members::kNone;
    }
}

void FanIn::stage_by_shares(Receiver& r, std::uint32_t most, Nanos now) {
    const auto account = [this](std::size_t at) -> DrrAccount& { return claims_[at].by_shares; };
    const auto first_bytes = [this](std::size_t at) { return places_.front(claims_[at].queue).bytes; };
    while (r.next.packets < most && !r.active.empty()) {
        const auto turn = r.turns.select(r.active, account, first_bytes);
        const auto at = static_cast<ClaimId>(turn.member);
        turn.account.deficit -= turn.bytes;
        if (!pick(r, at, now)) {
            turn.account.deficit += turn.bytes;
            return;
        }
        claims_[at].reserved.depart(turn.bytes, now);
        r.turns.sent();
    }
}

std::uint32_t FanIn::stage(VnicId receiver, std::uint32_t most, Nanos now) {
    Receiver& r = receivers_[receiver];
    stage_reserved(r, most, now);
    stage_by_shares(r, most, now);
    return r.next.packets;
}

/// A packet has left. The last one ends all claims of the receiver.
void FanIn::departed(Receiver& r, ClaimId at, const PacketRef& packet) {
    Claim& c = claims_[at];
    c.bytes -= packet.bytes;
    if (c.sender >= kFromWorkers)
        buffers_.give_back(user_of(r.owner, c.sender), packet.buffers);
    else
        packets_.give_back(c.sender, 1);
    if (--r.packets != 0)
        return;
    while (r.claims != kNone)
        remove(r, r.claims);
    r.most_shares = 0;
    const VnicId last = waiting_.back();
    waiting_[r.place] = last;
    receivers_[last].place = r.place;
    waiting_.pop_back();
}

/// Frees a claim without packets.
void FanIn::remove(Receiver& r, ClaimId at) {
    Claim& c = claims_[at];
    if (c.sender < kFromWorkers)
        sender_claims_.give_back(c.sender, 1);
    ClaimId* link = &r.claims;
    while (*link != at)
        link = &claims_[*link].next_of_receiver;
    *link = c.next_of_receiver;
    link = c.sender >= kFromWorkers ? &r.groups[c.sender - kFromWorkers] : &of_sender_[c.sender];
    while (*link != at)
        link = &claims_[*link].next_of_sender;
    *link = c.next_of_sender;
    c.next_of_sender = free_;
    free_ = at;
}

}  // namespace weir
