// server.cc - turns of the sockets: commands, then a message of each address.
//
// All queues are bounded: a switch that does not read loses messages, and no other switch waits for it.
#include "ctrl/daemon/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/control_socket.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr int kRoundsMax = 4'096;
constexpr std::size_t kReadRequestBytesMax = 64 << 10;  // none of them has a cluster file
constexpr std::string_view kIpc = "ipc://";
constexpr std::size_t kPartsMax = 4;

using std::chrono::steady_clock;
using namespace std::chrono_literals;

Nanos loop_now() {
    return static_cast<Nanos>(std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::span<const std::uint8_t> bytes_of(const zmq::message_t& part) {
    return {part.data<std::uint8_t>(), part.size()};
}

void log_refusal(const std::string& text) {
    spdlog::warn("{}", text);
}

/// All switches of this machine together hold a few messages of the largest size.
LocalServer::Bounds switch_bounds(std::size_t hosts) {
    constexpr std::size_t kMessage = wire::kBodyBytesMax + wire::kHeaderBytes;
    return {.message = {.bytes = kMessage, .parts = kPartsMax},
            .connections = plain_peers_max(hosts),
            .held = 12 * kMessage,
            .unsent = 4 * kMessage,
            .is_in_turns = false};
}

LocalServer::Bounds command_bounds(std::size_t request_max) {
    return {.message = {.bytes = request_max, .parts = kPartsMax},
            .held = static_cast<std::size_t>(kReplyBytesMax) + std::max<std::size_t>(request_max, 16 << 20)};
}

}  // namespace

Server::Server(const ClusterConfig& config, const std::string& secret_key) : keyed_(secret_key, counters_) {
    set_hosts(config.hosts);
    for (const std::string& endpoint : config.listen) {
        if (endpoint.starts_with(kIpc))
            listeners_.push_back({.local = std::make_unique<LocalServer>(
                                      SocketFile::Place{endpoint.substr(kIpc.size()), "listen", {}},
                                      switch_bounds(config.hosts.size()), log_refusal)});
        else
            listeners_.push_back({.keyed = keyed_.bind(endpoint)});
    }
    listen_for_commands(kForChanges, config.control_socket);
    if (!config.control_read_socket.empty())
        listen_for_commands(kForReading, config.control_read_socket);
}

/// The folder of a socket decides which users may open it: its group, by its set-group-id bit, and no other
/// user, also where the process's umask would let them.
void Server::listen_for_commands(std::size_t index, const std::string& path) {
    constexpr mode_t kOwnerAndGroup = 0660;
    const bool is_for_changes = index == kForChanges;
    SocketFile::Place place{path, is_for_changes ? "control_socket" : "control_read_socket", kOwnerAndGroup};
    commands_[index] = std::make_unique<LocalServer>(
        std::move(place), command_bounds(is_for_changes ? kRequestBytesMax : kReadRequestBytesMax),
        log_refusal);
}

void Server::set_hosts(const std::vector<HostConfig>& hosts) {
    keyed_.set_hosts(hosts);
    for (const Listener& listener : listeners_)
        if (listener.local)
            listener.local->set_connections_max(plain_peers_max(hosts.size()));
}

/// @return whether there was one
bool Server::receive_message(std::size_t index, const Handlers& handlers) {
    if (listeners_[index].local)
        return receive_local(index, handlers);
    bool is_any = false;
    if (auto message = keyed_.receive(listeners_[index].keyed, is_any, loop_now())) {
        message->peer.route.insert(message->peer.route.begin(), static_cast<char>(index));
        handlers.on_message(message->peer, bytes_of(message->header), bytes_of(message->body));
    }
    return is_any;
}

bool Server::receive_local(std::size_t index, const Handlers& handlers) {
    const auto message = listeners_[index].local->receive();
    if (!message)
        return false;
    if (message->parts.size() != 2) {  // header, body
        ++counters_.odd_frames;
        return true;
    }
    Peer peer;
    peer.route = static_cast<char>(index) + std::to_string(message->connection);
    handlers.on_message(peer, bytes_of(message->parts[0]), bytes_of(message->parts[1]));
    return true;
}

/// @return whether there was one
bool Server::receive_command(std::size_t index, const Handlers& handlers) {
    if (!commands_[index])
        return false;
    auto request = commands_[index]->receive();
    if (!request)
        return false;
    command_origin_ = {.peer = request->peer.to_string(),
                       .ticket = command_origin_.ticket + 1,
                       .may_change = index == kForChanges};
    const std::string text = handlers.on_command(request->parts.back());
    if (text.empty())
        unanswered_.emplace(command_origin_.ticket, Unanswered{index, std::move(*request)});
    else
        (void)commands_[index]->answer(*request, text);
    return true;
}

void Server::reply(const SideWork::Reply& reply) {
    if (auto found = unanswered_.extract(reply.ticket); !found.empty())
        (void)commands_[found.mapped().index]->answer(found.mapped().request, reply.text);
}

bool Server::work_locally() {
    bool has_message = false;
    counters_.ended = 0;
    const auto work = [&](LocalServer* server) {
        if (server == nullptr)
            return;
        server->work(loop_now());
        counters_.ended += server->counters().ended;
        has_message = has_message || server->has_message();
    };
    for (const auto& commands : commands_)
        work(commands.get());
    for (const Listener& listener : listeners_)
        work(listener.local.get());
    return has_message;
}

void Server::wait(std::chrono::milliseconds wait_max, int other) {
    const auto until = steady_clock::now() + wait_max;
    keyed_.watch(loop_now());
    std::vector<zmq::pollitem_t> items;
    keyed_.append_to(items);
    if (other >= 0)
        items.push_back({nullptr, other, ZMQ_POLLIN, 0});
    const std::size_t outside = items.size();
    for (const auto& commands : commands_)
        if (commands)
            items.push_back({nullptr, commands->descriptor(), ZMQ_POLLIN, 0});
    for (const Listener& listener : listeners_)
        if (listener.local)
            items.push_back({nullptr, listener.local->descriptor(), ZMQ_POLLIN, 0});
    for (;;) {
        const bool has_message = work_locally();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
        try {
            zmq::poll(items.data(), items.size(), has_message ? 0ms : std::max(left, 0ms));
        } catch (const zmq::error_t& fault) {
            if (fault.num() != EINTR)
                throw;
            return;
        }
        const auto is_ready = [](const zmq::pollitem_t& item) { return item.revents != 0; };
        // Local sockets are readable for a connection or a part of a message, too.
        if (has_message || left <= 0ms ||
            std::any_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(outside), is_ready))
            return;
    }
}

