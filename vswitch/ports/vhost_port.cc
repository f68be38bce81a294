// vhost_port.cc - the control thread's changes of a connection, and the devices that workers get of it.
#include "vswitch/ports/vhost_port.h"

#include <algorithm>
#include <utility>

#include "vswitch/base/limits.h"
#include "vswitch/ports/vhost_device.h"

namespace weir {

static_assert(2 * limits::kQueuesMax <= 32, "the ring bitmap has 32 bits");

/// Frames to a guest whose rings are not there yet wait as if there were one, with the first server.
VhostPort::VhostPort(std::uint32_t queues, std::span<const Server> servers, const std::string& places_file)
    : queues_(queues), places_(places_file, 2 * queues) {
    for (const Server& server : servers) {
        const std::uint16_t rings_least = servers_.empty() ? 1 : 0;
        servers_.push_back(std::make_unique<VhostRings>(server.pool, *server.notifier, *server.access,
                                                        *server.relay, server.wakeups, rings_least));
    }
}

VhostPort::Connection& VhostPort::connection(int vid) {
    const auto found = std::ranges::find(connections_, vid, &Connection::vid);
    return found != connections_.end() ? *found : connections_.emplace_back(Connection{.vid = vid});
}

/// The library uses the ids of closed connections again.
void VhostPort::connected(int vid) {
    const std::scoped_lock lock(control_);
    connection(vid) = {.vid = vid};
}

void VhostPort::attach(int vid, std::uint64_t negotiated) {
    const std::scoped_lock lock(control_);
    Connection& one = connection(vid);
    one.attached = true;
    one.negotiated = negotiated;
    if (live_ < 0)
        live_ = vid;
    if (live_ == vid)
        publish(one);
}

void VhostPort::publish(Connection& one) {
    const std::unique_ptr<virtio::Device> whole =
        open_device(one.vid, one.negotiated, {one.rings, one.disabled & ~one.rings}, places_);
    noted_ = one.vid;
    std::vector<std::unique_ptr<virtio::Device>> parts = deal(*whole, servers_.size());
    for (std::size_t server = 0; server < servers_.size(); ++server)
        servers_[server]->publish(std::move(parts[server]), one.negotiated);
    std::uint32_t placed = 0;
    for (const auto& server : servers_)
        placed |= server->wake_drivers(one.signalled);
    one.signalled |= placed;
}

void VhostPort::serve(const Server& server) {
    const std::scoped_lock lock(control_);
    servers_.front()->serve(*server.notifier, *server.access, server.wakeups, server.pool);
}

bool VhostPort::hide(int vid) {
    const std::scoped_lock lock(control_);
    if (live_ != vid)
        return false;
    bool used = false;
    for (const auto& server : servers_)
        used |= server->hide();
    return used;
}

void VhostPort::reclaim(int vid) {
    const std::scoped_lock lock(control_);
    if (live_ != vid)
        return;
    for (const auto& server : servers_)
        server->reclaim();
}

void VhostPort::stop_ring(int vid, std::uint16_t ring) {
    const std::scoped_lock lock(control_);
    if (ring >= 2 * queues_)
        return;
    connection(vid).disabled &= ~(1U << ring);
    if (noted_ != vid)  // the first ring's stop has ended the device already
        return;
    std::uint32_t& state = places_.of(ring).state;
    if (state == virtio::PackedPlace::kRunning)
        state = virtio::PackedPlace::kStopped;
}

bool VhostPort::show(int vid, std::uint64_t negotiated) {
    const std::scoped_lock lock(control_);
    Connection& one = connection(vid);
    one.negotiated = negotiated;
    const bool shows = one.attached && live_ == vid && servers_.front()->is_reclaimed();
    if (shows)
        publish(one);
    return shows;
}

void VhostPort::wake_workers() {
    const std::scoped_lock lock(control_);
    for (const auto& server : servers_)
        server->wake_worker();
}

void VhostPort::detach(int vid) {
    const std::scoped_lock lock(control_);
    connection(vid).attached = false;
    if (live_ != vid)
        return;
    for (const auto& server : servers_)
        server->take_down();
    const auto waiting = std::ranges::find(connections_, true, &Connection::attached);
    live_ = waiting != connections_.end() ? waiting->vid : -1;
    if (live_ >= 0)
        publish(*waiting);
}

void VhostPort::set_ring(int vid, std::uint16_t ring, bool enabled) {
    set_bit(vid, &Connection::rings, ring, enabled);
}

void VhostPort::note_enable(int vid, std::uint16_t ring, bool enabled) {
    set_bit(vid, &Connection::disabled, ring, !enabled);
}

void VhostPort::set_bit(int vid, std::uint32_t Connection::*bits, std::uint16_t ring, bool value) {
    if (ring >= 2 * queues_)
        return;
    const std::scoped_lock lock(control_);
    const std::uint32_t bit = 1U << ring;
    std::uint32_t& all = connection(vid).*bits;
    all = value ? all | bit : all & ~bit;
}

void VhostPort::disconnected(int vid) {
    const std::scoped_lock lock(control_);
    std::erase_if(connections_, [vid](const Connection& one) { return one.vid == vid; });
}

void VhostPort::announce(std::uint64_t mac) {
    servers_.front()->announce(mac);
}

std::string VhostPort::ring_fault() const {
    for (const auto& server : servers_)
        if (std::string fault = server->ring_fault(); !fault.empty())
            return fault;
    return {};
}

std::string VhostPort::front_end_fault() const {
    std::string fault = front_end_.text(FrontEndFault::Clock::now());
    for (const auto& server : servers_)
        if (fault.empty())
            fault = server->signal_fault();
    return fault;
}

}  // namespace weir
