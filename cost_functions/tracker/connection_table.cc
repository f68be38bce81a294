// connection_table.cc - insertion, removal and the look-up among connections that share 40 bits of their ids.
#include "cost_functions/tracker/connection_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weir {

ConnectionTable::ConnectionTable(const Profile& profile)
    : shift_(64 - 1 - static_cast<unsigned>(std::countr_zero(profile.connections))),
      mask_(std::size_t{profile.connections} * 2 - 1),
      idle_(static_cast<std::uint16_t>(std::min<Nanos>((profile.idle >> 30) + 1, UINT16_MAX / 2))),
      index_(mask_ + 1, kEmpty),
      connections_(profile.connections),
      room_(SharedRoom::divide(profile.connections, profile.vnics, profile.own)),
      left_(profile.vnics) {
    assert(std::has_single_bit(profile.connections) && profile.connections < kNoSlot);
    for (Slot slot = 0; slot < profile.connections; ++slot)
        connections_[slot].id_low = (slot + 1 < profile.connections ? slot + 1 : kNoSlot) & kNoSlot;
}

TrackedConnection* ConnectionTable::add(ConnectionId id, VnicId vnic, std::uint8_t protocol, Nanos now) {
    if (!room_.fits(vnic, 1) || left_[vnic] != 0) {
        ++refused_;
        return nullptr;
    }
    std::size_t place = home(id);
    while (index_[place] != kEmpty)
        place = next(place);
    const Slot slot = free_;
    index_[place] = (id >> kSlotBits << kSlotBits) | slot;
    TrackedConnection& connection = connections_[slot];
    free_ = connection.id_low;
    connection = {};
    connection.id_low = low(id) & TrackedConnection::kIdLowMask;
    connection.vnic = vnic;
    connection.seen = TrackedConnection::coarse(now);
    connection.protocol = protocol & (kProtocolsMax - 1);
    room_.take(vnic, 1);
    ++size_;
    return &connection;
}

/// Place in the index, SIZE_MAX when there is none. Compares whole ids: several may share the index's 40
/// bits.
std::size_t ConnectionTable::place_of(ConnectionId id) const {
    for (std::size_t place = home(id); index_[place] != kEmpty; place = next(place))
        if ((index_[place] ^ id) >> kSlotBits == 0 && connections_[slot_of(index_[place])].id_low == low(id))
            return place;
    return SIZE_MAX;
}

TrackedConnection* ConnectionTable::find_slowly(ConnectionId id) {
    const std::size_t place = place_of(id);
    return place == SIZE_MAX ? nullptr : &connections_[slot_of(index_[place])];
}

void ConnectionTable::remove(ConnectionId id) {
    if (const std::size_t place = place_of(id); place != SIZE_MAX)
        remove_at(place);
}

/// Moves later entries of the index back into the gap, so that no probe for them ends at it.
void ConnectionTable::remove_at(std::size_t place) {
    const Slot slot = slot_of(index_[place]);
    TrackedConnection& connection = connections_[slot];
    room_.give_back(connection.vnic, 1);
    --size_;
    connection = {};
    connection.id_low = free_ & TrackedConnection::kIdLowMask;
    free_ = slot;
    for (std::size_t later = next(place); index_[later] != kEmpty; later = next(later)) {
        if (((later - home(index_[later])) & mask_) < ((later - place) & mask_))
            continue;
        index_[place] = index_[later];
        place = later;
    }
    index_[place] = kEmpty;
}

}  // namespace weir
