// tcp_connection.cc - socket calls, and the messages for their errors.
#include "ctrl/calibrate/load/tcp_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

using Millis = std::chrono::milliseconds;

/// Returns an error number, or 0 with the connected socket in `fd`.
int try_address(const addrinfo& where, Millis patience, int& fd) {
    fd = ::socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, where.ai_protocol);
    if (fd < 0)
        return errno;
    if (::connect(fd, where.ai_addr, where.ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    pollfd wait{fd, POLLOUT, 0};
    if (::poll(&wait, 1, static_cast<int>(patience.count())) != 1)
        return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

constexpr const char* kConnectionClosed = "the appliance closed the connection; see its log for the reason";

}  // namespace

std::string Endpoint::text() const {
    const bool v6 = address.find(':') != std::string::npos;
    return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

TcpConnection::TcpConnection(Endpoint endpoint, Millis patience)
    : endpoint_(std::move(endpoint)), patience_(patience) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(endpoint_.port);
    if (const int error = ::getaddrinfo(endpoint_.address.c_str(), port.c_str(), &hints, &found); error != 0)
        throw cli::bad_input("ADDRESS", endpoint_.address, "an address or a name", ::gai_strerror(error));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
    int error = EADDRNOTAVAIL;
    for (const addrinfo* one = found; one != nullptr && error != 0; one = one->ai_next) {
        error = try_address(*one, patience, fd_);
        if (error != 0 && fd_ >= 0)
            ::close(std::exchange(fd_, -1));
    }
    if (error != 0)
        fail(std::strerror(error),
             "no appliance can be reached there; is it running, and does this host or VM reach its network?");
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

TcpConnection::~TcpConnection() {
    if (fd_ >= 0)
        ::close(fd_);
}

void TcpConnection::fail(const std::string& found, const std::string& message) const {
    throw cli::Failure(cli::kExitRefused, {{endpoint_.text(), found, "", message}});
}

void TcpConnection::wait_for(short event, const char* message) const {
    pollfd wait{fd_, event, 0};
    if (::poll(&wait, 1, static_cast<int>(patience_.count())) != 1)
        fail("nothing for " + std::to_string(patience_.count()) + " ms", message);
}

void TcpConnection::send_all(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        wait_for(POLLOUT, "the appliance does not read the greeting");
        const std::ptrdiff_t more = send_some({bytes.data() + sent, bytes.size() - sent});
        sent += more > 0 ? static_cast<std::size_t>(more) : 0;
    }
}

std::string TcpConnection::receive(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t have = 0; have < count;) {
        wait_for(POLLIN, "the appliance does not answer the greeting; does it use this protocol?");
        const std::ptrdiff_t more =
            receive_some({reinterpret_cast<std::uint8_t*>(bytes.data()) + have, count - have});
        have += more > 0 ? static_cast<std::size_t>(more) : 0;
    }
    return bytes;
}

std::ptrdiff_t TcpConnection::send_some(std::span<const char> bytes) {
    const std::ptrdiff_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        fail(std::strerror(errno), kConnectionClosed);
    return sent;
}

std::ptrdiff_t TcpConnection::receive_some(std::span<std::uint8_t> room) {
    const std::ptrdiff_t received = ::recv(fd_, room.data(), room.size(), 0);
    if (received == 0)
        fail("end of the connection", kConnectionClosed);
    if (received < 0 && errno != EAGAIN && errno != EINTR)
        fail(std::strerror(errno), kConnectionClosed);
    return received;
}

}  // namespace weir::calibrate
