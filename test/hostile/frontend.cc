// frontend.cc - sockets with time-outs, and SCM_RIGHTS.
#include "test/hostile/frontend.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weir::hostile {
namespace {

/// The vhost library looks for a socket of which it is the client once a second.
constexpr int kAcceptMs = 1500;
constexpr int kBacklog = 16;

File make_socket() {
    const int number = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0)
        throw std::system_error(errno, std::generic_category(), "socket");
    return File(number);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        throw std::invalid_argument("socket path of " + std::to_string(path.size()) +
                                    " bytes; allowed: at most " +
                                    std::to_string(sizeof(address.sun_path) - 1));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

void limit_patience(int socket) {
    const auto ms = Frontend::patience().count();
    const timeval patience{ms / 1000, ms % 1000 * 1000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

}  // namespace

Endpoint::Endpoint(std::string path, bool listens) : path_(std::move(path)) {
    const sockaddr_un address = address_of(path_);
    if (!listens)
        return;
    unlink(path_.c_str());
    listener_ = make_socket();
    if (bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_.number(), kBacklog) != 0)
        throw std::system_error(errno, std::generic_category(), path_);
}

Endpoint::~Endpoint() {
    if (listener_)
        unlink(path_.c_str());
}

File Endpoint::open() const {
    File socket;
    if (listener_) {
        pollfd ready{listener_.number(), POLLIN, 0};
        if (poll(&ready, 1, kAcceptMs) == 1)
            socket = File(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    } else {
        const sockaddr_un address = address_of(path_);
        socket = make_socket();
        limit_patience(socket.number());  // a full backlog makes connect() wait
        if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
            return File();
    }
    if (socket)
        limit_patience(socket.number());
    return socket;
}

bool Frontend::reconnect() {
    socket_ = File();
    socket_ = endpoint_.open();
    ++(socket_ ? tally_.connects : tally_.refused);
    return static_cast<bool>(socket_);
}

bool Frontend::connected() {
    if (!socket_)
        return false;
    pollfd state{socket_.number(), POLLRDHUP, 0};
    if (poll(&state, 1, 0) < 1 || (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0)
        return true;
    ++tally_.closed;
    socket_ = File();
    return false;
}

bool Frontend::send(Request request, std::span<const std::uint8_t> payload, Files files) {
    const MessageHeader header{request, kVersion, static_cast<std::uint32_t>(payload.size())};
    std::vector<std::uint8_t> bytes(sizeof(header) + payload.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (!payload.empty())
        std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
    return send_raw(bytes, files);
}

bool Frontend::send_raw(std::span<const std::uint8_t> bytes, Files files) {
    constexpr std::size_t kFilesMax = 64;
    if (!socket_ || files.size() > kFilesMax)
        return false;
    alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kFilesMax * sizeof(int))> control{};
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
        std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
    }
    ++tally_.messages;
    return sendmsg(socket_.number(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<std::uint64_t> Frontend::ask(Request request) {
    struct {
        MessageHeader header;
        std::uint32_t value[2];
    } reply{};
    static_assert(sizeof(reply) == sizeof(MessageHeader) + sizeof(std::uint64_t));
    if (!send(request))
        return std::nullopt;
    // MSG_WAITALL ends with the socket's time-out, too.
    if (recv(socket_.number(), &reply, sizeof(reply), MSG_WAITALL) != sizeof(reply)) {
        ++tally_.unanswered;
        return std::nullopt;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, reply.value, sizeof(value));
    return value;
}

void Frontend::drain() {
    std::array<std::uint8_t, 4096> bytes;
    while (socket_ && recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
}

}  // namespace weir::hostile
