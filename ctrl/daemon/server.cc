// server.cc - binding, authenticating, receiving and sending.
//
// All queues are bounded: a switch that does not read loses messages, and no other switch waits for it. A
// message that ZeroMQ fails to receive or send is lost like any other, and counted; only the end of its
// context ends the loop.
#include "ctrl/daemon/server.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>
#include <zmq_addon.hpp>

#include "common/config/endpoint.h"
#include "common/control_socket.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr int kReceivedMax = 8;  // messages of one connection that wait here; then its switch waits
constexpr int kUnsentMax = 16;   // messages to one switch
constexpr int kRoundsMax = 4'096;
constexpr std::int64_t kReadRequestBytesMax = 64 << 10;  // none of them has a cluster file
constexpr int kKeysPerTurn = 256;
constexpr int kEventsPerLook = 4'096;
constexpr std::chrono::milliseconds kLookGap{500};
constexpr const char* kZapAddress = "inproc://zeromq.zap.01";

std::span<const std::uint8_t> bytes_of(const zmq::message_t& part) {
    return {part.data<std::uint8_t>(), part.size()};
}

using std::chrono::steady_clock;

Nanos now_of(steady_clock::time_point time) {
    return static_cast<Nanos>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

/// The process at the other end of a local socket: ZeroMQ's address of it is "localhost:uid:gid:process".
std::string local_peer(zmq::message_t& message) {
    const char* const address = zmq_msg_gets(message.handle(), "Peer-Address");
    const char* const ids = address == nullptr ? nullptr : std::strchr(address, ':');
    unsigned user = 0;
    unsigned group = 0;
    unsigned process = 0;
    if (ids == nullptr || std::sscanf(ids, ":%u:%u:%u", &user, &group, &process) != 3)
        return {};
    return "uid " + std::to_string(user) + ", process " + std::to_string(process);
}

void make_folder_of(const std::string& path, const char* what) {
    const auto folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        throw HostError(std::string(what) + ": folder " + folder.string() +
                        " is missing or not writable; make it: mkdir -p " + folder.string());
}

/// The folder of a socket for reading decides which users may open it: its group, by its set-group-id bit,
/// and no other user, also where the process's umask would let them.
void allow_group(const std::string& path) {
    constexpr mode_t kOwnerAndGroup = 0660;
    if (::chmod(path.c_str(), kOwnerAndGroup) != 0)
        throw HostError("control_read_socket: the permission of " + path + " cannot be set (" +
                        std::strerror(errno) + ")");
}

/// "*" is every address of both families, [::] too; an interface's name its IPv4 address, or else its IPv6
/// one.
void bind_of_kind(zmq::socket_t& socket, const std::string& endpoint) {
    using Kind = SocketEndpoint::Kind;
    const auto parsed = SocketEndpoint::parse(endpoint);
    const Kind kind = parsed ? parsed->kind : Kind::kIpc;
    socket.set(zmq::sockopt::ipv6, kind == Kind::kIpv6 || kind == Kind::kAny);
    try {
        socket.bind(endpoint);
    } catch (const zmq::error_t&) {
        if (kind != Kind::kName)
            throw;
        socket.set(zmq::sockopt::ipv6, true);
        socket.bind(endpoint);
    }
}

}  // namespace

Server::Server(const ClusterConfig& config, const std::string& secret_key)
    : connections_(plain_peers_max(config.hosts.size())),
      zap_(context_, zmq::socket_type::router),
      commands_{zmq::socket_t(context_, zmq::socket_type::router),
                zmq::socket_t(context_, zmq::socket_type::router)} {
    set_hosts(config.hosts);
    zap_.set(zmq::sockopt::linger, 0);
    zap_.bind(kZapAddress);  // before the first connection
    for (const std::string& endpoint : config.listen)
        bind_switches(endpoint, secret_key);
    bind_commands(kForChanges, config.control_socket);
    if (!config.control_read_socket.empty())
        bind_commands(kForReading, config.control_read_socket);
}

Server::~Server() {
    for (zmq::socket_t& router : routers_)
        router.close();
    for (zmq::socket_t& events : events_)
        events.close();
    for (zmq::socket_t& commands : commands_)
        commands.close();
    zap_.close();
    for (const File& file : files_)
        unlink(file.path.c_str());
}

