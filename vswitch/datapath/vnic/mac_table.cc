// mac_table.cc - rte_hash with positions into a table of entries.
#include "vswitch/datapath/vnic/mac_table.h"

#include <rte_hash.h>
#include <rte_lcore.h>

#include <algorithm>
#include <random>
#include <string>

#include "common/error.h"

namespace weir {
namespace {

/// A known address is looked up at most this late after the last time.
constexpr Nanos kRefreshMax = kNanosPerSec;
/// An address that found no room in the table or in the ring is tried again after this time: not at each
/// frame.
constexpr Nanos kRetry = 10'000'000;
/// Parts of the aging time after which an update is posted again, and for which the other workers keep
/// entries longer.
constexpr Nanos kPostParts = 4;
/// Entries looked at per housekeeping call.
constexpr unsigned kAgeBatch = 8;

/// MurmurHash3's finish with a secret: a guest that does not know it cannot choose addresses that share a
/// bucket.
std::uint32_t secret_hash(const void* key, std::uint32_t, std::uint32_t secret) {
    std::uint64_t word;
    __builtin_memcpy(&word, key, sizeof(word));
    word = (word ^ (std::uint64_t{secret} << 32 | secret)) * 0xff51'afd7'ed55'8ccd;
    word = (word ^ word >> 33) * 0xc4ce'b9fe'1a85'ec53;
    return static_cast<std::uint32_t>(word >> 32);
}

}  // namespace

MacTable::MacTable(WorkerId worker, Nanos aging, MacUpdateRing* updates)
    : aging_(aging),
      refresh_(std::min(kRefreshMax, aging / kPostParts)),
      post_period_(aging / kPostParts),
      updates_(updates) {
    const std::string name = "weir_mac_" + std::to_string(worker);
    rte_hash_parameters parameters{};
    parameters.name = name.c_str();
    parameters.entries = limits::kMacEntriesMax;
    parameters.key_len = sizeof(MacKey);
    parameters.hash_func = secret_hash;
    parameters.hash_func_init_val = std::random_device{}();
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
    if (destination != kNowhere)  // else its vNIC gave it away
        cache_[slot_of(key)] = {key, destination};
    return destination;
}

Destination MacTable::home_of(MacKey key) const {
    const std::int32_t at = rte_hash_lookup(hash_, &key);
    return at < 0 ? kNowhere : entries_[static_cast<std::size_t>(at)].home;
}

/// The hash has room for all static entries beside the most learned ones. Should a bucket overflow all the
/// same, all learned entries make room, and their addresses are learned again.
void MacTable::set_static(MacKey key, Destination destination) {
    std::int32_t at = rte_hash_add_key(hash_, &key);
    if (at < 0) {
        remove_learned([](const Entry&) { return true; });
        at = rte_hash_add_key(hash_, &key);
    }
    if (at < 0)
        return;
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    count_out(entry);
    entry = {.destination = destination, .kind = Kind::kStatic};
    forget_cached(key);
    cache_[slot_of(key)] = {key, destination};
}

void MacTable::give_away(MacKey key) {
    const std::int32_t at = rte_hash_lookup(hash_, &key);
    if (at < 0 || entries_[static_cast<std::size_t>(at)].kind != Kind::kStatic)
        return;
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    entry = {.home = entry.destination, .kind = Kind::kAway};
    forget_cached(key);
}

/// Also that a claim was refused: the next one may be learned.
void MacTable::forget_cached(MacKey key) {
    if (cache_[slot_of(key)].key == key)
        cache_[slot_of(key)] = Cached{};
    if (seen_[slot_of(key)].key == key)
        seen_[slot_of(key)] = Seen{};
}

void MacTable::remove(MacKey key) {
    if (const std::int32_t at = rte_hash_lookup(hash_, &key); at >= 0)
        remove_at(static_cast<std::size_t>(at));
}

void MacTable::remove_at(std::size_t position) {
    void* stored = nullptr;
    if (rte_hash_get_key_with_position(hash_, static_cast<std::int32_t>(position), &stored) != 0)
        return;
    const MacKey key = *static_cast<const MacKey*>(stored);
    rte_hash_del_key(hash_, &key);
    count_out(entries_[position]);
    entries_[position] = Entry{};
    forget_cached(key);
}

/// Ends a learned entry; an address that a vNIC gave away is known nowhere again.
void MacTable::unlearn_at(std::size_t position) {
    Entry& entry = entries_[position];
    void* stored = nullptr;
    if (entry.home == kNowhere)
        return remove_at(position);
    if (rte_hash_get_key_with_position(hash_, static_cast<std::int32_t>(position), &stored) != 0)
        return;
    count_out(entry);
    entry = {.home = entry.home, .kind = Kind::kAway};
    forget_cached(*static_cast<const MacKey*>(stored));
}

void MacTable::count_out(const Entry& entry) {
    if (!entry.learned())
        return;
    --learned_total_;
    --learned_at(entry.destination);
}

template <class Which>
void MacTable::remove_learned(Which&& which) {
    for (std::size_t position = 0; position < entries_.size(); ++position)
        if (entries_[position].learned() && which(entries_[position]))
            unlearn_at(position);
}

void MacTable::forget(Destination destination) {
    if (learned_at(destination) != 0)
        remove_learned([destination](const Entry& entry) { return entry.destination == destination; });
}

/// Finds or makes the entry, as seen now. @return nullptr when there is no room, or the address is fixed and
/// cannot be taken away by claiming it
MacTable::Entry* MacTable::note(const MacUpdate& found, Nanos now) {
    std::int32_t at = rte_hash_lookup(hash_, &found.key);
    const bool known = at >= 0 && entries_[static_cast<std::size_t>(at)].kind != Kind::kAway;
    if (!known && (learned_total_ >= limits::kMacLearnedMax || !has_room(found.destination)))
        return nullptr;  // unknown frames are flooded, within their bound
    if (at < 0)
        at = rte_hash_add_key(hash_, &found.key);
    if (at < 0)
        return nullptr;
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    if (entry.kind == Kind::kStatic || entry.home == found.destination)
        return nullptr;
    if (!known || entry.destination != found.destination) {
        if (!has_room(found.destination))
            return nullptr;
        count_out(entry);
        ++learned_total_;
        ++learned_at(found.destination);
        entry = {
            .post_at = now, .destination = found.destination, .home = entry.home, .kind = Kind::kLearned};
        if (cache_[slot_of(found.key)].key == found.key)
            cache_[slot_of(found.key)].destination = found.destination;
    }
    entry.last_seen = now;
    entry.generation = found.generation;
    return &entry;
}

void MacTable::learn_slow(const MacUpdate& found, Nanos now) {
    Entry* const entry = note(found, now);
    bool again_soon = entry == nullptr;
    if (entry != nullptr) {
        entry->kind = Kind::kLearned;
        again_soon = updates_ != nullptr && now >= entry->post_at && !post(*entry, found.key, now);
    }
    seen_[slot_of(found.key)] = {found.key, now + (again_soon ? std::min(kRetry, refresh_) : refresh_),
                                 found.destination};
}

/// @return false when the ring is full: the message is owing
bool MacTable::post(Entry& entry, MacKey key, Nanos now) {
    if (!updates_->push({key, entry.destination, entry.generation}))
        return false;
    entry.post_at = now + post_period_;
    return true;
}

/// The other workers have received the same update.
void MacTable::on_update(const MacUpdate& update, Nanos now) {
    Entry* const entry = note(update, now);
    if (entry == nullptr)
        return;
    entry->kind = Kind::kReceived;
    entry->post_at = now + post_period_;
    seen_[slot_of(update.key)] = {update.key, now + refresh_, update.destination};
}

void MacTable::age(Nanos now) {
    for (unsigned i = 0; i < kAgeBatch; ++i) {
        if (++age_cursor_ >= entries_.size())
            age_cursor_ = 0;
        Entry& entry = entries_[age_cursor_];
        if (!entry.learned())
            continue;
        if (now >= entry.last_seen + aging_ + (entry.kind == Kind::kReceived ? post_period_ : 0)) {
            unlearn_at(age_cursor_);
            continue;
        }
        void* key = nullptr;
        if (updates_ != nullptr && entry.kind == Kind::kLearned && entry.post_at <= entry.last_seen &&
            rte_hash_get_key_with_position(hash_, static_cast<std::int32_t>(age_cursor_), &key) == 0)
            post(entry, *static_cast<const MacKey*>(key), now);
    }
}

std::uint32_t MacTable::size() const {
    return static_cast<std::uint32_t>(rte_hash_count(hash_));
}

}  // namespace weir
