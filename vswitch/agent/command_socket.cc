// command_socket.cc - a ROUTER socket with bounded queues and messages.
#include "vswitch/agent/command_socket.h"

#include <unistd.h>

#include <array>
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
    try {
        socket_.bind("ipc://" + path);
    } catch (const zmq::error_t& fault) {
        throw HostError("control_socket: cannot listen on " + path + " (" + fault.what() +
                        "); see that the path is shorter than 108 bytes and its directory writable");
    }
}

CommandSocket::~CommandSocket() {
    socket_.close();
    unlink(path_.c_str());
}

void CommandSocket::serve(std::chrono::milliseconds patience, const Answer& answer) {
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
