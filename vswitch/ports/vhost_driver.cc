// vhost_driver.cc - sockets, features and callbacks of the vhost library.
#include "vswitch/ports/vhost_driver.h"

#include <rte_eal.h>
#include <rte_vhost.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/error.h"
#include "vswitch/ports/memory_fault.h"

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

/// Where the library's own sockets are: DPDK's folder of this process, else one in the folder of temporary
/// files.
std::string make_inside_folder() {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path runtime = rte_eal_get_runtime_dir();
    std::string folder =
        (fs::is_directory(runtime, error) ? runtime : fs::temp_directory_path()) / "vhost-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr)
        throw HostError("cannot make the folder " + folder + " for sockets (" + std::strerror(errno) +
                        "); see that its parent is writable for uid " + std::to_string(geteuid()));
    return folder;
}

}  // namespace

VhostDriver::VhostDriver(Quiescence& quiescence) : quiescence_(quiescence), folder_(make_inside_folder()) {
    driver = this;
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT: an answer to a guest that has gone ends no process
    survive_memory_faults();
}

VhostDriver::~VhostDriver() {
    while (!ports_.empty())
        remove(std::string(ports_.begin()->second.outside));
    driver = nullptr;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void VhostDriver::add(const VnicConfig& vnic, VhostPort& port) {
    check_directory(vnic.socket);
    const bool server = vnic.mode == VhostMode::kServer;
    if (server)
        unlink(vnic.socket.c_str());  // a socket left by a killed switch would refuse the bind
    const std::string inside = folder_ + "/" + std::to_string(++added_) + ".sock";
    const char* path = inside.c_str();
    const auto fail = [&](const char* what, int error) {
        const std::string reason = std::strerror(error);
        rte_vhost_driver_unregister(path);
        const std::scoped_lock lock(mutex_);
        ports_.erase(inside);
        throw HostError(
            "vNIC " + vnic.name + ": cannot " + what + " socket " + vnic.socket + " (" + reason +
            "); see that no other switch uses it and that its directory is writable for the switch");
    };
    {
        const std::scoped_lock lock(mutex_);
        ports_.emplace(inside, Registered{vnic.socket, &port});
    }
    if (rte_vhost_driver_register(path, 0) != 0)
        fail("register", errno);
    if (rte_vhost_driver_disable_features(path, withheld_features(vnic)) != 0)
        fail("set the features of", errno);
    if (rte_vhost_driver_callback_register(path, &kCallbacks) != 0)
        fail("watch", errno);
    if (rte_vhost_driver_start(path) != 0)
        fail("prepare", errno);
    try {
        gate_.add(vnic.socket, server, inside);
    } catch (const std::system_error& error) {
        fail(server ? "listen on" : "connect to", error.code().value());
    }
}

void VhostDriver::remove(const std::string& socket) {
    gate_.remove(socket);
    std::string inside;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [path, registered] : ports_)
            if (registered.outside == socket)
                inside = path;
    }
    rte_vhost_driver_unregister(inside.c_str());  // calls detached() for a live connection
    const std::scoped_lock lock(mutex_);
    ports_.erase(inside);
}

VhostPort* VhostDriver::find(int vid) {
    std::array<char, PATH_MAX> path{};
    if (rte_vhost_get_ifname(vid, path.data(), path.size()) != 0)
        return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto found = ports_.find(path.data());
    return found == ports_.end() ? nullptr : found->second.port;
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