void Server::bind_switches(const std::string& endpoint, const std::string& secret_key) {
    zmq::socket_t& socket = routers_.emplace_back(context_, zmq::socket_type::router);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kBodyBytesMax));
    socket.set(zmq::sockopt::sndhwm, kUnsentMax);
    socket.set(zmq::sockopt::rcvhwm, kReceivedMax);
    socket.set(zmq::sockopt::router_mandatory, true);
    socket.set(zmq::sockopt::handshake_ivl, 5'000);
    socket.set(zmq::sockopt::heartbeat_ivl, 1'000);
    socket.set(zmq::sockopt::heartbeat_timeout, 3'000);
    socket.set(zmq::sockopt::heartbeat_ttl, 3'000);
    socket.set(zmq::sockopt::backlog, 4'096);
    if (endpoint.starts_with("tcp://")) {
        socket.set(zmq::sockopt::curve_server, true);
        socket.set(zmq::sockopt::curve_secretkey, secret_key);
        socket.set(zmq::sockopt::zap_domain, "weir");
    } else {
        const std::string file = endpoint.substr(std::strlen("ipc://"));
        make_folder_of(file, "listen");
        files_.push_back({.path = file, .index = routers_.size() - 1});
    }
    try {
        const std::string events = "inproc://connections-" + std::to_string(routers_.size());
        if (zmq_socket_monitor(socket.handle(), events.c_str(),
                               ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED) != 0)
            throw zmq::error_t();
        events_.emplace_back(context_, zmq::socket_type::pair).connect(events);
        bind_of_kind(socket, endpoint);
    } catch (const zmq::error_t& fault) {
        throw HostError("listen: cannot listen on " + endpoint + " (" + fault.what() +
                        "); is another weir-ctrl running, and does this machine have the address?");
    }
}

void Server::bind_commands(std::size_t index, const std::string& path) {
    const char* const key = index == kForChanges ? "control_socket" : "control_read_socket";
    zmq::socket_t& commands = commands_[index];
    make_folder_of(path, key);
    commands.set(zmq::sockopt::linger, 0);
    commands.set(zmq::sockopt::maxmsgsize, index == kForChanges ? kRequestBytesMax : kReadRequestBytesMax);
    commands.set(zmq::sockopt::sndhwm, kCommandsPerTurn);
    commands.set(zmq::sockopt::rcvhwm, kCommandsPerTurn);
    try {
        commands.bind("ipc://" + path);
    } catch (const zmq::error_t& fault) {
        throw HostError(std::string(key) + ": cannot listen on " + path + " (" + fault.what() + ")");
    }
    if (index == kForReading)
        allow_group(path);
    files_.push_back({.path = path, .index = index, .is_of_commands = true});
}

/// All frames of one message; empty when none has come.
std::vector<zmq::message_t> Server::receive(zmq::socket_t& socket) {
    std::vector<zmq::message_t> parts;
    try {
        (void)zmq::recv_multipart(socket, std::back_inserter(parts), zmq::recv_flags::dontwait);
        return parts;
    } catch (const zmq::error_t& fault) {
        note(fault);
        return {};
    }
}

/// @throws the fault, when ZeroMQ ends
void Server::note(const zmq::error_t& fault) {
    if (fault.num() == ETERM)
        throw fault;
    if (fault.num() == EINTR)
        return;
    if (const std::uint64_t times = ++counters_.faults; (times & (times - 1)) == 0)
        spdlog::warn("a socket of the controller: {} ({} faults)", fault.what(), times);
}

void Server::set_hosts(const std::vector<HostConfig>& hosts) {
    keys_.clear();
    hosts_.clear();
    connections_.set_plain_max(plain_peers_max(hosts.size()));
    for (const HostConfig& host : hosts) {
        PublicKey key{};
        if (host.key.empty() || zmq_z85_decode(key.data(), host.key.c_str()) == nullptr)
            continue;
        keys_.emplace(key, host.key);
        hosts_.emplace(host.key, host.name);
    }
}

/// Answers ZeroMQ's request (RFC 27) for each new connection over tcp. A host's key admits it, an unknown key
/// denies it, and a key with too many connections refuses it for now.
void Server::authenticate(const Handlers& handlers) {
    constexpr std::size_t kFrames = 9;  // two of the envelope, then version .. credentials
    for (int answered = 0; answered < kKeysPerTurn; ++answered) {
        auto parts = receive(zap_);
        if (parts.empty())
            return;
        if (parts.size() < 4)
            continue;
        PublicKey key{};
        const bool is_curve =
            parts.size() == kFrames && parts[7].to_string_view() == "CURVE" && parts[8].size() == key.size();
        if (is_curve)
            std::memcpy(key.data(), parts[8].data(), key.size());
        const auto known = is_curve ? keys_.find(key) : keys_.end();
        const bool is_known = known != keys_.end();
        const bool is_admitted =
            is_known && connections_.may_open(hosts_.at(known->second), now_of(steady_clock::now()));
        ++(is_admitted ? counters_.admitted : is_known ? counters_.surplus : counters_.denied);
        const std::array<std::string, 3> answer =
            is_admitted ? std::array<std::string, 3>{"200", "OK", known->second}
            : is_known  ? std::array<std::string, 3>{"300", "too many connections with this key", ""}
                        : std::array<std::string, 3>{"400", "no such key", ""};
        for (std::size_t i = 0; i < 4; ++i)  // envelope, version and request id are repeated
            zap_.send(parts[i], zmq::send_flags::sndmore);
        for (const std::string& text : answer)
            zap_.send(zmq::buffer(text), zmq::send_flags::sndmore);
        zap_.send(zmq::message_t(), zmq::send_flags::none);
        if (handlers.is_time_left && !handlers.is_time_left())
            return;
    }
}

/// @return whether there was one
bool Server::receive_message(std::size_t index, const Handlers& handlers) {
    std::vector<zmq::message_t> parts = receive(routers_[index]);
    if (parts.empty())
        return false;
    if (parts.size() != 3) {  // route, header, body
        ++counters_.odd_frames;
        return true;
    }
    Peer peer;
    peer.route = static_cast<char>(index) + parts[0].to_string();
    // The key that authenticate() gave to the connection as its user; a plain one has none.
    if (const char* user = zmq_msg_gets(parts[2].handle(), "User-Id"); user != nullptr) {
        const auto host = hosts_.find(std::string_view(user));
        if (host == hosts_.end())
            return revoke(parts[2]);
        peer.host = host->second;
    }
    if (const char* address = zmq_msg_gets(parts[2].handle(), "Peer-Address"); address != nullptr)
        peer.address = address;
    if (!may_stay(parts[2], peer.host))
        return true;
    handlers.on_message(peer, bytes_of(parts[1]), bytes_of(parts[2]));
    return true;
}

/// The connection's key is in the cluster file no longer. @return true: there was a message
bool Server::revoke(zmq::message_t& part) {
    ++counters_.denied;
    if (const int descriptor = zmq_msg_get(part.handle(), ZMQ_SRCFD); descriptor >= 0)
        end_connection(descriptor);
    return true;
}

/// @return whether there was one
bool Server::receive_command(std::size_t index, const Handlers& handlers) {
    auto parts = receive(commands_[index]);
    if (parts.size() < 2)
        return !parts.empty();
    command_origin_ = {.peer = local_peer(parts.back()),
                       .ticket = command_origin_.ticket + 1,
                       .may_change = index == kForChanges};
    const std::string text = handlers.on_command(parts.back().to_string_view());
    parts.pop_back();
    if (text.empty())
        unanswered_.emplace(command_origin_.ticket, Unanswered{index, std::move(parts)});
    else
        send_reply(index, parts, text);
    return true;
}

/// Whether the message's connection is one of those that its key may have; ends it if not.
bool Server::may_stay(zmq::message_t& part, const std::string& key) {
    const int descriptor = zmq_msg_get(part.handle(), ZMQ_SRCFD);
    if (descriptor < 0)
        return true;
    if (!connections_.has(descriptor))
        watch_connections();  // it was accepted since
    if (connections_.on_message(descriptor, key))
        return true;
    ++counters_.surplus;
    end_connection(descriptor);
    return false;
}

/// ZeroMQ has no call that ends one connection of a socket. It notices the end, and closes the descriptor. If
/// it has closed it in this moment and gave it to a new connection, that one is opened again by its switch.
void Server::end_connection(int descriptor) {
    (void)::shutdown(descriptor, SHUT_RDWR);
}

void Server::watch_connections() {
    for (zmq::socket_t& events : events_)
        for (int received = 0; received < kEventsPerLook; ++received) {
            const auto parts = receive(events);
            if (parts.empty())
                break;
            std::uint16_t event = 0;
            std::int32_t descriptor = -1;
            if (parts.front().size() != sizeof event + sizeof descriptor)
                continue;
            std::memcpy(&event, parts.front().data(), sizeof event);
            std::memcpy(&descriptor, parts.front().data<std::uint8_t>() + sizeof event, sizeof descriptor);
            if (event == ZMQ_EVENT_ACCEPTED)
                connections_.on_accepted(descriptor, now_of(steady_clock::now()));
            else
                connections_.on_closed(descriptor);
        }
}

void Server::send_reply(std::size_t index, std::vector<zmq::message_t>& envelope, const std::string& text) {
    zmq::socket_t& commands = commands_[index];
    for (zmq::message_t& part : envelope)
        commands.send(part, zmq::send_flags::sndmore | zmq::send_flags::dontwait);
    commands.send(zmq::buffer(text), zmq::send_flags::dontwait);
}

void Server::reply(const SideWork::Reply& reply) {
    auto found = unanswered_.extract(reply.ticket);
    if (found.empty())
        return;
    try {
        send_reply(found.mapped().index, found.mapped().envelope, reply.text);
    } catch (const zmq::error_t& fault) {
        note(fault);
    }
}

void Server::wait(std::chrono::milliseconds wait_max, int other) {
    restore_files();
    watch_connections();
    for (const int descriptor : connections_.silent(now_of(steady_clock::now())))
        end_connection(descriptor);
    std::vector<zmq::pollitem_t> items;
    items.push_back({zap_.handle(), 0, ZMQ_POLLIN, 0});
    for (zmq::socket_t& commands : commands_)
        items.push_back({commands.handle(), 0, ZMQ_POLLIN, 0});
    for (zmq::socket_t& router : routers_)
        items.push_back({router.handle(), 0, ZMQ_POLLIN, 0});
    if (other >= 0)
        items.push_back({nullptr, other, ZMQ_POLLIN, 0});
    try {
        zmq::poll(items.data(), items.size(), wait_max);
    } catch (const zmq::error_t& fault) {
        note(fault);
    }
}

void Server::take(const Handlers& handlers) {
    try {
        authenticate(handlers);
        bool is_any = true;
        for (int round = 0; is_any && round < kRoundsMax; ++round) {
            is_any = false;
            for (std::size_t i = 0; i < commands_.size() && round < kCommandsPerTurn; ++i)
                is_any = receive_command(i, handlers) || is_any;
            for (std::size_t i = 0; i < routers_.size(); ++i) {
                is_any = receive_message(next_router_, handlers) || is_any;
                next_router_ = (next_router_ + 1) % routers_.size();
                if (handlers.is_time_left && !handlers.is_time_left())
                    return;
            }
        }
    } catch (const zmq::error_t& fault) {
        note(fault);
    }
}

/// Folders below /run may be removed and made again: one look ends the old listener, the next one begins
/// another. Connections that exist are not affected.
void Server::restore_files() {
    const auto now = steady_clock::now();
    if (now - looked_ < kLookGap)
        return;
    looked_ = now;
    for (File& file : files_) {
        if (file.is_bound && access(file.path.c_str(), F_OK) == 0)
            continue;
        zmq::socket_t& socket = file.is_of_commands ? commands_[file.index] : routers_[file.index];
        const std::string endpoint = "ipc://" + file.path;
        try {
            if (std::exchange(file.is_bound, false)) {
                socket.unbind(endpoint);  // in the background, and with it goes the file that is there then
                continue;
            }
            make_folder_of(file.path, "listen");
            socket.bind(endpoint);
            file.is_bound = true;
            if (file.is_of_commands && file.index == kForReading)
                allow_group(file.path);
            spdlog::warn("{} had vanished and was made again", file.path);
        } catch (const HostError&) {  // the next look tries again
        } catch (const zmq::error_t& fault) {
            note(fault);
        }
    }
}

void Server::send(const std::vector<Outgoing>& messages) {
    for (const Outgoing& message : messages)
        if (!reaches(message))
            ++counters_.unreachable;
}

bool Server::reaches(const Outgoing& message) {
    zmq::socket_t& socket = routers_[static_cast<std::size_t>(message.route[0])];
    const std::string_view route = std::string_view(message.route).substr(1);
    try {
        constexpr auto kMore = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
        if (!socket.send(zmq::buffer(route), kMore)) {
            ++counters_.full;
            return true;
        }
        socket.send(zmq::buffer(message.header), kMore);
        socket.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
        return true;
    } catch (const zmq::error_t& fault) {
        if (fault.num() == EHOSTUNREACH)
            return false;
        note(fault);
        return true;
    }
}

}  // namespace weir
