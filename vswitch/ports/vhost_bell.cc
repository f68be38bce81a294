// vhost_bell.cc - a connection of the library's that lives for one ring.
#include "vswitch/ports/vhost_bell.h"

#include <rte_vhost.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/error.h"
#include "vswitch/ports/unix_socket.h"

namespace weir {
namespace {

/// The library asks for them, though nothing is done for this connection.
const rte_vhost_device_ops kNoCallbacks{};

FileHandle open_listener(const std::string& path) {
    FileHandle listener = listen_at(path);
    if (!listener)
        throw HostError("cannot listen on the socket " + path + " (" + std::strerror(errno) +
                        "), by which new vNICs are served at once; see that its folder is writable");
    return listener;
}

}  // namespace

VhostBell::VhostBell(std::string path) : path_(std::move(path)), listener_(open_listener(path_)) {}

VhostBell::~VhostBell() {
    unlink(path_.c_str());
}

void VhostBell::ring() {
    if (rte_vhost_driver_register(path_.c_str(), RTE_VHOST_USER_CLIENT | RTE_VHOST_USER_NO_RECONNECT) != 0)
        return;
    if (rte_vhost_driver_callback_register(path_.c_str(), &kNoCallbacks) == 0)
        rte_vhost_driver_start(path_.c_str());
    rte_vhost_driver_unregister(path_.c_str());
    while (FileHandle{accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}) {
    }
}

}  // namespace weir
