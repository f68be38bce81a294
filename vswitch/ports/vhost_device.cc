// vhost_device.cc - the memory and the rings of a connection, read from the vhost library.
#include "vswitch/ports/vhost_device.h"

#include <fcntl.h>
#include <rte_vhost.h>

#include <cstdlib>
#include <utility>

#include "vswitch/ports/vhost_feature.h"

namespace weir {
namespace {

bool add_memory(int vid, virtio::GuestMemory& memory) {
    rte_vhost_memory* table = nullptr;
    if (rte_vhost_get_mem_table(vid, &table) != 0)
        return false;
    const std::unique_ptr<rte_vhost_memory, decltype(&std::free)> owner(table, &std::free);
    bool complete = true;
    for (std::uint32_t i = 0; i < table->nregions; ++i) {
        const rte_vhost_mem_region& region = table->regions[i];
        complete &= memory.add(
            {region.guest_phys_addr, region.size, reinterpret_cast<std::uint8_t*>(region.host_user_addr)});
    }
    return complete;
}

bool place(virtio::Lane& lane, int vid, std::uint16_t number, std::uint64_t negotiated,
           const virtio::GuestMemory& memory) {
    rte_vhost_vring ring{};
    virtio::RingPlace at;
    if (rte_vhost_get_vhost_vring(vid, number, &ring) != 0 ||
        rte_vhost_get_vring_base(vid, number, &at.avail, &at.used) != 0)
        return false;
    at.descriptors = ring.desc;
    at.driver_area = ring.avail;
    at.device_area = ring.used;
    at.size = ring.size;
    at.event_index = vhost::has(negotiated, vhost::kEventIndex);
    at.indirect = vhost::has(negotiated, vhost::kIndirect);
    lane.number = number;
    lane.call = ring.callfd;
    const auto put_at = [&](auto& placed) {
        if (!placed.place(at, memory))
            return false;
        placed.wish_kicks(false);  // a worker that polls needs none, and the guest has fewer exits
        return true;
    };
    if (vhost::has(negotiated, vhost::kRingPacked))
        return put_at(lane.ring.emplace<virtio::PackedRing>());
    return put_at(lane.ring.emplace<virtio::SplitRing>());
}

/// The library disables a ring that was started where there is no memory.
bool is_nowhere(int vid, std::uint16_t number) {
    constexpr int kNotStarted = -2;  // the library's value of a ring's kick file
    rte_vhost_vring ring{};
    return rte_vhost_get_vhost_vring(vid, number, &ring) == 0 && ring.size != 0 &&
           ring.kickfd != kNotStarted &&
           (ring.desc == nullptr || ring.avail == nullptr || ring.used == nullptr);
}

}  // namespace

std::unique_ptr<virtio::Device> open_device(int vid, std::uint64_t negotiated, std::uint32_t rings) {
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
    if (!add_memory(vid, device->memory))
        return device;
    for (std::uint16_t number = 0; number < 2 * limits::kQueuesMax; ++number) {
        if ((rings >> number & 1) == 0) {
            if (is_nowhere(vid, number))
                device->misplaced = number;
            continue;
        }
        virtio::Device::Lanes& lanes = (number & 1) != 0 ? device->from_vm : device->to_vm;
        if (place(lanes.lanes[lanes.count], vid, number, negotiated, device->memory))
            ++lanes.count;
        else
            device->misplaced = number;
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
