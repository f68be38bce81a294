// layout.h - structures in the memory of driver and device: descriptors, rings, the header of a frame.
// Source: virtio 1.2 2.7; virtio 1.2 2.8; virtio 1.2 5.1.6. Units: bytes; entries. Threads: any (values).
//
// The guest may change any of it at any time. read() and load() make private copies, and only those are used.
#pragma once

#include <cstdint>
#include <cstring>

namespace weir::virtio {

inline constexpr std::uint16_t kRingSizeMax = 32'768;

/// Of a split ring, and of an indirect table of one.
struct Descriptor {
    std::uint64_t address;  ///< in the guest
    std::uint32_t bytes;
    std::uint16_t flags;
    std::uint16_t next;
};

/// Of a packed ring, and of an indirect table of one.
struct PackedDescriptor {
    std::uint64_t address;  ///< in the guest
    std::uint32_t bytes;
    std::uint16_t id;
    std::uint16_t flags;
};
inline constexpr std::uintptr_t kDescriptorsAlignment = 16;  ///< of a ring's table
static_assert(sizeof(Descriptor) == 16 && sizeof(PackedDescriptor) == 16);

namespace descriptor_flag {
inline constexpr std::uint16_t kNext = 1;
inline constexpr std::uint16_t kWrite = 2;  ///< the device writes, the driver reads
inline constexpr std::uint16_t kIndirect = 4;
inline constexpr std::uint16_t kAvailable = 1U << 7;  // packed rings
inline constexpr std::uint16_t kUsed = 1U << 15;
}  // namespace descriptor_flag

struct UsedElement {
    std::uint32_t head;
    std::uint32_t bytes;
};

/// Before each frame. `buffers` is there when VERSION_1 or MRG_RXBUF is negotiated.
struct NetHeader {
    std::uint8_t flags;
    std::uint8_t segmentation;
    std::uint16_t header_bytes;
    std::uint16_t segment_bytes;
    std::uint16_t checksum_start;
    std::uint16_t checksum_offset;
    std::uint16_t buffers;
};
inline constexpr std::uint32_t kNetHeaderBytes = sizeof(NetHeader);
inline constexpr std::uint32_t kShortNetHeaderBytes = 10;
static_assert(kNetHeaderBytes == 12);

#ifdef WEIR_FUZZ
/// Of a fuzz target: changes of the guest before the next read.
inline void (*guest_writes)() = nullptr;
inline void before_read() {
    if (guest_writes != nullptr)
        guest_writes();
}
#else
inline void before_read() {}
#endif

/// A private copy of an object in guest memory. The barrier keeps the compiler from reading the original
/// again.
template <typename T>
[[nodiscard]] inline T read(const T* shared) {
    before_read();
    T value;
    std::memcpy(&value, shared, sizeof(value));
    asm volatile("" : "+m"(value));
    return value;
}
/// Likewise of a word that the guest stores at once. @tparam kOrder __ATOMIC_RELAXED or __ATOMIC_ACQUIRE
template <int kOrder>
[[nodiscard]] inline std::uint16_t load(const std::uint16_t* shared) {
    before_read();
    return __atomic_load_n(shared, kOrder);
}

}  // namespace weir::virtio
