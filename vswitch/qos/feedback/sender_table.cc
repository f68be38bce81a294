// sender_table.cc - chains in buckets, chains per vNIC, a chain of free entries.
#include "vswitch/qos/feedback/sender_table.h"

#include <bit>
#include <cassert>

namespace weir {

SenderTable::SenderTable(std::uint32_t capacity)
    : shift_(64 - static_cast<unsigned>(std::countr_zero(capacity))),
      buckets_(capacity, kNone),
      senders_(capacity) {
    assert(std::has_single_bit(capacity) && capacity > 1);
    for (std::uint32_t at = 0; at < capacity; ++at)
        senders_[at].next_in_bucket = at + 1 < capacity ? at + 1 : kNone;
}

std::uint32_t SenderTable::find_or_add(VnicId vnic, std::uint64_t address, std::uint32_t& of_vnic) {
    std::uint32_t& head = buckets_[bucket_of(vnic, address)];
    for (std::uint32_t at = head; at != kNone; at = senders_[at].next_in_bucket)
        if (senders_[at].address == address && senders_[at].vnic == vnic)
            return at;
    if (free_ == kNone)
        return kNone;
    const std::uint32_t at = free_;
    free_ = senders_[at].next_in_bucket;
    senders_[at] = Sender{};
    senders_[at].address = address;
    senders_[at].vnic = vnic;
    senders_[at].next_in_bucket = head;
    senders_[at].next_of_vnic = of_vnic;
    head = at;
    of_vnic = at;
    ++size_;
    return at;
}

/// Takes it out of its bucket; the vNIC's chain has let go of it.
void SenderTable::release(std::uint32_t at) {
    std::uint32_t* link = &buckets_[bucket_of(senders_[at].vnic, senders_[at].address)];
    while (*link != at)
        link = &senders_[*link].next_in_bucket;
    *link = senders_[at].next_in_bucket;
    senders_[at].next_in_bucket = free_;
    free_ = at;
    --size_;
}

}  // namespace weir
