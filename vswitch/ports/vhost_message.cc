// vhost_message.cc - rules for every request that a network front-end sends.
#include "vswitch/ports/vhost_message.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "vswitch/ports/vhost_feature.h"
#include "vswitch/ports/vhost_request.h"

namespace weir {
namespace {

using namespace vhost_request;

constexpr std::size_t kPayloadAt = VhostMessage::kHeaderBytes;
constexpr std::uint32_t kVersionMask = 3;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kRingSizeMax = 32'768;
constexpr std::uint64_t kRingMask = 0xFF;
constexpr std::uint64_t kNoFile = 1U << 8;  // in KICK, CALL and ERR

/// Bytes of payload that a request has, and the files that come with it.
struct Shape {
    std::uint32_t request;
    const char* name;
    std::uint32_t bytes;
    enum Files { kNone, kEvent, kEventUnlessFlagged, kMemory, kRegions } files = kNone;
};
constexpr Shape kShapes[] = {
    {kGetFeatures, "GET_FEATURES", 0},
    {kSetFeatures, "SET_FEATURES", 8},
    {kSetOwner, "SET_OWNER", 0},
    {kResetOwner, "RESET_OWNER", 0},
    {kSetMemTable, "SET_MEM_TABLE", 8, Shape::kRegions},
    {kSetLogBase, "SET_LOG_BASE", 16, Shape::kMemory},
    {kSetLogFd, "SET_LOG_FD", 0, Shape::kEvent},
    {kSetVringNum, "SET_VRING_NUM", 8},
    {kSetVringAddr, "SET_VRING_ADDR", 40},
    {kSetVringBase, "SET_VRING_BASE", 8},
    {kGetVringBase, "GET_VRING_BASE", 8},
    {kSetVringKick, "SET_VRING_KICK", 8, Shape::kEventUnlessFlagged},
    {kSetVringCall, "SET_VRING_CALL", 8, Shape::kEventUnlessFlagged},
    {kSetVringErr, "SET_VRING_ERR", 8, Shape::kEventUnlessFlagged},
    {kGetProtocolFeatures, "GET_PROTOCOL_FEATURES", 0},
    {kSetProtocolFeatures, "SET_PROTOCOL_FEATURES", 8},
    {kGetQueueNum, "GET_QUEUE_NUM", 0},
    {kSetVringEnable, "SET_VRING_ENABLE", 8},
    {kSendRarp, "SEND_RARP", 8},
    {kSetMtu, "SET_MTU", 8},
    {kSetStatus, "SET_STATUS", 8},
    {kGetStatus, "GET_STATUS", 0},
};

constexpr bool are_events(Shape::Files files) {
    return files == Shape::kEvent || files == Shape::kEventUnlessFlagged;
}

/// A file of any other kind may wait when it is written, closed, or read by a page fault.
std::string wrong_kind(const VhostMessage& message, const Shape& shape) {
    for (const FileHandle& file : message.files) {
        if (are_events(shape.files) && !is_eventfd(file))
            return std::string(shape.name) + " with a file that is no eventfd";
        if (!are_events(shape.files) && !is_memory(file))
            return std::string(shape.name) +
                   " with a file that does not lie in memory; allowed: memfd, tmpfs, hugetlbfs (QEMU: " +
                   "memory-backend-memfd, or memory-backend-file in /dev/shm or /dev/hugepages)";
    }
    return "";
}

bool overflows(std::uint64_t begin, std::uint64_t bytes) {
    return bytes == 0 || begin + bytes < begin;
}

std::string check_regions(const VhostMessage& message) {
    for (std::size_t i = 0; i < message.files.size(); ++i) {
        const std::size_t at = 8 + i * VhostMessage::kRegionBytes;
        const std::uint64_t bytes = message.number(at + 8);
        const std::uint64_t offset = message.number(at + 24);
        if (overflows(message.number(at), bytes) || overflows(message.number(at + 16), bytes) ||
            overflows(offset, bytes))
            return "a region of memory is empty, or its end is beyond 2^64";
        if (offset + bytes > memory_bytes(message.files[i]))
            return "a region of memory is longer than its file";
    }
    return "";
}

/// The library maps the log at its offset and adds the offset once more, so that only 0 is right.
std::string check_log(const VhostMessage& message) {
    const std::uint64_t bytes = message.number(0);
    if (message.number(8) != 0)
        return "a log of dirty pages that does not begin at 0 of its file";
    return bytes == 0 || bytes > memory_bytes(message.files.front())
               ? "a log of dirty pages is empty or longer than its file"
               : "";
}

/// The worker writes interrupts to the file itself, and must not wait until the guest reads it.
std::string check_call(const VhostMessage& message) {
    if (message.files.empty())
        return "";
    const int file = message.files.front().number();
    const int flags = fcntl(file, F_GETFL);
    return flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) != 0
               ? "a file for interrupts that cannot be made non-blocking"
               : "";
}

}  // namespace

