#include "cost_functions/tracker/fragments.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

constexpr std::size_t kBytesMask = 0x7fff;

}  // namespace

bool Fragments::keep_header(Direction& way, VnicId vnic, Fragment* begun, Bytes bytes) {
    if (begun != nullptr) {
        begun->bytes = (begun->bytes + bytes.size()) & kBytesMask;
    } else {
        const FragmentId id = pool_.take(vnic);
        if (id == kNoFragment)
            return false;
        Fragment& fragment = pool_[id];
        fragment.next = way.fragments;
        fragment.bytes = bytes.size() & kBytesMask;
        fragment.is_header = true;
        fragment.seq = way.next_seq;
        std::memcpy(fragment.data.data(), bytes.data(), bytes.size());
        way.fragments = id;
    }
    way.next_seq += static_cast<std::uint32_t>(bytes.size());
    return true;
}

std::uint32_t Fragments::shorten_header(Direction& way, VnicId vnic, std::uint32_t bytes) {
    Fragment& first = pool_[way.fragments];
    if (bytes >= first.bytes) {
        const std::uint32_t rest = bytes - first.bytes;
        drop(way.fragments, vnic);
        return rest;
    }
    const std::size_t left = first.bytes - bytes;
    std::memmove(first.data.data(), first.data.data() + bytes, left);
    first.bytes = left & kBytesMask;
    first.seq += bytes;
    return 0;
}

std::size_t Fragments::keep(Direction& way, VnicId vnic, std::uint32_t seq, Bytes bytes) {
    unsigned held = 0;
    for (FragmentId id = way.fragments; id != kNoFragment; id = pool_[id].next)
        ++held;
    const Fragment* before = nullptr;
    FragmentId* link = &way.fragments;
    std::size_t kept = 0;
    while (kept < bytes.size()) {
        for (; *link != kNoFragment && ahead(pool_[*link].seq, seq) <= 0; link = &pool_[*link].next)
            before = &pool_[*link];
        const std::size_t rest = bytes.size() - kept;
        const std::int32_t known = before == nullptr ? 0 : ahead(before->seq + before->bytes, seq);
        std::size_t size = std::min(rest, known > 0 ? static_cast<std::size_t>(known) : kHeaderMax);
        if (known <= 0) {
            const FragmentId id = held < kBeyondHole ? pool_.take(vnic, headers_) : kNoFragment;
            if (id == kNoFragment)
                break;
            ++held;
            Fragment& fragment = pool_[id];
            fragment.next = *link;
            fragment.bytes = size & kBytesMask;
            fragment.is_header = false;
            fragment.seq = seq;
            std::memcpy(fragment.data.data(), bytes.data() + kept, size);
            *link = id;
        }
        kept += size;
        seq += static_cast<std::uint32_t>(size);
    }
    return kept;
}

bool Fragments::take_due(Direction& way, VnicId vnic, Fragment& fragment) {
    Fragment* const begun = header(way);
    FragmentId& link = begun == nullptr ? way.fragments : begun->next;
    if (link == kNoFragment || ahead(pool_[link].seq, way.next_seq) > 0)
        return false;
    fragment.bytes = pool_[link].bytes;
    fragment.seq = pool_[link].seq;
    std::memcpy(fragment.data.data(), pool_[link].data.data(), fragment.bytes);
    drop(link, vnic);
    return true;
}

std::uint32_t Fragments::drop_all(Direction& way, VnicId vnic) {
    std::uint32_t bytes = 0;
    while (way.fragments != kNoFragment) {
        bytes += pool_[way.fragments].bytes;
        drop(way.fragments, vnic);
    }
    return bytes;
}

}  // namespace weir