void Server::take(const Handlers& handlers) {
    keyed_.authenticate(handlers.is_time_left, loop_now());
    bool is_any = true;
    for (int round = 0; is_any && round < kRoundsMax; ++round) {
        is_any = false;
        work_locally();
        for (std::size_t i = 0; i < commands_.size() && round < kCommandsPerTurn; ++i)
            is_any = receive_command(i, handlers) || is_any;
        for (std::size_t i = 0; i < listeners_.size(); ++i) {
            is_any = receive_message(next_listener_, handlers) || is_any;
            next_listener_ = (next_listener_ + 1) % listeners_.size();
            if (handlers.is_time_left && !handlers.is_time_left())
                return;
        }
    }
}

void Server::send(const std::vector<Outgoing>& messages) {
    for (const Outgoing& message : messages)
        if (!reaches(message))
            ++counters_.unreachable;
}

bool Server::reaches(const Outgoing& message) {
    const Listener& listener = listeners_[static_cast<std::size_t>(message.route[0])];
    const std::string_view route = std::string_view(message.route).substr(1);
    if (!listener.local)
        return keyed_.send(listener.keyed, route, message);
    const auto text = [](const auto& bytes) {
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    const std::array parts{text(message.header), text(message.body)};
    std::uint64_t connection = 0;
    if (std::from_chars(route.data(), route.data() + route.size(), connection).ec != std::errc{})
        return false;
    const auto sent = listener.local->send(connection, parts);
    counters_.full += sent == LocalServer::Sent::kFull;
    return sent != LocalServer::Sent::kGone;
}

}  // namespace weir
