// mac_table.cc - rte_hash with positions into a table of entries.
#include "vswitch/datapath/mac_table.h"

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>

#include <string>

#include "common/error.h"
#include "vswitch/limits.h"

namespace weir {
namespace {

/// Fresh for this long: no look-up for the next frames of the same source.
constexpr Nanos kRefresh = kNanosPerSec;
/// Entries looked at per housekeeping call.
constexpr unsigned kAgeBatch = 8;

std::uint32_t hash_of(const void* key, std::uint32_t, std::uint32_t seed) {
    std::uint64_t word;
    __builtin_memcpy(&word, key, sizeof(word));
    return rte_hash_crc_8byte(word, seed);
}

}  // namespace

MacTable::MacTable(WorkerId worker, Nanos ageing, MacUpdateRing* updates)
    : ageing_(ageing), updates_(updates) {
    const std::string name = "weir_mac_" + std::to_string(worker);
    rte_hash_parameters parameters{};
    parameters.name = name.c_str();
    parameters.entries = limits::kMacEntriesMax;
    parameters.key_len = sizeof(MacKey);
    parameters.hash_func = hash_of;
    parameters.socket_id = static_cast<int>(SOCKET_ID_ANY);
    hash_ = rte_hash_create(&parameters);
    if (hash_ == nullptr)
        throw HostError("no DPDK memory for the MAC table; reserve more hugepages and start again");
    entries_.resize(static_cast<std::size_t>(rte_hash_max_key_id(hash_)) + 1);
}

MacTable::~MacTable() {
    rte_hash_free(hash_);
}

Destination MacTable::find_slow(MacKey key) {
    const std::int32_t at = rte_hash_lookup(hash_, &key);
    if (at < 0)
        return kNowhere;
    const Destination destination = entries_[static_cast<std::size_t>(at)].destination;
    cache_[slot_of(key)] = {key, generation_, destination};
    return destination;
}

void MacTable::set_static(MacKey key, Destination destination) {
    const std::int32_t at = rte_hash_add_key(hash_, &key);
    if (at < 0)
        return;
    entries_[static_cast<std::size_t>(at)] = {0, destination, true};
    ++generation_;
}

void MacTable::remove(MacKey key) {
    const std::int32_t at = rte_hash_del_key(hash_, &key);
    if (at < 0)
        return;
    entries_[static_cast<std::size_t>(at)] = Entry{};
    seen_[slot_of(key)] = Seen{};
    ++generation_;
}

void MacTable::forget(Destination destination) {
    std::vector<MacKey> gone;
    const void* key = nullptr;
    void* data = nullptr;
    std::uint32_t cursor = 0;
    for (std::int32_t at; (at = rte_hash_iterate(hash_, &key, &data, &cursor)) >= 0;)
        if (entries_[static_cast<std::size_t>(at)].destination == destination)
            gone.push_back(*static_cast<const MacKey*>(key));
    for (const MacKey one : gone)
        remove(one);
}

bool MacTable::learn_slow(MacKey key, Destination destination, Nanos now) {
    std::int32_t at = rte_hash_lookup(hash_, &key);
    const bool known = at >= 0;
    if (!known)
        at = rte_hash_add_key(hash_, &key);
    if (at < 0)
        return false;  // full: unknown frames are flooded, within their bound
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    if (entry.is_static)
        return false;  // a fixed address cannot be taken away by claiming it
    const bool moved = entry.destination != destination;
    if (known && moved)
        ++generation_;
    entry = {now, destination, false};
    seen_[slot_of(key)] = {key, now + kRefresh, destination};
    return moved;
}

void MacTable::age(Nanos now) {
    for (unsigned i = 0; i < kAgeBatch; ++i) {
        if (++age_cursor_ >= entries_.size())
            age_cursor_ = 0;
        const Entry& entry = entries_[age_cursor_];
        if (entry.destination == kNowhere || entry.is_static || now < entry.last_seen + ageing_)
            continue;
        void* key = nullptr;
        if (rte_hash_get_key_with_position(hash_, static_cast<std::int32_t>(age_cursor_), &key) == 0)
            remove(*static_cast<const MacKey*>(key));
    }
}

std::uint32_t MacTable::size() const {
    return static_cast<std::uint32_t>(rte_hash_count(hash_));
}

}  // namespace weir
