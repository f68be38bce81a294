// vhost_driver.cc - sockets, features and callbacks of the vhost library.
#include "vswitch/ports/vhost_driver.h"

#include <rte_vhost.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "common/error.h"

namespace weir {
namespace {

VhostDriver* driver = nullptr;  // the callbacks carry no user pointer

rte_vhost_device_ops make_callbacks() {
    rte_vhost_device_ops ops{};
    ops.new_connection = [](int vid) {
        driver->connected(vid);
        return 0;
    };
    ops.new_device = [](int vid) {
        driver->attached(vid);
        return 0;
    };
    ops.destroy_device = [](int vid) { driver->detached(vid); };
    ops.destroy_connection = [](int vid) { driver->disconnected(vid); };
    ops.vring_state_changed = [](int vid, std::uint16_t ring, int enabled) {
        driver->ring_changed(vid, ring, enabled != 0);
        return 0;
    };
    return ops;
}

const rte_vhost_device_ops kCallbacks = make_callbacks();

/// Features that the vNIC's configuration disables, and those that the switch cannot honor: rte_gso has no
/// TCP over IPv6, and UDP fragmentation offload is obsolete.
std::uint64_t withheld_features(const VnicConfig& vnic) {
    using namespace vhost;
    std::uint64_t off = mask({kHostTso6, kGuestTso6, kHostUfo, kGuestUfo});
    if (!vnic.tso || !vnic.checksum)
        off |= mask({kHostTso4, kGuestTso4, kHostEcn, kGuestEcn});
    if (!vnic.checksum)
        off |= mask({kChecksum, kGuestChecksum});
    if (!vnic.mergeable)
        off |= mask({kMergeable});
    if (!vnic.packed)
        off |= mask({kRingPacked});
    return off;
}

void check_directory(const std::string& socket) {
    const auto directory = std::filesystem::path(socket).parent_path();
    if (!std::filesystem::is_directory(directory))
        throw HostError("socket directory " + directory.string() + " is missing; make it: mkdir -p " +
                        directory.string());
    if (access(directory.c_str(), W_OK | X_OK) != 0)
        throw HostError("socket directory " + directory.string() + " is not writable for uid " +
                        std::to_string(geteuid()) + "; mend it: chown " + std::to_string(geteuid()) + " " +
                        directory.string());
}

}  // namespace

VhostDriver::VhostDriver(Quiescence& quiescence) : quiescence_(quiescence) {
    driver = this;
}

VhostDriver::~VhostDriver() {
    while (!ports_.empty())
        remove(std::string(ports_.begin()->first));
    driver = nullptr;
}

void VhostDriver::add(const VnicConfig& vnic, VhostPort& port) {
    check_directory(vnic.socket);
    const char* path = vnic.socket.c_str();
    const bool server = vnic.mode == VhostMode::kServer;
    if (server)
        unlink(path);  // a socket left by a killed switch would refuse the bind
    const auto fail = [&](const char* what) {
        const std::string reason = std::strerror(errno);
        rte_vhost_driver_unregister(path);
        const std::scoped_lock lock(mutex_);
        ports_.erase(vnic.socket);
        throw HostError(
            "vNIC " + vnic.name + ": cannot " + what + " socket " + vnic.socket + " (" + reason +
            "); see that no other switch uses it and that its directory is writable for the switch");
    };
    {
        const std::scoped_lock lock(mutex_);
        ports_.emplace(vnic.socket, &port);
    }
    if (rte_vhost_driver_register(path, server ? 0 : RTE_VHOST_USER_CLIENT) != 0)
        fail("register");
    if (rte_vhost_driver_disable_features(path, withheld_features(vnic)) != 0)
        fail("set the features of");
    if (rte_vhost_driver_callback_register(path, &kCallbacks) != 0)
        fail("watch");
    if (rte_vhost_driver_start(path) != 0)
        fail(server ? "listen on" : "connect to");
}

void VhostDriver::remove(const std::string& socket) {
    rte_vhost_driver_unregister(socket.c_str());  // calls detached() for a live connection
    const std::scoped_lock lock(mutex_);
    ports_.erase(socket);
}

VhostPort* VhostDriver::find(int vid) {
    std::array<char, PATH_MAX> path{};
    if (rte_vhost_get_ifname(vid, path.data(), path.size()) != 0)
        return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto found = ports_.find(path.data());
    return found == ports_.end() ? nullptr : found->second;
}

void VhostDriver::connected(int vid) {
    if (VhostPort* port = find(vid))
        port->connected(vid);
}

void VhostDriver::attached(int vid) {
    std::uint64_t features = 0;
    rte_vhost_get_negotiated_features(vid, &features);
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    // A poll-mode switch needs no kicks: without them the guest has fewer exits.
    for (std::uint16_t ring = 0; ring < rte_vhost_get_vring_num(vid); ++ring)
        rte_vhost_enable_guest_notification(vid, ring, 0);
    port->attach(vid, features);
}

void VhostDriver::detached(int vid) {
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    if (port->detach(vid))
        quiescence_.wait();
}

void VhostDriver::disconnected(int vid) {
    if (VhostPort* port = find(vid))
        port->disconnected(vid);
}

/// The library calls this with the rings' locks held, which a worker may wait for, so it must not wait for
/// quiescence. It need not: bursts on a disabled ring return 0 under the same lock.
void VhostDriver::ring_changed(int vid, std::uint16_t ring, bool enabled) {
    if (VhostPort* port = find(vid))
        port->set_ring(vid, ring, enabled);
}

}  // namespace weir
