// guest_memory.h - memory of a guest: regions in memfds, which the switch maps too.
// Source: vhost-user protocol (memory regions). Units: bytes. Threads: one at a time; the memory's content
// belongs to all.
//
// Two regions of 4 MiB are neighbors in guest addresses and in nothing else: a buffer at 4 MiB - 100 of 200
// bytes is in guest memory, but in two mappings of the switch. Two guards of 1 MiB are regions too, which no
// descriptor and no ring names, so that the switch has no reason to write there. The switch maps regions in
// the order of the table, and Linux each new mapping below the last one where it fits: with the second region
// between the guards in the table, a write behind or before that region changes a guard.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "test/hostile/protocol.h"

namespace weir::hostile {

/// A file descriptor that is closed at the end.
class File {
  public:
    explicit File(int number = -1) : number_(number) {}
    ~File();
    File(File&& other) noexcept : number_(other.release()) {}
    File& operator=(File&& other) noexcept;

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
    int release();

    /// An unnamed file of memory. @throws std::system_error
    [[nodiscard]] static File memory(std::uint64_t bytes);
    /// @param blocks whether a write waits when the counter is full
    [[nodiscard]] static File event(std::uint64_t count = 0, bool blocks = false);

  private:
    int number_;
};

struct Region {
    File file;
    RegionEntry entry;
    std::uint8_t* mapped;
};

/// A part of guest memory.
struct Extent {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

class GuestMemory {
  public:
    static constexpr std::uint64_t kRegionBytes = 4U << 20;
    static constexpr std::uint64_t kBytes = 2 * kRegionBytes;
    static constexpr std::uint64_t kGuardBytes = 1U << 20;
    /// Guest addresses of the guards: far from the regions, which the switch's mappings need not be.
    static constexpr std::uint64_t kGuardsAt = 1U << 30;
    static constexpr std::uint8_t kPaint = 0xA5;
    /// The first of the front-end's own virtual addresses, as it claims them.
    static constexpr std::uint64_t kUserBase = 0x7F00'0000'0000;

    GuestMemory();
    ~GuestMemory();
    GuestMemory(const GuestMemory&) = delete;
    GuestMemory& operator=(const GuestMemory&) = delete;

    [[nodiscard]] std::vector<Region>& regions() { return regions_; }
    /// @param address a guest address below kBytes
    [[nodiscard]] std::uint8_t* at(std::uint64_t address);
    template <typename T>
    [[nodiscard]] T* as(std::uint64_t address) {
        return reinterpret_cast<T*>(at(address));
    }
    /// The two regions.
    [[nodiscard]] RegionTable table() const;
    /// The two regions and the guards, and their files in the same order.
    [[nodiscard]] RegionTable guarded_table() const;
    [[nodiscard]] std::vector<int> guarded_files() const;

    /// Fills the second region's first and last kGuardBytes with kPaint.
    void paint();
    /// Bytes that lost their paint: in the guards, and after paint() in the second region, apart from `used`.
    [[nodiscard]] std::uint64_t bytes_changed(std::span<const Extent> used) const;

  private:
    [[nodiscard]] std::vector<const Region*> guarded() const;

    std::vector<Region> regions_;
    std::vector<Region> guards_;
    bool painted_ = false;
};

}  // namespace weir::hostile
