// stream_buffers.cc - the lists of buffers: where bytes are inserted, taken out and freed.
#include "cost_functions/tracker/stream_buffers.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

constexpr std::size_t kBytesMask = 0x7fff;

}  // namespace

bool StreamBuffers::keep_header(Direction& way, VnicId vnic, StreamBuffer* begun, Bytes bytes) {
    if (begun != nullptr) {
        begun->bytes = (begun->bytes + bytes.size()) & kBytesMask;
    } else {
        const StreamBufferId id = pool_.take(vnic);
        if (id == kNoStreamBuffer)
            return false;
        StreamBuffer& buffer = pool_[id];
        buffer.next = way.buffers;
        buffer.bytes = bytes.size() & kBytesMask;
        buffer.is_header = true;
        buffer.seq = way.next_seq;
        std::memcpy(buffer.data.data(), bytes.data(), bytes.size());
        way.buffers = id;
    }
    way.next_seq += static_cast<std::uint32_t>(bytes.size());
    return true;
}

std::uint32_t StreamBuffers::shorten_header(Direction& way, VnicId vnic, std::uint32_t bytes) {
    StreamBuffer& first = pool_[way.buffers];
    if (bytes >= first.bytes) {
        const std::uint32_t rest = bytes - first.bytes;
        drop(way.buffers, vnic);
        return rest;
    }
    const std::size_t left = first.bytes - bytes;
    std::memmove(first.data.data(), first.data.data() + bytes, left);
    first.bytes = left & kBytesMask;
    first.seq += bytes;
    return 0;
}

StreamBuffers::Kept StreamBuffers::keep(Direction& way, VnicId vnic, std::uint32_t seq, Bytes bytes) {
    unsigned held = 0;
    for (StreamBufferId id = way.buffers; id != kNoStreamBuffer; id = pool_[id].next)
        ++held;
    const StreamBuffer* before = nullptr;
    StreamBufferId* link = &way.buffers;
    Kept kept;
    while (kept.bytes < bytes.size()) {
        for (; *link != kNoStreamBuffer && ahead(pool_[*link].seq, seq) <= 0; link = &pool_[*link].next)
            before = &pool_[*link];
        const std::size_t rest = bytes.size() - kept.bytes;
        const std::int32_t known = before == nullptr ? 0 : ahead(before->seq + before->bytes, seq);
        std::size_t size = std::min(rest, known > 0 ? static_cast<std::size_t>(known) : kHeaderMax);
        if (known <= 0) {
            const StreamBufferId id =
                held < kBeyondHoleMax ? pool_.take(vnic, header_reserve_) : kNoStreamBuffer;
            if (id == kNoStreamBuffer)
                break;
            ++held;
            StreamBuffer& buffer = pool_[id];
            buffer.next = *link;
            buffer.bytes = size & kBytesMask;
            buffer.is_header = false;
            buffer.seq = seq;
            std::memcpy(buffer.data.data(), bytes.data() + kept.bytes, size);
            *link = id;
            kept.fresh += size;
        }
        kept.bytes += size;
        seq += static_cast<std::uint32_t>(size);
    }
    return kept;
}

bool StreamBuffers::take_due(Direction& way, VnicId vnic, StreamBuffer& buffer) {
    StreamBuffer* const begun = header(way);
    StreamBufferId& link = begun == nullptr ? way.buffers : begun->next;
    if (link == kNoStreamBuffer || ahead(pool_[link].seq, way.next_seq) > 0)
        return false;
    buffer.bytes = pool_[link].bytes;
    buffer.seq = pool_[link].seq;
    std::memcpy(buffer.data.data(), pool_[link].data.data(), buffer.bytes);
    drop(link, vnic);
    return true;
}

std::uint32_t StreamBuffers::drop_all(Direction& way, VnicId vnic) {
    std::uint32_t bytes = 0;
    while (way.buffers != kNoStreamBuffer) {
        bytes += pool_[way.buffers].bytes;
        drop(way.buffers, vnic);
    }
    return bytes;
}

}  // namespace weir
