// command_socket.cc - a ROUTER socket with bounded queues and messages.
#include "vswitch/agent/command_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <vector>
#include <zmq_addon.hpp>

#include "common/error.h"

namespace weir {
namespace {

/// A request is a few hundred bytes; a vNIC with every key less than 2 KiB.
constexpr std::int64_t kRequestBytesMax = 64 * 1024;
/// Requests answered in one call.
constexpr int kRequestsPerCall = 16;
constexpr int kBacklog = 100;
constexpr std::chrono::milliseconds kLookGap{500};

}  // namespace

CommandSocket::CommandSocket(const std::string& path)
    : path_(path), socket_(context_, zmq::socket_type::router) {
    const auto directory = std::filesystem::path(path).parent_path();
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (access(directory.c_str(), W_OK | X_OK) != 0)
        throw HostError("control_socket: directory " + directory.string() +
                        " is missing or not writable; make it: mkdir -p " + directory.string());
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::maxmsgsize, kRequestBytesMax);
    socket_.set(zmq::sockopt::sndhwm, kRequestsPerCall);
    socket_.set(zmq::sockopt::rcvhwm, kRequestsPerCall);
    unlink(path.c_str());  // left by a switch that was killed: this one has the lock of the path
    listen();
}

CommandSocket::~CommandSocket() {
    if (identity_at(path_) == own_)
        unlink(path_.c_str());
    socket_.close();
}

/// ZeroMQ gets a socket that listens already: with one of its own it would remove any file at the path, at
/// the begin and at the end.
void CommandSocket::listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0 || path_.size() >= sizeof(address.sun_path) ||
        bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(file, kBacklog) != 0) {
        const std::string why = std::strerror(errno);
        close(file);
        throw HostError("control_socket: cannot listen on " + path_ + " (" + why +
                        "); see that the path is shorter than 108 bytes and its directory writable");
    }
    own_ = identity_at(path_);
    socket_.set(zmq::sockopt::use_fd, file);
    socket_.bind("ipc://" + path_);
}

/// Listens again when the folder was removed and made again. A file of another program at the path stays.
void CommandSocket::look() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < kLookGap)
        return;
    looked_ = now;
    if (identity_at(path_) || access(std::filesystem::path(path_).parent_path().c_str(), W_OK | X_OK) != 0)
        return;
    try {
        socket_.unbind("ipc://" + path_);
        listen();
    } catch (const std::exception&) {  // the next look tries again
    }
}

void CommandSocket::serve(std::chrono::milliseconds patience, const Answer& answer) {
    look();
    std::array<zmq::pollitem_t, 1> items{{{socket_.handle(), 0, ZMQ_POLLIN, 0}}};
    try {
        zmq::poll(items.data(), items.size(), patience);
        for (int served = 0; served < kRequestsPerCall; ++served) {
            std::vector<zmq::message_t> parts;
            if (!zmq::recv_multipart(socket_, std::back_inserter(parts), zmq::recv_flags::dontwait))
                return;
            if (parts.size() < 2)
                continue;  // no envelope: not a request
            const std::string reply = answer(parts.back().to_string_view());
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                socket_.send(parts[i], zmq::send_flags::sndmore | zmq::send_flags::dontwait);
            socket_.send(zmq::buffer(reply), zmq::send_flags::dontwait);
        }
    } catch (const zmq::error_t& fault) {
        if (fault.num() != EINTR)
            throw;
    }
}

}  // namespace weir
