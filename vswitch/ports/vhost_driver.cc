// vhost_driver.cc - sockets, features and callbacks of the vhost library.
#include "vswitch/ports/vhost_driver.h"

#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_vhost.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/error.h"
#include "vswitch/ports/memory_fault.h"
#include "vswitch/ports/vhost_feature.h"
#include "vswitch/ports/vhost_request.h"

namespace weir {
namespace {

using namespace vhost_request;

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

const rte_vhost_user_extern_ops kMessageCallbacks{
    .pre_msg_handle =
        [](int vid, void* message) {
            driver->before_message(vid, message);
            return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
        },
    .post_msg_handle =
        [](int vid, void* message) {
            driver->after_message(vid, message);
            return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
        },
};

// A message as the library shows it begins with request, flags and bytes of the payload, 32 bits each.
constexpr std::size_t kMessagePayloadAt = 12;

std::uint32_t request_of(const void* message) {
    std::uint32_t request = 0;
    std::memcpy(&request, message, sizeof(request));
    return request;
}

std::uint64_t mac_of(const void* message) {
    std::uint64_t mac = 0;
    std::memcpy(&mac, static_cast<const char*>(message) + kMessagePayloadAt, sizeof(rte_ether_addr));
    return mac;
}

/// Of SET_VRING_ENABLE.
bool enables(const void* message) {
    std::uint32_t value = 0;
    std::memcpy(&value, static_cast<const char*>(message) + kMessagePayloadAt + sizeof(value), sizeof(value));
    return value != 0;
}

/// Of a request with a ring's state.
std::uint16_t ring_of(const void* message) {
    std::uint32_t ring = 0;
    std::memcpy(&ring, static_cast<const char*>(message) + kMessagePayloadAt, sizeof(ring));
    return static_cast<std::uint16_t>(std::min(ring, std::uint32_t{UINT16_MAX}));
}

/// Requests after which memory, rings, files or features may be others.
bool changes_rings(std::uint32_t request) {
    constexpr std::uint32_t kRequests[] = {kSetFeatures,  kResetOwner,   kSetMemTable,   kSetLogBase,
                                           kSetVringNum,  kSetVringAddr, kSetVringBase,  kGetVringBase,
                                           kSetVringKick, kSetVringCall, kSetVringEnable};
    return std::ranges::find(kRequests, request) != std::end(kRequests);
}

std::uint64_t negotiated_features(int vid) {
    std::uint64_t features = 0;
    rte_vhost_get_negotiated_features(vid, &features);
    return features;
}

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
    if (vnic.queues == 1)
        off |= mask({kMultiqueue});
    if (!vnic.packed)
        off |= mask({kRingPacked});
    return off;
}

/// The switch sends front-ends no requests, so that it needs no channel for them. The vhost library closes
/// the channel, a socket of the front-end's, on the thread that serves all guests.
bool withhold_requests(const char* path) {
    constexpr unsigned kBackendRequests = 5;
    constexpr unsigned kBackendFiles = 10;
    constexpr unsigned kHostNotifier = 11;
    constexpr std::uint64_t kWithheld = 1U << kBackendRequests | 1U << kBackendFiles | 1U << kHostNotifier;
    std::uint64_t offered = 0;
    return rte_vhost_driver_get_protocol_features(path, &offered) == 0 &&
           rte_vhost_driver_set_protocol_features(path, offered & ~kWithheld) == 0;
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

VhostDriver::VhostDriver(Quiescence& quiescence)
    : quiescence_(quiescence),
      folder_(make_inside_folder()),
      bell_(folder_ + "/bell"),
      stalls_(quiescence.accesses(), messages_,
              {.bar = [this](const std::string& socket, const std::string& why,
                             Nanos time) { gate_.bar(socket, why, std::chrono::nanoseconds(time)); },
               .blocks = [this](const std::string& socket) { return gate_.memory_blocks(socket); }}) {
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
    const bool server = vnic.mode == VhostMode::kServer;
    const std::string inside = folder_ + "/" + std::to_string(++added_) + ".sock";
    const char* path = inside.c_str();
    const auto fail = [&](const char* what, int error) {
        const std::string reason = std::strerror(error);
        rte_vhost_driver_unregister(path);
        const std::scoped_lock lock(mutex_);
        ports_.erase(inside);
        throw HostError("vNIC " + vnic.name + ": the vhost library cannot " + what + " its socket " + inside +
                        " (" + reason + "); see that the folder is writable and its disk is not full");
    };
    {
        const std::scoped_lock lock(mutex_);
        ports_.emplace(inside, Registered{vnic.socket, &port});
    }
    if (rte_vhost_driver_register(path, 0) != 0)
        fail("register", errno);
    if (rte_vhost_driver_disable_features(path, withheld_features(vnic)) != 0 || !withhold_requests(path))
        fail("set the features of", errno);
    if (rte_vhost_driver_callback_register(path, &kCallbacks) != 0)
        fail("watch", errno);
    if (rte_vhost_driver_start(path) != 0)
        fail("prepare", errno);
    bell_.ring();
    gate_.add(vnic.socket, server, inside, vnic.queues, &port.front_end());
    for (std::size_t n = 0; n < port.servers(); ++n)
        stalls_.watch(port.rings(n), vnic.socket);
    look_at(sockets_.try_emplace(vnic.socket, vnic).first->second);
}

void VhostDriver::look_at(Watched& watched) {
    constexpr std::chrono::seconds kGap{10};
    const GuestSocket& socket = watched.socket;
    const bool listens_anew = [&] {
        FileHandle listener = watched.socket.look();
        if (!listener)
            return false;
        gate_.listen(watched.path, std::move(listener));
        return std::exchange(watched.listened, true);
    }();
    const auto now = Clock::now();
    if (socket.fault() == watched.named && !listens_anew)
        return;
    if (!socket.fault().empty() && now < watched.next_warning)
        return;  // a folder that comes and goes does not fill the log
    if (!socket.fault().empty())
        spdlog::warn("vNIC {}: no front-end can come: {}", watched.vnic, socket.fault());
    else
        spdlog::info("vNIC {}: front-ends can come again at {}", watched.vnic, watched.path);
    if (!socket.fault().empty())
        watched.next_warning = now + kGap;
    watched.named = socket.fault();
}

void VhostDriver::look_at_sockets() {
    constexpr std::chrono::milliseconds kPeriod{500};
    const auto now = Clock::now();
    if (now - looked_ < kPeriod)
        return;
    looked_ = now;
    for (auto& [path, watched] : sockets_)
        look_at(watched);
}

std::string VhostDriver::socket_fault(const std::string& socket) const {
    const auto found = sockets_.find(socket);
    return found == sockets_.end() ? "" : found->second.socket.fault();
}

void VhostDriver::remove(const std::string& socket) {
    if (const auto watched = sockets_.find(socket); watched != sockets_.end()) {
        watched->second.socket.remove();  // while its listener is open
        sockets_.erase(watched);
    }
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
    const auto port = ports_.find(inside);
    for (std::size_t n = 0; port != ports_.end() && n < port->second.port->servers(); ++n)
        stalls_.forget(port->second.port->rings(n));
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
    rte_vhost_extern_callback_register(vid, &kMessageCallbacks, nullptr);
    if (VhostPort* port = find(vid))
        port->connected(vid);
}

void VhostDriver::attached(int vid) {
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    port->attach(vid, negotiated_features(vid));
    renew(*port);
}

/// No worker takes a lock of the library, so that this may wait while the library holds them.
void VhostDriver::withdraw(VhostPort& port, int vid) {
    if (port.hide(vid))
        quiescence_.wait();
    port.reclaim(vid);
}

/// The port's workers look at its rings anew, and no others do: a front-end may send messages all the time.
void VhostDriver::renew(VhostPort& port) {
    quiescence_.changed();
    port.wake_workers();
}

void VhostDriver::present(VhostPort& port, int vid) {
    if (port.show(vid, negotiated_features(vid)))
        renew(port);
}

void VhostDriver::detached(int vid) {
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    withdraw(*port, vid);
    port->detach(vid);
    renew(*port);  // another connection may have the port now
}

void VhostDriver::disconnected(int vid) {
    messages_.leave();
    if (VhostPort* port = find(vid))
        port->disconnected(vid);
}

void VhostDriver::ring_changed(int vid, std::uint16_t ring, bool enabled) {
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    port->set_ring(vid, ring, enabled);
    if (vid == changing_)
        return;
    withdraw(*port, vid);
    present(*port, vid);
}

void VhostDriver::before_message(int vid, const void* message) {
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    messages_.set_thread(gettid());
    messages_.enter(port->rings(0));
    if (!changes_rings(request_of(message)))
        return;
    changing_ = vid;
    withdraw(*port, vid);
    if (request_of(message) == kGetVringBase)
        port->stop_ring(vid, ring_of(message));
}

/// Not called for a message that the library refuses. The front-end may go on nevertheless: its rings then
/// stand still until a message is accepted.
void VhostDriver::after_message(int vid, const void* message) {
    changing_ = -1;
    VhostPort* port = find(vid);
    if (port == nullptr)
        return;
    if (request_of(message) == kSendRarp) {
        port->announce(mac_of(message));
        renew(*port);
    }
    if (request_of(message) == kSetVringEnable)
        port->note_enable(vid, ring_of(message), enables(message));
    present(*port, vid);
    messages_.leave();
}

}  // namespace weir
