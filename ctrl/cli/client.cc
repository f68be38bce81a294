// client.cc - one REQ socket per call; time and size of a reply are bounded.
#include "ctrl/cli/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "common/control_socket.h"
#include "ctrl/cli/failure.h"

namespace weir::cli {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string path, std::string found, std::string message) {
    throw Failure(kExitRefused, {{std::move(path), std::move(found), "", std::move(message)}});
}

/// Connects once with a plain socket. ZeroMQ connects in the background: without a listener, a call would end
/// only by its timeout.
void require_listener(const std::string& path) {
    const std::string endpoint = "ipc://" + path;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        throw bad_input("--socket", path, "a path of 1 to 107 bytes", "this cannot be a socket");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int result = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = result == 0 ? 0 : errno;
    ::close(probe);
    if (error == 0 || error == EAGAIN)  // EAGAIN: there is a listener, and its backlog is full
        return;
    if (error == EACCES || error == EPERM)
        refuse(endpoint, std::strerror(error),
               "this user may not open the socket; use sudo, or join the socket's group");
    refuse(endpoint, std::strerror(error),
           "no switch or controller listens here; start it (systemctl start weir-switch), or name another "
           "control_socket (--socket PATH)");
}

/// Calls again after a signal: commands that catch signals end in order, with the reply.
template <class Call>
auto uninterrupted(Call call) {
    for (;;) {
        try {
            return call();
        } catch (const zmq::error_t& error) {
            if (error.num() != EINTR)
                throw;
        }
    }
}

json parse_reply(const std::string& endpoint, const zmq::message_t& message) {
    json reply = json::parse(message.to_string_view(), nullptr, false);
    const bool valid = reply.is_object() && reply.value("schema", json()) == 1 && reply.contains("ok") &&
                       reply["ok"].is_boolean();
    if (!valid)
        refuse(endpoint, "a reply that is not of schema 1",
               "use weirctl and weir-switch, or weir-ctrl, of the same version");
    return reply;
}

Faults faults_of(const json& reply) {
    const auto text = [](const json& fault, const char* key) {
        const auto it = fault.find(key);
        return it != fault.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    Faults faults;
    if (const auto list = reply.find("faults"); list != reply.end() && list->is_array())
        for (const json& fault : *list)
            if (fault.is_object())
                faults.push_back({text(fault, "path"), text(fault, "found"), text(fault, "allowed"),
                                  text(fault, "message")});
    if (faults.empty())
        faults.push_back({"", "", "", "the request was refused without a reason"});
    return faults;
}

}  // namespace

json ask_program(const std::string& path, const std::string& command, const json& args,
                 std::chrono::milliseconds timeout) {
    require_listener(path);
    const std::string endpoint = "ipc://" + path;
    const std::string request = json{{"schema", 1}, {"command", command}, {"args", args}}.dump(
        -1, ' ', false, json::error_handler_t::replace);
    zmq::message_t reply_frame;
    try {
        zmq::context_t context;
        zmq::socket_t socket(context, zmq::socket_type::req);
        socket.set(zmq::sockopt::linger, 0);
        socket.set(zmq::sockopt::sndtimeo, static_cast<int>(timeout.count()));
        socket.set(zmq::sockopt::rcvtimeo, static_cast<int>(timeout.count()));
        socket.set(zmq::sockopt::maxmsgsize, kReplyBytesMax);
        socket.connect(endpoint);
        if (!uninterrupted([&] { return socket.send(zmq::buffer(request), zmq::send_flags::none); }) ||
            !uninterrupted([&] { return socket.recv(reply_frame, zmq::recv_flags::none); }))
            refuse(endpoint, "no reply within " + std::to_string(timeout.count()) + " ms",
                   "the program is busy, hangs or is stopping: wait longer (--timeout 10s), or see its log "
                   "(journalctl -u weir-switch, or weir-ctrl)");
    } catch (const zmq::error_t& error) {
        refuse(endpoint, error.what(), "the connection failed");
    }
    json reply = parse_reply(endpoint, reply_frame);
    if (!reply["ok"].get<bool>())
        throw Failure(kExitRefused, faults_of(reply));
    return reply.value("data", json());
}

}  // namespace weir::cli