std::uint32_t VhostMessage::word(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

std::uint64_t VhostMessage::number(std::size_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + kPayloadAt + at, sizeof(value));
    return value;
}

void VhostMessage::set_number(std::size_t at, std::uint64_t value) {
    std::memcpy(bytes.data() + kPayloadAt + at, &value, sizeof(value));
}

bool VhostMessage::has_idle_file() const {
    return request() == kSetVringErr || request() == kSetLogFd;
}

bool VhostMessageCheck::is_packed() const {
    return vhost::has(features_, vhost::kRingPacked);
}

std::string VhostMessageCheck::shape(const VhostMessage& message) const {
    const auto* found = std::ranges::find(kShapes, message.request(), &Shape::request);
    if (found == std::end(kShapes))
        return "a request that a network front-end does not need here";
    if ((message.flags() & kVersionMask) != kVersion)
        return "a version of the protocol other than 1";
    std::size_t bytes = found->bytes;
    std::size_t files = found->files == Shape::kNone ? 0 : 1;
    if (found->files == Shape::kRegions && message.payload_bytes() >= bytes) {
        files = message.word(kPayloadAt);
        if (files == 0 || files > VhostMessage::kRegionsMax)
            return "a table of no or too many regions";
        bytes += files * VhostMessage::kRegionBytes;
    }
    // A longer payload is padding: QEMU sends some requests with 8 bytes that mean nothing.
    if (message.payload_bytes() < bytes)
        return "a payload that is too short";
    if (found->files == Shape::kEventUnlessFlagged && (message.number(0) & kNoFile) != 0)
        files = 0;
    return message.files.size() == files ? wrong_kind(message, *found) : "a wrong number of file descriptors";
}

/// The vhost library makes every ring up to the number that it is shown, from the hugepages of all.
std::string VhostMessageCheck::ring_number(std::uint64_t ring) const {
    return ring < 2 * queues_
               ? ""
               : "ring " + std::to_string(ring) + "; allowed: 0 to " + std::to_string(2 * queues_ - 1) +
                     ", as `queues` of the vNIC is " + std::to_string(queues_) + "; raise it to " +
                     std::to_string(ring / 2 + 1) +
                     ", or give the front-end fewer queue pairs (QEMU: `queues` of the netdev)";
}

void VhostMessageCheck::note_reply(VhostMessage& reply) {
    if (reply.payload_bytes() < sizeof(std::uint64_t))
        return;
    if (reply.request() == kGetQueueNum)
        reply.set_number(0, std::min<std::uint64_t>(reply.number(0), queues_));
    if (reply.request() == kGetFeatures)
        offered_ = reply.number(0);
}

