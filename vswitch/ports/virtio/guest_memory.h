// guest_memory.h - the memory of one guest: guest addresses become host addresses, and nothing beyond its
// end. Source: vhost-user protocol (memory regions). Units: bytes. Threads: built by vhost's control thread;
// then the owning worker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/prefetch.h"

namespace weir::virtio {

/// A contiguous part of a buffer of the guest: `bytes` bytes may be touched, none more.
struct Piece {
    std::uint8_t* at;
    std::uint32_t bytes;
    std::uint64_t address;  ///< in the guest, for the log of dirty pages
};

/// Parts of one frame's buffers, and the descriptors that were looked at for them, also empty ones. More of
/// either are refused: an honest driver has some 20 per frame, one that receives 64 KiB in buffers of 1,526
/// bytes has 43.
class Pieces {
  public:
    static constexpr std::size_t kMost = 256;

    [[nodiscard]] bool full() const { return count_ == kMost || walked_ > kMost; }
    /// Counts a descriptor before it is looked at. @return false: it is one too many
    [[nodiscard]] bool walk() { return ++walked_ <= kMost; }
    [[nodiscard]] std::size_t walked() const { return walked_; }
    void add(const Piece& piece) {
        list_[count_++] = piece;
        bytes_ += piece.bytes;
    }
    [[nodiscard]] std::span<const Piece> all() const { return {list_.data(), count_}; }
    /// Of all parts together.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    std::size_t count_ = 0;
    std::size_t walked_ = 0;
    std::uint64_t bytes_ = 0;
    std::array<Piece, kMost> list_;
};

class GuestMemory {
  public:
    static constexpr std::size_t kRegionsMax = 8;

    struct Region {
        std::uint64_t address = 0;  ///< in the guest
        std::uint64_t bytes = 0;
        std::uint8_t* host = nullptr;
    };

    /// @return false when there is no room for one more region
    bool add(const Region& region);

    /// A pointer to `bytes` bytes at a guest address; nullptr when they are not in one region.
    [[nodiscard]] std::uint8_t* find(std::uint64_t address, std::uint64_t bytes) const {
        for (std::size_t i = 0; i < count_; ++i) {
            const Region& region = regions_[i];
            const std::uint64_t offset = address - region.address;
            if (offset < region.bytes && bytes <= region.bytes - offset) [[likely]]
                return region.host + offset;
        }
        return nullptr;
    }
    /// Adds the parts of a buffer, one for each region that it is in. @return false when some of it is in no
    /// region, or there are more parts than `pieces` holds
    [[nodiscard]] bool collect(std::uint64_t address, std::uint32_t bytes, Pieces& pieces) const;
    /// Whether these bytes of this process, at a multiple of `alignment`, are in one region.
    [[nodiscard]] bool holds(const void* begin, std::uint64_t bytes, std::uintptr_t alignment) const;

  private:
    std::size_t count_ = 0;
    std::array<Region, kRegionsMax> regions_{};  // the largest first
};

/// The lines of a receive buffer that a short frame touches: the header, which is written only when it
/// differs, and the frame's first bytes. @param at nullptr: nothing happens
inline void prefetch_receive_buffer(const std::uint8_t* at, std::uint32_t header_bytes) {
    if (at == nullptr)
        return;
    __builtin_prefetch(at);  // drivers end the header at a cache line's end
    prefetch_for_write(at + header_bytes);
}

}  // namespace weir::virtio
