// guest_memory.h - memory of a guest: regions in memfds, which the switch maps too.
// Source: vhost-user protocol (memory regions). Units: bytes. Threads: one at a time; what lies in the memory
// belongs to all.
//
// Two regions of 4 MiB are neighbors in guest addresses and in nothing else: a buffer at 4 MiB - 100 of 200
// bytes is in guest memory, but in two mappings of the switch.
#pragma once

#include <cstdint>
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

class GuestMemory {
  public:
    static constexpr std::uint64_t kRegionBytes = 4U << 20;
    static constexpr std::uint64_t kBytes = 2 * kRegionBytes;
    /// What the front-end claims that its own virtual addresses are.
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
    [[nodiscard]] RegionTable table() const;

  private:
    std::vector<Region> regions_;
};

}  // namespace weir::hostile
