// connection_table.h - the TCP connections that a worker tracks: found in bursts, a quota per vNIC, forgotten
// when idle. Source: algorithms 8 (64 B of state, quota per VM). Units: ns. Threads: one owner. Allocates
// only when built.
//
// The index is an open hash table with linear probing, twice as many places as connections: 8 bytes each, 40
// bits of the ConnectionId and the number of the connection, so that probing stays within a cache line or
// two. A look-up has three steps, each over the whole burst, so that memory is waited for once a step and not
// once a packet:
//   prefetch(id)   the place in the index
//   probe(id)      reads it, fetches the connection
//   at(id, slot)   the connection
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/huge_pages.h"
#include "common/ids.h"
#include "cost_functions/tracker/connection.h"
#include "cost_functions/tracker/connection_id.h"

namespace weir {

class ConnectionTable {
  public:
    using Slot = std::uint32_t;
    static constexpr Slot kNoSlot = (1U << 24) - 1;

    struct Profile {
        std::uint32_t connections = 1 << 20;  ///< a power of two, at most 2^23
        std::size_t vnics = 1;                ///< VnicIds are 0 .. vnics-1
        std::uint32_t quota = 1 << 18;        ///< connections of one vNIC
        Nanos idle = 300 * kNanosPerSec;      ///< without a segment for so long, a connection is forgotten
    };

    explicit ConnectionTable(const Profile& profile);

    void prefetch(ConnectionId id) const { __builtin_prefetch(&index_[home(id)]); }
    /// kNoSlot when there is none; else most likely where it is.
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
    /// The connection, of which probe() has told the slot; nullptr when there is none.
    [[nodiscard]] Connection* at(ConnectionId id, Slot slot, Nanos now) {
        if (slot == kNoSlot)
            return nullptr;
        Connection* connection = &connections_[slot];
        if (connection->id_low != low(id) || connection->vnic == kNoVnic) [[unlikely]] {
            connection = find_slowly(id);
            if (connection == nullptr)
                return nullptr;
        }
        const std::uint16_t seen = Connection::coarse(now);
        if (connection->seen != seen)
            connection->seen = seen;
        return connection;
    }
    [[nodiscard]] Connection* find(ConnectionId id, Nanos now) { return at(id, probe(id), now); }

    /// A new connection, which is not in the table; nullptr when the table or the vNIC's quota is full.
    [[nodiscard]] Connection* add(ConnectionId id, VnicId vnic, std::uint8_t protocol, Nanos now);
    /// Takes it out; the tracker has forgotten it.
    void remove(ConnectionId id);

    /// Looks at the next `budget` places of the index, and forgets connections that are idle or of a vNIC
    /// that has left, calling gone(Connection&) before. The whole index must be seen within 9 hours.
    template <class Gone>
    void sweep(Nanos now, unsigned budget, Gone&& gone);

    /// The vNIC's connections are forgotten as they are swept; none are added until it joins again.
    void leave(VnicId vnic) { vnics_[vnic].left = true; }
    void join(VnicId vnic) { vnics_[vnic].left = false; }

    [[nodiscard]] std::uint32_t size() const { return size_; }
    [[nodiscard]] std::uint32_t size(VnicId vnic) const { return vnics_[vnic].connections; }
    /// How often a connection was not added because the table or the quota was full.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(*this) + index_.capacity() * sizeof(index_[0]) +
               connections_.capacity() * sizeof(Connection) + vnics_.capacity() * sizeof(Vnic);
    }

  private:
    struct Vnic {
        std::uint32_t connections = 0;
        bool left = false;
    };
    static constexpr unsigned kSlotBits = 24;
    static constexpr std::uint64_t kEmpty = UINT64_MAX;
    static constexpr unsigned kSweepAhead = 8;

    [[nodiscard]] std::size_t home(std::uint64_t id) const { return id >> shift_; }
    [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & mask_; }
    [[nodiscard]] static Slot slot_of(std::uint64_t entry) { return static_cast<Slot>(entry) & kNoSlot; }
    [[nodiscard]] static std::uint32_t low(ConnectionId id) { return static_cast<std::uint32_t>(id); }
    [[nodiscard]] std::size_t place_of(ConnectionId id) const;
    [[nodiscard]] Connection* find_slowly(ConnectionId id);
    void remove_at(std::size_t place);

    unsigned shift_;
    std::size_t mask_;
    std::uint32_t size_ = 0;
    std::uint32_t quota_;
    std::uint16_t idle_;
    Slot free_ = 0;
    std::size_t cursor_ = 0;
    std::uint64_t refused_ = 0;
    std::vector<std::uint64_t, HugePages<std::uint64_t>> index_;
    std::vector<Connection, HugePages<Connection>> connections_;
    std::vector<Vnic> vnics_;
};

template <class Gone>
void ConnectionTable::sweep(Nanos now, unsigned budget, Gone&& gone) {
    const std::uint16_t seen = Connection::coarse(now);
    for (; budget > 0 && size_ > 0; --budget) {
        if (const std::uint64_t later = index_[(cursor_ + kSweepAhead) & mask_]; later != kEmpty)
            __builtin_prefetch(&connections_[slot_of(later)]);
        if (index_[cursor_] != kEmpty) {
            Connection& connection = connections_[slot_of(index_[cursor_])];
            const auto age = static_cast<std::uint16_t>(seen - connection.seen);
            if (age > idle_ || vnics_[connection.vnic].left) {
                gone(connection);
                remove_at(cursor_);
                continue;  // another may have moved here
            }
        }
        cursor_ = next(cursor_);
    }
}

}  // namespace weir
