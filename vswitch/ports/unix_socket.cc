// unix_socket.cc - socket(), bind() and listen(), with their faults.
#include "vswitch/ports/unix_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace weir {
namespace {

constexpr int kConnectionsWaiting = 16;  // that are not accepted yet

}  // namespace

FileHandle unix_socket() {
    FileHandle file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!file)
        throw std::system_error(errno, std::generic_category(), "socket");
    return file;
}

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

FileHandle listen_on(const std::string& path) {
    FileHandle file = unix_socket();
    const sockaddr_un address = unix_address(path);
    if (bind(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(file.number(), kConnectionsWaiting) != 0)
        throw std::system_error(errno, std::generic_category(), path);
    return file;
}

}  // namespace weir
