// fragments.h - bytes of a connection that are kept until they can be read: the begin of a header, and what
// passed over a hole. Source: algorithms 8 (512 bytes of a text header). Units: bytes. Threads: one owner.
// Allocates only when built.
//
// Fragments come from a bounded pool and hang in a list per direction: first the begin of a header, if there
// is one; then what lies beyond next_seq, in the order of sequence numbers. Bodies are kept only if they
// passed over a hole.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cost_functions/tracker/connection.h"
#include "cost_functions/tracker/protocol.h"
#include "cost_functions/tracker/record_pool.h"

namespace weir {

struct Fragment {
    FragmentId next = kNoFragment;
    std::uint16_t bytes : 15 = 0;
    bool is_header : 1 = false;  ///< the begin of one; it ends at next_seq
    std::uint32_t seq = 0;
    std::array<std::uint8_t, kHeaderMax> data;

    /// Its bytes and the first of what follows, `size` at most together. It stays as long as it is.
    [[nodiscard]] Bytes with(Bytes following, std::size_t size) {
        const std::size_t more = std::min(following.size(), size - bytes);
        std::memcpy(data.data() + bytes, following.data(), more);
        return {data.data(), bytes + more};
    }
};
static_assert(sizeof(Fragment) == kHeaderMax + 8);

class Fragments {
  public:
    /// Fragments of one direction, beyond its hole.
    static constexpr unsigned kBeyondHole = 128;

    Fragments(std::size_t fragments, std::size_t vnics, std::size_t quota)
        : pool_(fragments, vnics, quota),
          headers_(static_cast<std::uint32_t>(std::min(fragments, quota) / 4)) {}

    /// The begin of a header, if there is one; nullptr else.
    [[nodiscard]] Fragment* header(const Direction& way) {
        const bool begun = way.fragments != kNoFragment && pool_[way.fragments].is_header;
        return begun ? &pool_[way.fragments] : nullptr;
    }
    /// Keeps the begin of a header at next_seq, or, when it has begun, what with() has put behind it;
    /// next_seq moves on.
    /// @return false: there is no room
    bool keep_header(Direction& way, VnicId vnic, Fragment* begun, Bytes bytes);
    /// So many bytes of the header with what follows are read. @return how many of them are of what follows
    std::uint32_t shorten_header(Direction& way, VnicId vnic, std::uint32_t bytes);

    /// Something passed over a hole and is kept.
    [[nodiscard]] bool beyond(const Direction& way) const {
        if (way.fragments == kNoFragment)
            return false;
        const Fragment& first = pool_[way.fragments];
        return !first.is_header || first.next != kNoFragment;
    }
    /// Keeps what passed over a hole, as much as there is room for. @return how many of the first bytes are
    /// kept
    std::size_t keep(Direction& way, VnicId vnic, std::uint32_t seq, Bytes bytes);
    /// Takes out the first of what passed over the hole, if next_seq has come so far. @return false: it has
    /// not
    bool take_due(Direction& way, VnicId vnic, Fragment& fragment);
    /// Gives all back. @return how many bytes they held
    std::uint32_t drop_all(Direction& way, VnicId vnic);

    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return pool_.taken(vnic); }
    [[nodiscard]] std::uint64_t refused() const { return pool_.refused(); }
    [[nodiscard]] std::size_t memory_bytes() const { return pool_.memory_bytes(); }

  private:
    void drop(FragmentId& link, VnicId vnic) {
        const FragmentId id = link;
        link = pool_[id].next;
        pool_.give_back(id, vnic);
    }

    RecordPool<Fragment, FragmentId, kNoFragment> pool_;
    std::uint32_t headers_;  // fragments that only headers may take
};

}  // namespace weir
