// connection_table.h - hash table of the TCP connections that a worker tracks, with places of each vNIC's own
// and expiry.
// Source: docs/algorithms.md 5.1. Units: ns. Threads: one owner. Allocates only when built.
//
// The index is an open hash table with linear probing and twice as many places as connections. A place has 8
// bytes: 40 bits of the ConnectionId and the 24-bit slot of the connection, so a probe touches one or two
// cache lines. Look-up has three steps. The caller takes each step for a whole burst before the next, so that
// the burst waits for memory once a step instead of once a packet:
//   prefetch(id)   starts loading the place in the index
//   probe(id)      reads the place, starts loading the connection
//   at(id, slot)   returns the connection
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/huge_pages.h"
#include "common/shared_room.h"
#include "common/types.h"
#include "cost_functions/tracker/connection_id.h"
#include "cost_functions/tracker/tracked_connection.h"

namespace weir {

class ConnectionTable {
  public:
    using Slot = std::uint32_t;
    static constexpr Slot kNoSlot = (1U << 24) - 1;

    struct Profile {
        std::uint32_t connections = 1 << 20;  ///< a power of two, at most 2^23
        std::uint32_t vnics = 1;              ///< VnicIds are 0 .. vnics-1
        std::uint32_t own = 0;                ///< connections of each vNIC that no other can take
        Nanos idle = 300 * kNanosPerSec;      ///< a connection without segments for this time is removed
    };

    explicit ConnectionTable(const Profile& profile);

    void prefetch(ConnectionId id) const { __builtin_prefetch(&index_[home(id)]); }
    /// Slot of the connection, with high probability; kNoSlot when it is not in the table.
    [[nodiscard]] Slot probe(ConnectionId id) const {
        for (std::size_t place = home(id); index_[place] != kEmpty; place = next(place)) {
            if ((index_[place] ^ id) >> kSlotBits == 0) {
                const Slot slot = slot_of(index_[place]);
                __builtin_prefetch(&connections_[slot], 1);
                return slot;
            }
        }
        return kNoSlot;
    }
    /// @param slot from probe()  @return the connection; nullptr when it is not in the table
    [[nodiscard]] TrackedConnection* at(ConnectionId id, Slot slot, Nanos now) {
        if (slot == kNoSlot)
            return nullptr;
        TrackedConnection* connection = &connections_[slot];
        if (connection->id_low != low(id) || connection->vnic == kNoVnic) [[unlikely]] {
            connection = find_slowly(id);
            if (connection == nullptr)
                return nullptr;
        }
        const std::uint16_t seen = TrackedConnection::coarse(now);
        if (connection->seen != seen)
            connection->seen = seen;
        return connection;
    }
    [[nodiscard]] TrackedConnection* find(ConnectionId id, Nanos now) { return at(id, probe(id), now); }

    /// Adds a connection that is not in the table. @return nullptr when the vNIC may have no more
    [[nodiscard]] TrackedConnection* add(ConnectionId id, VnicId vnic, std::uint8_t protocol, Nanos now);
    /// Call Tracker::forget() for the connection before.
    void remove(ConnectionId id);

    /// Visits the next `budget` places of the index and removes idle connections and those of vNICs that
    /// left, each after a call of expire(TrackedConnection&). Call it often enough to visit the whole index
    /// within 9 hours.
    template <class Expire>
    void sweep(Nanos now, unsigned budget, Expire&& expire);

    /// The vNIC's connections are removed by later sweeps; none are added until it joins again.
    void leave(VnicId vnic) { left_[vnic] = true; }
    void join(VnicId vnic) { left_[vnic] = false; }

    [[nodiscard]] std::uint32_t size() const { return size_; }
    [[nodiscard]] std::uint32_t size(VnicId vnic) const { return room_.used(vnic); }
    /// Connections that were not added because their vNICs might have no more.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(*this) + index_.capacity() * sizeof(index_[0]) +
               connections_.capacity() * sizeof(TrackedConnection) + room_.memory_bytes() + left_.capacity();
    }

  private:
    static constexpr unsigned kSlotBits = 24;
    static constexpr std::uint64_t kEmpty = UINT64_MAX;
    static constexpr unsigned kSweepAhead = 8;

    [[nodiscard]] std::size_t home(std::uint64_t id) const { return id >> shift_; }
    [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & mask_; }
    [[nodiscard]] static Slot slot_of(std::uint64_t entry) { return static_cast<Slot>(entry) & kNoSlot; }
    [[nodiscard]] static std::uint32_t low(ConnectionId id) {
        return static_cast<std::uint32_t>(id) & TrackedConnection::kIdLowMask;
    }
    [[nodiscard]] std::size_t place_of(ConnectionId id) const;
    [[nodiscard]] TrackedConnection* find_slowly(ConnectionId id);
    void remove_at(std::size_t place);

    unsigned shift_;
    std::size_t mask_;
    std::uint32_t size_ = 0;
    std::uint16_t idle_;
    Slot free_ = 0;
    std::size_t cursor_ = 0;
    std::uint64_t refused_ = 0;
    std::vector<std::uint64_t, HugePages<std::uint64_t>> index_;
    std::vector<TrackedConnection, HugePages<TrackedConnection>> connections_;
    SharedRoom room_;
    std::vector<std::uint8_t> left_;  // by vNIC: it has gone
};

template <class Expire>
void ConnectionTable::sweep(Nanos now, unsigned budget, Expire&& expire) {
    const std::uint16_t seen = TrackedConnection::coarse(now);
    for (; budget > 0 && size_ > 0; --budget) {
        if (const std::uint64_t later = index_[(cursor_ + kSweepAhead) & mask_]; later != kEmpty)
            __builtin_prefetch(&connections_[slot_of(later)]);
        if (index_[cursor_] != kEmpty) {
            TrackedConnection& connection = connections_[slot_of(index_[cursor_])];
            const auto age = static_cast<std::uint16_t>(seen - connection.seen);
            if (age > idle_ || left_[connection.vnic] != 0) {
                expire(connection);
                remove_at(cursor_);
                continue;  // remove_at() may have moved another connection here
            }
        }
        cursor_ = next(cursor_);
    }
}

}  // namespace weir