/// Rings that have a size have memory of the library's that depends on their layout.
std::string VhostMessageCheck::features(std::uint64_t bits) {
    constexpr std::uint64_t kLayout = vhost::mask({vhost::kRingPacked, vhost::kEventIndex});
    const auto in_use = [](const Ring& ring) { return ring.life != Life::kStopped; };
    if (const std::uint64_t foreign = bits & ~offered_; foreign != 0)
        return "features " + vhost::text(foreign) + " that the vNIC does not offer" +
               (vhost::has(foreign, vhost::kMultiqueue)
                    ? ": `queues` of the vNIC is " + std::to_string(queues_)
                    : std::string());
    if (((bits ^ features_) & kLayout) != 0 && std::ranges::any_of(rings_, in_use))
        return "features that change the layout of rings in use";
    features_ = bits;
    constexpr std::size_t kOnePair = 2;
    if (!vhost::has(bits, vhost::kMultiqueue))
        std::fill(rings_.begin() + kOnePair, rings_.end(), Ring{});  // the library forgets them
    return "";
}

std::string VhostMessageCheck::size(Ring& ring, std::uint64_t number, std::uint32_t entries) const {
    if (ring.life == Life::kPlaced || ring.life == Life::kStarted)
        return "a ring that changes its size while it is in use";
    if (entries == 0 || entries > kRingSizeMax || (!is_packed() && !std::has_single_bit(entries)))
        return "ring " + std::to_string(number) + " of " + std::to_string(entries) +
               " descriptors; allowed: 1 to 32768" + (is_packed() ? "" : ", a power of two");
    ring.life = Life::kSized;
    ring.size = entries;
    return "";
}

std::string VhostMessageCheck::address(Ring& ring, const VhostMessage& message) const {
    if (ring.life == Life::kStopped)
        return "a ring that is placed before it has a size";
    const std::uint64_t descriptors = message.number(8);
    const std::uint64_t used = message.number(16);
    const std::uint64_t avail = message.number(24);
    if (descriptors % 16 != 0 || used % 4 != 0 || avail % (is_packed() ? 4 : 2) != 0)
        return "a ring that is not aligned";
    if (ring.life == Life::kSized)
        ring.life = Life::kPlaced;
    return "";
}

std::string VhostMessageCheck::base(Ring& ring, std::uint32_t index) const {
    if (ring.life == Life::kStarted)
        return "a ring that is moved while it is in use";
    ring.base = static_cast<std::uint16_t>(index);
    ring.has_base = true;
    return "";
}

/// The library does not bound the index of a packed ring; that of a split ring wraps.
std::string VhostMessageCheck::start(Ring& ring) const {
    if (ring.life == Life::kStopped || ring.life == Life::kSized)
        return "a ring that is started before it has a size and a place";
    constexpr std::uint16_t kWrapBit = 0x8000;
    if (is_packed() && ring.life == Life::kPlaced &&
        (!ring.has_base || (ring.base & ~kWrapBit) >= static_cast<int>(ring.size)))
        return "a packed ring that starts beyond its end";
    ring.life = Life::kStarted;
    return "";
}

std::string VhostMessageCheck::refusal(const VhostMessage& message) {
    if (std::string why = shape(message); !why.empty())
        return why;
    const std::uint32_t value = message.word(kPayloadAt + 4);
    std::uint32_t index = message.word(kPayloadAt);
    switch (message.request()) {
        case kSetVringNum:
        case kSetVringAddr:
        case kSetVringBase:
        case kGetVringBase:
        case kSetVringEnable:
            break;
        case kSetVringKick:
        case kSetVringCall:
        case kSetVringErr:
            index &= kRingMask;
            break;
        default:
            index = 0;
            break;
    }
    if (std::string why = ring_number(index); !why.empty())
        return why;
    Ring& ring = rings_[index];
    switch (message.request()) {
        case kSetFeatures:
            return features(message.number(0));
        case kResetOwner:
            rings_ = {};
            return "";
        case kSetMemTable:
            return check_regions(message);
        case kSetLogBase:
            return check_log(message);
        case kSetVringNum:
            return size(ring, index, value);
        case kSetVringAddr:
            return address(ring, message);
        case kSetVringBase:
            return base(ring, value);
        case kGetVringBase:
            ring = {};
            return "";
        case kSetVringKick:
            return start(ring);
        case kSetVringCall:
            return check_call(message);
        default:
            return "";
    }
}

}  // namespace weir
