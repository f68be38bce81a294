// server.cc - binding, authenticating, receiving and sending; the loop; keys in files.
//
// All queues are bounded: a switch that does not read loses messages, and no other switch waits for it.
#include "ctrl/daemon/server.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <zmq_addon.hpp>

#include "common/config/endpoint.h"
#include "common/config/field_kinds.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr int kQueuedMessagesMax = 64;  // of one switch, each way
constexpr int kMessagesPerServe = 4'096;
constexpr std::int64_t kCommandBytesMax = 64 * 1024;
constexpr const char* kZapAddress = "inproc://zeromq.zap.01";

std::span<const std::uint8_t> bytes_of(const zmq::message_t& part) {
    return {part.data<std::uint8_t>(), part.size()};
}

/// All frames of one message; empty when none has come.
std::vector<zmq::message_t> receive(zmq::socket_t& socket) {
    std::vector<zmq::message_t> parts;
    (void)zmq::recv_multipart(socket, std::back_inserter(parts), zmq::recv_flags::dontwait);
    return parts;
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

constexpr Nanos kWaitMax = 100'000'000;
/// Early solves per interval, at most.
constexpr Nanos kEarlySolves = 10;

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::chrono::milliseconds wait_until(Nanos when, Nanos now) {
    const Nanos wait = std::min(when > now ? when - now : 0, kWaitMax);
    return std::chrono::milliseconds((wait + 999'999) / 1'000'000);
}

/// The solves of a controller by the time that it is given.
class Schedule {
  public:
    /// @param is_stepped the Unix time passes with `now` too
    Schedule(Controller& controller, Nanos interval, Nanos now, bool is_stepped)
        : controller_(controller),
          interval_(interval),
          next_tick_(now + interval),
          stepped_from_(is_stepped ? std::time(nullptr) - seconds_of(now) : 0) {}

    [[nodiscard]] Nanos next_due() const {
        return std::min(next_tick_, controller_.early_solve_due() ? next_early_ : kNever);
    }
    void run_due(Nanos now) {
        if (now < next_due())
            return;
        if (now >= next_tick_) {
            controller_.tick(now, stepped_from_ == 0 ? std::time(nullptr) : stepped_from_ + seconds_of(now));
            next_tick_ += (now - next_tick_) / interval_ * interval_ + interval_;
        } else {
            controller_.solve_early(now);
        }
        next_early_ = now + interval_ / kEarlySolves;
    }

  private:
    static std::int64_t seconds_of(Nanos time) { return static_cast<std::int64_t>(time / kNanosPerSec); }

    Controller& controller_;
    Nanos interval_;
    Nanos next_tick_;
    Nanos next_early_ = 0;
    std::int64_t stepped_from_;  // Unix time when a stepped clock was 0; 0 = the clock is real
};

}  // namespace

Server::Server(const ClusterConfig& config, const std::string& secret_key)
    : zap_(context_, zmq::socket_type::router), commands_(context_, zmq::socket_type::router) {
    for (const HostConfig& host : config.hosts) {
        PublicKey key{};
        if (!host.key.empty() && zmq_z85_decode(key.data(), host.key.c_str()) != nullptr)
            hosts_.emplace(key, host.name);
    }
    zap_.set(zmq::sockopt::linger, 0);
    zap_.bind(kZapAddress);  // before the first connection
    for (const std::string& endpoint : config.listen)
        bind_switches(endpoint, secret_key);
    bind_commands(config.control_socket);
}

Server::~Server() {
    for (zmq::socket_t& router : routers_)
        router.close();
    commands_.close();
    zap_.close();
    for (const std::string& file : files_)
        unlink(file.c_str());
}

void Server::bind_switches(const std::string& endpoint, const std::string& secret_key) {
    zmq::socket_t& socket = routers_.emplace_back(context_, zmq::socket_type::router);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kBodyBytesMax));
    socket.set(zmq::sockopt::sndhwm, kQueuedMessagesMax);
    socket.set(zmq::sockopt::rcvhwm, kQueuedMessagesMax);
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
        files_.push_back(file);
    }
    try {
        bind_of_kind(socket, endpoint);
    } catch (const zmq::error_t& fault) {
        throw HostError("listen: cannot listen on " + endpoint + " (" + fault.what() +
                        "); is another weir-ctrl running, and does this machine have the address?");
    }
}

void Server::bind_commands(const std::string& path) {
    make_folder_of(path, "control_socket");
    commands_.set(zmq::sockopt::linger, 0);
    commands_.set(zmq::sockopt::maxmsgsize, kCommandBytesMax);
    try {
        commands_.bind("ipc://" + path);
    } catch (const zmq::error_t& fault) {
        throw HostError("control_socket: cannot listen on " + path + " (" + fault.what() + ")");
    }
    files_.push_back(path);
}

/// Answers ZeroMQ's request (RFC 27) for each new connection over tcp: accepted under the name of the host
/// whose key it showed, or denied.
void Server::authenticate() {
    constexpr std::size_t kFrames = 9;  // two of the envelope, then version .. credentials
    for (auto parts = receive(zap_); !parts.empty(); parts = receive(zap_)) {
        if (parts.size() < 4)
            continue;
        PublicKey key{};
        const bool is_curve =
            parts.size() == kFrames && parts[7].to_string_view() == "CURVE" && parts[8].size() == key.size();
        if (is_curve)
            std::memcpy(key.data(), parts[8].data(), key.size());
        const auto host = is_curve ? hosts_.find(key) : hosts_.end();
        const bool is_known = host != hosts_.end();
        ++(is_known ? counters_.admitted : counters_.denied);
        const std::string name = is_known ? host->second : "";
        for (std::size_t i = 0; i < 4; ++i)  // envelope, version and request id are repeated
            zap_.send(parts[i], zmq::send_flags::sndmore);
        for (const std::string& text :
             {std::string(is_known ? "200" : "400"), std::string(is_known ? "OK" : "no such key"), name})
            zap_.send(zmq::buffer(text), zmq::send_flags::sndmore);
        zap_.send(zmq::message_t(), zmq::send_flags::none);
    }
}

