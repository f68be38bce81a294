// mac_table.h - the vNIC or uplink behind each MAC address of a VLAN: static and learned entries, aging.
// Source: IEEE 802.1Q 8.7, 8.8; AccelNet (NSDI'18); docs/algorithms.md 3.8. Units: ns. Threads: the owning
// worker; every worker has its own table.
//
// A cache of exact matches in front of the hash table answers most look-ups with one cache line. An address
// has one place in it, so a change of the table touches that place only.
//
// Static addresses always find room. Learned ones are bounded: in total, for the wire, and per vNIC
// (limits.h), so that no vNIC can fill the table for the others.
//
// A vNIC whose VM is not connected gives its address away: it is unknown, and may be learned elsewhere, until
// the vNIC takes it back. So a VM that has moved to another host is reached there.
//
// A worker posts the addresses that it learns for the others: at once, again every quarter of the aging time
// as long as the address sends, and after a refusal by the full ring until the ring takes it. The others keep
// a received address for a quarter longer, so that it ages first where it was seen. Example, with an aging
// time of 300 s: updates of an address are posted at 0, 75, 150 s and so on, and when it is silent from 200 s
// on, its own worker forgets it at 500 s and the others at 525 s.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/spsc_ring.h"
#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/datapath/frame/destination.h"

struct rte_hash;

namespace weir {

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
    /// @param aging learned entries unseen for this long are forgotten
    /// @param updates takes learned addresses for the other workers; nullptr: there are none
    MacTable(WorkerId worker, Nanos aging, MacUpdateRing* updates);
    ~MacTable();
    MacTable(const MacTable&) = delete;
    MacTable& operator=(const MacTable&) = delete;

    /// @return a VnicId, kToUplink, or kNowhere when unknown.
    [[nodiscard]] Destination find(MacKey key) {
        const Cached& cached = cache_[slot_of(key)];
        if (cached.key == key) [[likely]]
            return cached.destination;
        return find_slow(key);
    }
    /// As find(), but an address that a vNIC gave away, and that is known nowhere else, is that vNIC's.
    [[nodiscard]] Destination find_or_home(MacKey key) {
        const Destination found = find(key);
        return found != kNowhere ? found : home_of(key);
    }

    /// Fixed entry of a vNIC; wins over anything learned and never ages.
    void set_static(MacKey key, Destination destination);
    /// The vNIC of a fixed entry gives its address away until the next set_static().
    void give_away(MacKey key);
    void remove(MacKey key);
    /// Forgets everything that was learned at `destination`.
    void forget(Destination destination);

    /// Notes that `key` was seen at `destination`; cheap when that is known and fresh.
    /// @param generation of a vNIC, for the other workers
    void learn(MacKey key, Destination destination, Nanos now, VnicGeneration generation = 0) {
        const Seen& seen = seen_[slot_of(key)];
        if (seen.key == key && seen.destination == destination && now < seen.until) [[likely]]
            return;
        learn_slow({key, destination, generation}, now);
    }
    /// Learns an address that another worker learned.
    void on_update(const MacUpdate& update, Nanos now);

    /// Looks at a few entries each call (housekeeping): forgets those that are too old, posts again addresses
    /// that found no room in the ring.
    void age(Nanos now);
    [[nodiscard]] std::uint32_t size() const;

  private:
    static constexpr MacKey kNoKey = ~0ULL;
    struct Cached {
        MacKey key = kNoKey;
        Destination destination = kNowhere;
    };
    struct Seen {
        MacKey key = kNoKey;
        Nanos until = 0;  ///< no look-up before, whether it was learned or refused
        Destination destination = kNowhere;
    };
    enum class Kind : std::uint8_t { kFree, kStatic, kAway, kLearned, kReceived };
    struct Entry {
        Nanos last_seen = 0;
        Nanos post_at = 0;  ///< the next update is due; at most last_seen: one is owing
        Destination destination = kNowhere;
        Destination home = kNowhere;  ///< the vNIC that gave the address away
        VnicGeneration generation = 0;
        Kind kind = Kind::kFree;
        [[nodiscard]] bool learned() const { return kind == Kind::kLearned || kind == Kind::kReceived; }
    };
    static_assert(sizeof(Cached) == 16 && sizeof(Entry) == 24);

    static constexpr unsigned kCacheBits = 12;
    [[nodiscard]] static std::size_t slot_of(MacKey key) {
        return static_cast<std::size_t>((key * 0x9E37'79B9'7F4A'7C15) >> (64 - kCacheBits));
    }
    /// The number of addresses that were learned at `destination`.
    [[nodiscard]] std::uint32_t& learned_at(Destination destination) {
        return learned_[destination < limits::kVnicsMax ? destination : limits::kVnicsMax];
    }
    [[nodiscard]] bool has_room(Destination destination) {
        return learned_at(destination) <
               (destination < limits::kVnicsMax ? limits::kMacLearnedVnic : limits::kMacLearnedWire);
    }

    Destination find_slow(MacKey key);
    [[nodiscard]] Destination home_of(MacKey key) const;
    void forget_cached(MacKey key);
    void learn_slow(const MacUpdate& found, Nanos now);
    [[nodiscard]] Entry* note(const MacUpdate& found, Nanos now);
    bool post(Entry& entry, MacKey key, Nanos now);
    void remove_at(std::size_t position);
    void unlearn_at(std::size_t position);
    void count_out(const Entry& entry);
    template <class Which>
    void remove_learned(Which&& which);

    Nanos aging_;
    Nanos refresh_;      // a known address is looked up once in this time
    Nanos post_period_;  // and posted to the others once in this time
    MacUpdateRing* updates_;
    rte_hash* hash_;
    std::uint32_t age_cursor_ = 0;
    std::uint32_t learned_total_ = 0;
    std::array<std::uint32_t, limits::kVnicsMax + 1> learned_{};  // by destination; the last is the uplink
    std::vector<Entry> entries_;                                  // by the hash's position
    std::array<Cached, 1U << kCacheBits> cache_{};
    std::array<Seen, 1U << kCacheBits> seen_{};
};

}  // namespace weir
