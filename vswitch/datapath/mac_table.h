// mac_table.h - the vNIC or uplink behind each MAC address of a VLAN: static and learned entries, ageing.
// Source: IEEE 802.1Q 8.7, 8.8; AccelNet (NSDI'18). Units: ns. Threads: the owning worker; every worker has
// its own table.
//
// A cache of exact matches in front of the hash table answers most look-ups with one cache line. A change
// of the table raises a generation number, which makes all cached entries stale at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/spsc_ring.h"
#include "common/types.h"

struct rte_hash;

namespace weir {

/// Where a frame goes: a VnicId, or one of the following.
using Destination = std::uint16_t;
inline constexpr Destination kToUplink = 0xFFFE;
inline constexpr Destination kToAll = 0xFFFD;  ///< broadcast, multicast, unknown
inline constexpr Destination kNowhere = 0xFFFF;

/// MAC (48 bits, first byte of the wire lowest) and VLAN in one word.
using MacKey = std::uint64_t;
inline constexpr std::uint64_t kMacMask = 0x0000'FFFF'FFFF'FFFF;
inline constexpr std::uint64_t kMacGroupBit = 1;  ///< set in broadcast and multicast addresses

[[nodiscard]] constexpr MacKey mac_key(std::uint64_t mac, std::uint16_t vlan) {
    return mac | static_cast<std::uint64_t>(vlan) << 48;
}

/// An address that was learned, for the tables of the other workers.
struct MacUpdate {
    MacKey key;
    Destination destination;
    VnicGeneration generation = 0;  ///< of a vNIC
};
using MacUpdateRing = SpscRing<MacUpdate, 1024>;

class MacTable {
  public:
    /// @param ageing learned entries unseen for this long are forgotten
    /// @param updates takes learned addresses for the other workers; nullptr: there are none
    MacTable(WorkerId worker, Nanos ageing, MacUpdateRing* updates);
    ~MacTable();
    MacTable(const MacTable&) = delete;
    MacTable& operator=(const MacTable&) = delete;

    /// @return a VnicId, kToUplink, or kNowhere when unknown.
    [[nodiscard]] Destination find(MacKey key) {
        const Cached& cached = cache_[slot_of(key)];
        if (cached.key == key && cached.generation == generation_) [[likely]]
            return cached.destination;
        return find_slow(key);
    }

    /// Fixed entry of a vNIC; wins over anything learned and never ages.
    void set_static(MacKey key, Destination destination);
    void remove(MacKey key);
    /// Forgets everything that was learned at `destination`.
    void forget(Destination destination);

    /// Notes that `key` was seen at `destination`; cheap when that is known and fresh.
    /// @param generation of a vNIC, for those who hear of it later
    void learn(MacKey key, Destination destination, Nanos now, VnicGeneration generation = 0) {
        const Seen& seen = seen_[slot_of(key)];
        if (seen.key == key && seen.destination == destination && now < seen.until) [[likely]]
            return;
        if (learn_slow(key, destination, now) && updates_ != nullptr)
            (void)updates_->push(
                {key, destination, generation});  // when full, the others flood until it is seen again
    }
    /// Learns what another worker learned.
    void on_update(const MacUpdate& update, Nanos now) { learn_slow(update.key, update.destination, now); }

    /// Looks at a few entries each call (housekeeping) and forgets those that are too old.
    void age(Nanos now);
    [[nodiscard]] std::uint32_t size() const;

  private:
    struct Cached {
        MacKey key = ~0ULL;
        std::uint32_t generation = 0;
        Destination destination = kNowhere;
    };
    struct Seen {
        MacKey key = ~0ULL;
        Nanos until = 0;
        Destination destination = kNowhere;
    };
    struct Entry {
        Nanos last_seen = 0;
        Destination destination = kNowhere;
        bool is_static = false;
    };
    static_assert(sizeof(Cached) == 16);

    static constexpr unsigned kCacheBits = 12;
    [[nodiscard]] static std::size_t slot_of(MacKey key) {
        return static_cast<std::size_t>((key * 0x9E37'79B9'7F4A'7C15) >> (64 - kCacheBits));
    }

    Destination find_slow(MacKey key);
    bool learn_slow(MacKey key, Destination destination, Nanos now);

    Nanos ageing_;
    MacUpdateRing* updates_;
    rte_hash* hash_;
    std::uint32_t generation_ = 1;  // changes whenever a cached answer could be wrong
    std::uint32_t age_cursor_ = 0;
    std::vector<Entry> entries_;  // by the hash's position
    std::array<Cached, 1U << kCacheBits> cache_{};
    std::array<Seen, 1U << kCacheBits> seen_{};
};

}  // namespace weir
