// vhost_device.cc - the memory and the rings of a connection, read from the vhost library.
#include "vswitch/ports/vhost_device.h"

#include <fcntl.h>
#include <rte_vhost.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <span>
#include <utility>

#include "vswitch/ports/vhost_feature.h"

namespace weir {
namespace {

using MemoryTable = std::unique_ptr<rte_vhost_memory, decltype(&std::free)>;

MemoryTable memory_of(int vid) {
    rte_vhost_memory* table = nullptr;
    rte_vhost_get_mem_table(vid, &table);
    return {table, &std::free};
}

std::span<const rte_vhost_mem_region> regions_of(const MemoryTable& table) {
    return table ? std::span<const rte_vhost_mem_region>(table->regions, table->nregions)
                 : std::span<const rte_vhost_mem_region>();
}

bool add_memory(const MemoryTable& table, virtio::GuestMemory& memory) {
    bool complete = table != nullptr;
    for (const rte_vhost_mem_region& region : regions_of(table))
        complete &= memory.add(
            {region.guest_phys_addr, region.size, reinterpret_cast<std::uint8_t*>(region.host_user_addr)});
    return complete;
}

virtio::RingIdentity identity_of(const MemoryTable& table, const virtio::RingPlace& at) {
    const auto begin = reinterpret_cast<std::uint64_t>(at.descriptors);
    for (const rte_vhost_mem_region& region : regions_of(table)) {
        const std::uint64_t offset = begin - region.host_user_addr;
        struct stat file {};
        if (offset < region.size && fstat(region.fd, &file) == 0)
            return {file.st_ino, file.st_dev, region.guest_phys_addr + offset, at.size};
    }
    return {};
}

/// A connection whose rings are placed.
struct Source {
    int vid;
    std::uint64_t negotiated;
    const MemoryTable& table;
    const virtio::GuestMemory& memory;
    RingPlaces& places;
};

/// Finds where a packed ring, which lies in the guest's memory, goes on, and notes it. @return false: the
/// place is not known
bool find_place(const Source& from, std::uint16_t number, virtio::RingPlace& at) {
    virtio::PackedPlace& noted = from.places.of(number);
    const virtio::RingIdentity ring = identity_of(from.table, at);
    const bool served =
        virtio::load<__ATOMIC_RELAXED>(static_cast<const std::uint16_t*>(at.device_area)) == virtio::kServed;
    auto* descriptors = static_cast<virtio::PackedDescriptor*>(at.descriptors);
    const auto place =
        virtio::resume({descriptors, at.size}, served, at.used, noted.ring == ring ? &noted : nullptr);
    if (!place)
        return false;
    at.avail = at.used = *place;
    at.guest_address = ring.at;
    at.noted = &noted;
    if (noted.ring == ring && noted.state == virtio::PackedPlace::kRunning) {
        noted.settle(*place);
        return true;
    }
    noted.state = virtio::PackedPlace::kNone;  // half a note is none
    std::atomic_signal_fence(std::memory_order_seq_cst);
    noted.ring = ring;
    noted.settle(*place);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    noted.state = virtio::PackedPlace::kRunning;
    return true;
}

virtio::RingFault place(virtio::Lane& lane, std::uint16_t number, const Source& from) {
    using virtio::RingFault;
    rte_vhost_vring ring{};
    virtio::RingPlace at;
    if (rte_vhost_get_vhost_vring(from.vid, number, &ring) != 0 ||
        rte_vhost_get_vring_base(from.vid, number, &at.avail, &at.used) != 0)
        return RingFault::kPlace;
    at.descriptors = ring.desc;
    at.driver_area = ring.avail;
    at.device_area = ring.used;
    at.size = ring.size;
    at.event_index = vhost::has(from.negotiated, vhost::kEventIndex);
    at.indirect = vhost::has(from.negotiated, vhost::kIndirect);
    lane.number = number;
    lane.call = ring.callfd;
    const auto put_at = [&](auto& placed) {
        if (!placed.place(at, from.memory))
            return false;
        placed.wish_kicks(false);  // a worker that polls needs none, and the guest has fewer exits
        return true;
    };
    if (!vhost::has(from.negotiated, vhost::kRingPacked))
        return put_at(lane.ring.emplace<virtio::SplitRing>()) ? RingFault::kNone : RingFault::kPlace;
    auto& packed = lane.ring.emplace<virtio::PackedRing>();
    if (!packed.place(at, from.memory))
        return RingFault::kPlace;
    if (!find_place(from, number, at))
        return RingFault::kUnknown;
    return put_at(packed) ? RingFault::kNone : RingFault::kPlace;
}

/// State of a ring that is not enabled.
enum class Disabled : std::uint8_t {
    kStopped,
    kNowhere,  ///< the library disables a ring that was started where there is no memory
    kStarted,
};

Disabled state_of_disabled(int vid, std::uint16_t number) {
    constexpr int kNotStarted = -2;  // the library's value of a ring's kick file
    rte_vhost_vring ring{};
    if (rte_vhost_get_vhost_vring(vid, number, &ring) != 0 || ring.size == 0 || ring.kickfd == kNotStarted)
        return Disabled::kStopped;
    return ring.desc == nullptr || ring.avail == nullptr || ring.used == nullptr ? Disabled::kNowhere
                                                                                 : Disabled::kStarted;
}

/// @param by_message the front-end has disabled it: if it is a transmit ring its frames are taken and dropped
void add_disabled(virtio::Device& device, std::uint16_t number, bool by_message, const Source& from) {
    const Disabled state = state_of_disabled(from.vid, number);
    if (state == Disabled::kNowhere)
        device.misplaced = {number, virtio::RingFault::kPlace};
    virtio::Device::Lanes& lanes = device.from_vm;
    if (state != Disabled::kStarted || !by_message || (number & 1) == 0)
        return;
    virtio::Lane& lane = lanes.lanes[lanes.count];
    lane.disabled = true;
    lanes.count = static_cast<std::uint16_t>(lanes.count +
                                             (place(lane, number, from) == virtio::RingFault::kNone ? 1 : 0));
}

}  // namespace

std::unique_ptr<virtio::Device> open_device(int vid, std::uint64_t negotiated, const RingBits& rings,
                                            RingPlaces& places) {
    auto device = std::make_unique<virtio::Device>();
    const bool mergeable = vhost::has(negotiated, vhost::kMergeable);
    device->terms = {.vid = vid,
                     .rights = {.checksum = vhost::has(negotiated, vhost::kChecksum),
                                .tso4 = vhost::has(negotiated, vhost::kHostTso4)},
                     .header_bytes = mergeable || vhost::has(negotiated, vhost::kVersion1)
                                         ? virtio::kNetHeaderBytes
                                         : virtio::kShortNetHeaderBytes,
                     .mergeable = mergeable,
                     .logs = vhost::has(negotiated, vhost::kLogAll)};
    const MemoryTable table = memory_of(vid);
    if (!add_memory(table, device->memory))
        return device;
    const Source from{vid, negotiated, table, device->memory, places};
    for (std::uint16_t number = 0; number < 2 * limits::kQueuesMax; ++number) {
        if ((rings.enabled >> number & 1) == 0) {
            add_disabled(*device, number, (rings.disabled >> number & 1) != 0, from);
            continue;
        }
        virtio::Device::Lanes& lanes = (number & 1) != 0 ? device->from_vm : device->to_vm;
        virtio::Lane& lane = lanes.lanes[lanes.count];
        lane.disabled = false;
        const virtio::RingFault fault = place(lane, number, from);
        if (fault == virtio::RingFault::kNone)
            ++lanes.count;
        else
            device->misplaced = {number, fault};
        if (fault == virtio::RingFault::kUnknown) {
            device->from_vm.count = device->to_vm.count = 0;
            break;
        }
    }
    return device;
}

std::vector<std::unique_ptr<virtio::Device>> deal(virtio::Device& whole, std::size_t servers) {
    std::vector<std::unique_ptr<virtio::Device>> parts;
    for (std::size_t server = 0; server < servers; ++server) {
        auto part = std::make_unique<virtio::Device>();
        part->terms = whole.terms;
        part->memory = whole.memory;
        for (auto direction : {&virtio::Device::from_vm, &virtio::Device::to_vm}) {
            virtio::Device::Lanes& lanes = (*part).*direction;
            for (const virtio::Lane& lane : (whole.*direction).all())
                if (lane.number / 2 % servers == server)
                    lanes.lanes[lanes.count++] = lane;
        }
        parts.push_back(std::move(part));
    }
    parts.front()->misplaced = whole.misplaced;
    if (whole.misplaced && whole.misplaced->why == virtio::RingFault::kUnknown)
        for (const auto& part : parts)  // none is up
            part->misplaced = whole.misplaced;
    return parts;
}

FileHandle copy_of_kicks(int vid, std::uint16_t ring) {
    rte_vhost_vring found{};
    if (rte_vhost_get_vhost_vring(vid, ring, &found) != 0 || found.kickfd < 0)
        return FileHandle();
    return FileHandle(fcntl(found.kickfd, F_DUPFD_CLOEXEC, 0));
}

void return_indices(virtio::Device& device) {
    for (virtio::Device::Lanes* lanes : {&device.from_vm, &device.to_vm})
        for (const virtio::Lane& lane : lanes->all())
            std::visit(
                [&](const auto& ring) {
                    rte_vhost_set_vring_base(device.terms.vid, lane.number, ring.avail(), ring.used());
                },
                lane.ring);
}

}  // namespace weir
