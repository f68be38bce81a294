// guest_area.h - memory of a guest inside the test's process, between addresses that fault when touched.
// Units: bytes. Threads: tests only.
//
// Two regions, neighbors in guest addresses and apart in the process; around each as many addresses that
// fault as an index of 16 bits reaches.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

#include "vswitch/ports/virtio/device.h"

namespace weir::testing {

inline constexpr std::uint64_t kBuffersAt = 0x1'0000;  ///< in the first region
inline constexpr std::uint16_t kWrap = 0x8000;         ///< of a packed ring's position

class GuestArea {
  public:
    static constexpr std::uint64_t kAddress = 0x1'0000'0000;  ///< of the first region, in the guest
    static constexpr std::uint64_t kRegionBytes = 256 * 1024;
    static constexpr std::uint64_t kBytes = 2 * kRegionBytes;

    GuestArea() {
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            void* room =
                mmap(nullptr, kRegionBytes + 2 * kGuardBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            hosts_[i] = static_cast<std::uint8_t*>(room) + kGuardBytes;
            if (room == MAP_FAILED || mprotect(hosts_[i], kRegionBytes, PROT_READ | PROT_WRITE) != 0 ||
                !memory.add({kAddress + i * kRegionBytes, kRegionBytes, hosts_[i]}))
                throw std::system_error(errno, std::generic_category(), "memory of a guest");
        }
    }
    ~GuestArea() {
        for (std::uint8_t* host : hosts_)
            munmap(host - kGuardBytes, kRegionBytes + 2 * kGuardBytes);
    }
    GuestArea(const GuestArea&) = delete;
    GuestArea& operator=(const GuestArea&) = delete;

    /// @param at offset from the begin of the first region
    [[nodiscard]] std::uint8_t* host(std::uint64_t at) {
        return hosts_[at / kRegionBytes] + at % kRegionBytes;
    }
    template <typename T>
    [[nodiscard]] T& as(std::uint64_t at) {
        return *reinterpret_cast<T*>(host(at));
    }
    [[nodiscard]] std::span<std::uint8_t> region(std::size_t number) {
        return {hosts_[number], kRegionBytes};
    }

    virtio::GuestMemory memory;

  private:
    static constexpr std::size_t kGuardBytes = 2 * 1024 * 1024;
    std::array<std::uint8_t*, 2> hosts_{};
};

/// Where the parts of a ring are, as offsets.
struct RingParts {
    std::uint64_t descriptors;
    std::uint64_t driver;
    std::uint64_t device;
};

[[nodiscard]] inline RingParts parts_at(std::uint64_t end, std::uint16_t size, bool packed) {
    const std::uint64_t driver_bytes = packed ? 4 : 6 + 2 * std::uint64_t{size};
    const std::uint64_t device_bytes = packed ? 4 : 8 + 8 * std::uint64_t{size};
    RingParts parts{};
    parts.device = (end - device_bytes) & ~3ULL;
    parts.driver = (parts.device - driver_bytes) & ~3ULL;
    parts.descriptors = (parts.driver - 16 * std::uint64_t{size}) & ~15ULL;
    return parts;
}

[[nodiscard]] inline virtio::RingPlace place_of(GuestArea& area, const RingParts& parts, std::uint16_t size) {
    virtio::RingPlace at;
    at.descriptors = area.host(parts.descriptors);
    at.driver_area = area.host(parts.driver);
    at.device_area = area.host(parts.device);
    at.size = size;
    return at;
}

}  // namespace weir::testing
