// unfinished_bytes.cc - the kernel's count of a connection.
#include "common/zmtp/unfinished_bytes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace weir::zmtp {

std::optional<std::uint64_t> read_bytes(int descriptor) {
    tcp_info info{};
    socklen_t size = sizeof info;
    int unread = 0;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received ||
        ioctl(descriptor, FIONREAD, &unread) != 0)
        return std::nullopt;
    const std::uint64_t waiting = unread > 0 ? static_cast<std::uint64_t>(unread) : 0;
    return info.tcpi_bytes_received > waiting ? info.tcpi_bytes_received - waiting : 0;
}

}  // namespace weir::zmtp
