// lingering.cc - both ends of a connection, and SO_LINGER.
#include "test/hostile/lingering.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace weir::hostile {
namespace {

File tcp_socket() {
    return File(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

Lingering::Lingering(int seconds) : sender(tcp_socket()) {
    const File listener = tcp_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof(address);
    const linger lingers{1, seconds};
    if (bind(listener.number(), place, bytes) != 0 || listen(listener.number(), 1) != 0 ||
        getsockname(listener.number(), place, &bytes) != 0 || connect(sender.number(), place, bytes) != 0 ||
        setsockopt(sender.number(), SOL_SOCKET, SO_LINGER, &lingers, sizeof(lingers)) != 0)
        throw std::system_error(errno, std::generic_category(), "a TCP connection over loopback");
    receiver = File(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    static constexpr std::array<char, 65'536> kData{};
    while (send(sender.number(), kData.data(), kData.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
}

}  // namespace weir::hostile
