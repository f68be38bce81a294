// protocol.h - messages of vhost-user and structures of virtio rings, as they are in memory.
// Source: vhost-user protocol; virtio 1.2 2.7, 2.8 and 5.1.6. Units: bytes. Threads: any (plain values).
#pragma once

#include <cstdint>

namespace weir::hostile {

enum Request : std::uint32_t {
    kGetFeatures = 1,
    kSetFeatures = 2,
    kSetOwner = 3,
    kResetOwner = 4,
    kSetMemTable = 5,
    kSetLogBase = 6,
    kSetLogFd = 7,
    kSetVringNum = 8,
    kSetVringAddr = 9,
    kSetVringBase = 10,
    kGetVringBase = 11,
    kSetVringKick = 12,
    kSetVringCall = 13,
    kSetVringErr = 14,
    kGetProtocolFeatures = 15,
    kSetProtocolFeatures = 16,
    kGetQueueNum = 17,
    kSetVringEnable = 18,
    kSendRarp = 19,
    kSetMtu = 20,
    kSetSlaveRequestFd = 21,
    kIotlb = 22,
    kPostcopyAdvise = 28,
    kPostcopyListen = 29,
    kPostcopyEnd = 30,
    kGetInflightFd = 31,
    kSetInflightFd = 32,
    kSetStatus = 39,
    kRequestsEnd = 45,  ///< one beyond the last that the specification knows
};

struct MessageHeader {
    std::uint32_t request;
    std::uint32_t flags;
    std::uint32_t bytes;  ///< of the payload
};

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kIsReply = 1U << 2;
inline constexpr std::uint32_t kNeedsReply = 1U << 3;
inline constexpr std::uint64_t kNoDescriptor = 1U << 8;  ///< in the payload of KICK, CALL and ERR

struct RingState {
    std::uint32_t ring;
    std::uint32_t value;
};

struct RingAddress {
    std::uint32_t ring;
    std::uint32_t flags;
    std::uint64_t descriptors;  ///< the front-end's virtual addresses, as in the table of regions
    std::uint64_t used;
    std::uint64_t avail;
    std::uint64_t log;
};

struct RegionEntry {
    std::uint64_t guest_address;
    std::uint64_t bytes;
    std::uint64_t user_address;
    std::uint64_t file_offset;
};

inline constexpr std::uint32_t kRegionsMax = 8;

struct RegionTable {
    std::uint32_t count;
    std::uint32_t padding;
    RegionEntry entries[kRegionsMax];
};

struct LogArea {
    std::uint64_t bytes;
    std::uint64_t file_offset;
};

struct InflightArea {
    std::uint64_t bytes;
    std::uint64_t file_offset;
    std::uint16_t rings;
    std::uint16_t ring_size;
};

struct Descriptor {
    std::uint64_t address;  ///< guest physical
    std::uint32_t bytes;
    std::uint16_t flags;
    std::uint16_t next;
};
static_assert(sizeof(Descriptor) == 16);

struct PackedDescriptor {
    std::uint64_t address;  ///< guest physical
    std::uint32_t bytes;
    std::uint16_t id;  ///< of the buffer: the device returns it
    std::uint16_t flags;
};
static_assert(sizeof(PackedDescriptor) == 16);

// Flags of a descriptor.
inline constexpr std::uint16_t kNext = 1;
inline constexpr std::uint16_t kWrite = 2;
inline constexpr std::uint16_t kIndirect = 4;
// Of a packed ring's descriptor. The driver's wrap counter is in kAvailable and its inverse in kUsed.
inline constexpr std::uint16_t kAvailable = 1U << 7;
inline constexpr std::uint16_t kUsed = 1U << 15;

struct UsedElement {
    std::uint32_t head;
    std::uint32_t bytes;
};

/// In front of every frame (12 bytes with VERSION_1 or MRG_RXBUF).
struct FrameHeader {
    std::uint8_t flags = 0;  ///< 1: the checksum is missing
    std::uint8_t segmentation = 0;
    std::uint16_t header_bytes = 0;
    std::uint16_t segment_bytes = 0;
    std::uint16_t checksum_start = 0;
    std::uint16_t checksum_offset = 0;
    std::uint16_t buffers = 0;
};
static_assert(sizeof(FrameHeader) == 12);

enum Feature : unsigned {
    kChecksum = 0,
    kGuestChecksum = 1,
    kGuestTso4 = 7,
    kHostTso4 = 11,
    kHostTso6 = 12,
    kMergeable = 15,
    kMultiqueue = 22,
    kLogAll = 26,
    kIndirectDescriptors = 28,
    kEventIndex = 29,
    kProtocolFeatures = 30,
    kVersion1 = 32,
    kPackedRing = 34,
    kInOrder = 35,
};

template <typename... Features>
[[nodiscard]] constexpr std::uint64_t mask(Features... features) {
    return ((1ULL << features) | ... | 0ULL);
}

}  // namespace weir::hostile