void Server::receive_messages(std::size_t index, const Handlers& handlers) {
    for (int received = 0; received < kMessagesPerServe; ++received) {
        std::vector<zmq::message_t> parts = receive(routers_[index]);
        if (parts.empty())
            return;
        if (parts.size() != 3) {  // route, header, body
            ++counters_.odd_frames;
            continue;
        }
        Peer peer;
        peer.route = static_cast<char>(index) + parts[0].to_string();
        // The name that authenticate() gave to the connection; a plain one has none.
        if (const char* user = zmq_msg_gets(parts[2].handle(), "User-Id"); user != nullptr)
            peer.host = user;
        if (const char* address = zmq_msg_gets(parts[2].handle(), "Peer-Address"); address != nullptr)
            peer.address = address;
        handlers.on_message(peer, bytes_of(parts[1]), bytes_of(parts[2]));
    }
}

void Server::receive_commands(const Handlers& handlers) {
    for (auto parts = receive(commands_); !parts.empty(); parts = receive(commands_)) {
        if (parts.size() < 2)
            continue;
        command_origin_ = {local_peer(parts.back()), command_origin_.ticket + 1};
        const std::string text = handlers.on_command(parts.back().to_string_view());
        parts.pop_back();
        if (text.empty())
            unanswered_.emplace(command_origin_.ticket, std::move(parts));
        else
            send_reply(parts, text);
    }
}

void Server::send_reply(std::vector<zmq::message_t>& envelope, const std::string& text) {
    for (zmq::message_t& part : envelope)
        commands_.send(part, zmq::send_flags::sndmore | zmq::send_flags::dontwait);
    commands_.send(zmq::buffer(text), zmq::send_flags::dontwait);
}

void Server::reply(const SideWork::Reply& reply) {
    if (auto found = unanswered_.extract(reply.ticket); !found.empty())
        send_reply(found.mapped(), reply.text);
}

void Server::serve(std::chrono::milliseconds wait_max, const Handlers& handlers) {
    std::vector<zmq::pollitem_t> items;
    items.push_back({zap_.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({commands_.handle(), 0, ZMQ_POLLIN, 0});
    for (zmq::socket_t& router : routers_)
        items.push_back({router.handle(), 0, ZMQ_POLLIN, 0});
    try {
        zmq::poll(items.data(), items.size(), wait_max);
        authenticate();
        receive_commands(handlers);
        for (std::size_t i = 0; i < routers_.size(); ++i)
            receive_messages(i, handlers);
    } catch (const zmq::error_t& fault) {
        if (fault.num() != EINTR)
            throw;
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
        if (fault.num() != EHOSTUNREACH)
            throw;
        return false;
    }
}

std::string make_key(const std::string& path) {
    std::array<char, 41> public_key{};
    std::array<char, 41> secret_key{};
    if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
        throw HostError("this libzmq has no CURVE; install one that was built with libsodium");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        throw HostError(path + ": " + std::strerror(errno) +
                        (errno == EEXIST ? "; a key is never overwritten: move the file away first" : ""));
    secret_key.back() = '\n';
    const bool is_written =
        ::write(file, secret_key.data(), secret_key.size()) == static_cast<ssize_t>(secret_key.size()) &&
        ::fsync(file) == 0;
    ::close(file);
    if (!is_written)
        throw HostError(path + ": " + std::strerror(errno));
    return public_key.data();
}

std::string read_key(const std::string& path) {
    std::ifstream file(path);
    std::string key;
    if (!(file >> key))
        throw HostError(path + ": no key could be read; `weir-ctrl --make-key " + path + "` makes one");
    if (!is_curve_key(key))
        throw HostError(path + ": found " + std::to_string(key.size()) +
                        " characters; a key has 40 of Z85; `weir-ctrl --make-key FILE` makes one");
    return key;
}

void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop, SteppedClock* clock) {
    const auto time = [clock] { return clock == nullptr ? clock_now() : clock->now(); };
    Schedule schedule(controller, config.interval, time(), clock != nullptr);
    StepTime step;
    if (clock != nullptr)
        step = [&](Nanos span) {
            const Nanos end = clock->now() + span;
            for (Nanos due = schedule.next_due(); due <= end; due = schedule.next_due()) {
                clock->advance(std::max(due, clock->now()) - clock->now());
                schedule.run_due(clock->now());
                server.send(controller.take_outgoing());
            }
            clock->advance(end - clock->now());
            return end;
        };
    const Server::Handlers handlers{
        [&](const Peer& peer, std::span<const std::uint8_t> header, std::span<const std::uint8_t> body) {
            controller.on_message(peer, header, body, time());
        },
        [&](std::string_view request) {
            return controller.on_command(request, server.counters(), time(), step, server.command_origin());
        }};
    controller.set_reach([&](const Outgoing& message) {
        server.send(controller.take_outgoing());
        return server.reaches(message);
    });
    while (!stop.load(std::memory_order_relaxed)) {
        server.serve(wait_until(schedule.next_due(), time()), handlers);
        schedule.run_due(time());
        server.send(controller.take_outgoing());
        for (const SideWork::Reply& reply : controller.take_replies())
            server.reply(reply);
    }
}

}  // namespace weir
