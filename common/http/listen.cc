// listen.cc - the socket of a numeric address, or a fault with the remedy.
#include "common/http/listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/config/endpoint.h"
#include "common/error.h"

namespace weir {
namespace {

/// Connections that wait until they are accepted.
constexpr int kBacklog = 1'024;

}  // namespace

int listen_on(const std::string& address, const char* key) {
    const auto endpoint = SocketEndpoint::parse("tcp://" + address);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (!endpoint ||
        getaddrinfo(endpoint->host.c_str(), std::to_string(endpoint->port).c_str(), &hints, &found) != 0)
        throw HostError(std::string(key) + ": " + address + " is no address of this machine");
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    const int file = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, kBacklog) == 0)
        return file;
    const std::string why = std::strerror(errno);
    if (file >= 0)
        close(file);
    throw HostError(std::string(key) + ": cannot listen on " + address + " (" + why +
                    "); give it an address of this machine and a port that no other program has (ss -ltnp)");
}

}  // namespace weir
