// sender_table.cc - SenderTable: chains per hash bucket, per vNIC and of free entries; and the summary.
#include "vswitch/qos/feedback/sender_table.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

namespace weir {
namespace {

/// A sender that reaches this part of its advertised rate is held back by it.
constexpr float kBackloggedShare = 0.6F;
/// A sender whose rate was above this many bytes per window slows down at once when it sends less; with fewer
/// frames per window a fall may be chance.
constexpr float kSureBytes = 12'000;
/// Windows without a packet until a sender is forgotten: 20 ms at the default period.
constexpr std::uint16_t kSenderWindows = 100;

}  // namespace

SenderTable::SenderTable(std::uint32_t capacity, const SenderKey& key)
    : key_(key),
      shift_(64 - static_cast<unsigned>(std::countr_zero(capacity))),
      buckets_(capacity, kNone),
      senders_(capacity) {
    assert(std::has_single_bit(capacity) && capacity > 1);
    for (std::uint32_t at = 0; at < capacity; ++at)
        senders_[at].next_in_bucket = at + 1 < capacity ? at + 1 : kNone;
}

std::uint32_t SenderTable::find_or_add(VnicId vnic, std::uint64_t address, SenderList& of_vnic) {
    std::uint32_t& head = buckets_[bucket_of(vnic, address)];
    std::uint32_t met = 0;
    for (std::uint32_t at = head; at != kNone; at = senders_[at].next_in_bucket, ++met)
        if (senders_[at].address == address && senders_[at].vnic == vnic)
            return at;
    if (of_vnic.count >= quota() || met >= kBucketMax)
        return kNone;
    const std::uint32_t at = free_;
    free_ = senders_[at].next_in_bucket;
    senders_[at] = {.address = address, .next_in_bucket = head, .next_of_vnic = of_vnic.first, .vnic = vnic};
    head = at;
    of_vnic.first = at;
    ++of_vnic.count;
    ++size_;
    return at;
}

/// Frees an entry that was taken out of its vNIC's chain.
void SenderTable::release(std::uint32_t at) {
    std::uint32_t* link = &buckets_[bucket_of(senders_[at].vnic, senders_[at].address)];
    while (*link != at)
        link = &senders_[*link].next_in_bucket;
    *link = senders_[at].next_in_bucket;
    senders_[at].next_in_bucket = free_;
    free_ = at;
    --size_;
}

double level_of(std::span<const std::uint32_t> windows, double room) {
    double level = 0;
    for (;;) {  // rises until it no longer changes: windows below it count as they are
        const auto bound = static_cast<std::uint32_t>(std::min(level, double{UINT32_MAX}));
        std::uint64_t below = 0;
        std::uint32_t above = 0;
        for (const std::uint32_t bytes : windows) {
            below += bytes <= bound ? bytes : 0;
            above += bytes > bound;
        }
        if (above == 0)
            return level;
        const double next = (room - static_cast<double>(below)) / above;
        if (next <= level)
            return level;
        level = next;
    }
}

namespace {

/// Forgets senders until the vNIC has no more than its quota, those first that are slower than `fast`. Each
/// one makes a place free, so that half of the difference is enough.
void leave_room(SenderTable& senders, SenderList& of_vnic, std::uint64_t fast) {
    std::uint32_t excess = (of_vnic.count - senders.quota() + 1) / 2;
    for (const float bound : {static_cast<float>(fast), std::numeric_limits<float>::infinity()})
        senders.visit(of_vnic, [&](const Sender& sender) {
            const bool goes = excess != 0 && sender.rate < bound;
            excess -= goes;
            return !goes;
        });
}

}  // namespace

SenderSummary close_windows(SenderTable& senders, SenderList& of_vnic, Sender& unlisted,
                            std::uint64_t advertised, Nanos span, std::span<std::uint32_t> room) {
    SenderSummary summary;
    const auto held_at = static_cast<float>(advertised);
    const auto per_sec = static_cast<float>(per_second(1, span));
    const float one_frame = kFullFrame * per_sec;
    const float pause = 1 + one_frame / held_at;  // periods from frame to frame, and one for chance
    float others = 0;
    std::size_t count = 0;
    senders.visit(of_vnic, [&](Sender& sender) {
        const std::uint32_t bytes = sender.window_bytes;
        room[count] = bytes;
        count += bytes != 0;
        const float rate = static_cast<float>(bytes) * per_sec;
        summary.risen += rate > 2 * sender.rate && (bytes > kManyBytes || sender.rate < one_frame / 16);
        const bool slowed = rate < sender.rate && sender.rate > kSureBytes * per_sec;
        sender.rate = slowed ? rate : (sender.rate + rate) / 2;
        sender.silent_periods =
            bytes != 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(sender.silent_periods + 1);
        sender.window_bytes = 0;
        if (sender.rate + one_frame >= kBackloggedShare * held_at && sender.silent_periods <= pause)
            ++summary.backlogged;
        else
            others += sender.rate;
        return sender.silent_periods < kSenderWindows;
    });
    const std::uint32_t rest = std::exchange(unlisted.window_bytes, 0);
    room[count] = rest;
    count += rest != 0;
    summary.others = static_cast<double>(others + static_cast<float>(rest) * per_sec);
    summary.windows = room.first(count);
    if (of_vnic.count > senders.quota())
        leave_room(senders, of_vnic, static_cast<std::uint64_t>(kBackloggedShare * held_at));
    return summary;
}

std::span<const std::uint32_t> open_windows(SenderTable& senders, SenderList& of_vnic, const Sender& unlisted,
                                            std::span<std::uint32_t> room) {
    std::size_t count = 0;
    senders.visit(of_vnic, [&](const Sender& sender) {
        room[count++] = sender.window_bytes;
        return true;
    });
    room[count++] = unlisted.window_bytes;
    return room.first(count);
}

}  // namespace weir
