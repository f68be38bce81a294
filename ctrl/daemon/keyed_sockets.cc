// keyed_sockets.cc - binding, authenticating, receiving and sending over tcp.
//
// All queues are bounded: a switch that does not read loses messages, and no other switch waits for it. A
// message that ZeroMQ fails to receive or send is lost like any other, and counted; only the end of its
// context ends the loop.
#include "ctrl/daemon/keyed_sockets.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <zmq_addon.hpp>

#include "common/config/endpoint.h"
#include "common/error.h"
#include "common/zmtp/unfinished_bytes.h"

namespace weir {
namespace {

/// Whole messages of one connection that wait here; then its switch waits. With 1, ZeroMQ shows none at all.
constexpr int kReceivedMax = 4;
constexpr int kUnsentMax = 16;  // messages to one switch
constexpr int kKeysPerTurn = 256;
constexpr int kEventsPerLook = 4'096;
constexpr const char* kZapAddress = "inproc://zeromq.zap.01";

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

/// ZeroMQ has no call that ends one connection of a socket. It notices the end, and closes the descriptor. If
/// it has closed it in this moment and gave it to a new connection, that one is opened again by its switch.
void end_connection(int descriptor) {
    (void)::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace

KeyedSockets::KeyedSockets(std::string secret_key, ConnectionCounters& counters)
    : secret_key_(std::move(secret_key)), counters_(counters), zap_(context_, zmq::socket_type::router) {
    zap_.set(zmq::sockopt::linger, 0);
    zap_.bind(kZapAddress);  // before the first connection
}

KeyedSockets::~KeyedSockets() {
    unfinished_.reset();
    for (zmq::socket_t& router : routers_)
        router.close();
    for (zmq::socket_t& events : events_)
        events.close();
    zap_.close();
}

std::size_t KeyedSockets::bind(const std::string& endpoint) {
    if (!unfinished_)
        unfinished_.emplace();
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
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::zap_domain, "weir");
    try {
        socket.set(zmq::sockopt::curve_secretkey, secret_key_);
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
    return routers_.size() - 1;
}

void KeyedSockets::set_hosts(const std::vector<HostConfig>& hosts) {
    keys_.clear();
    hosts_.clear();
    for (const HostConfig& host : hosts) {
        PublicKey key{};
        if (host.key.empty() || zmq_z85_decode(key.data(), host.key.c_str()) == nullptr)
            continue;
        keys_.emplace(key, host.key);
        hosts_.emplace(host.key, host.name);
    }
}

void KeyedSockets::append_to(std::vector<zmq::pollitem_t>& items) {
    if (routers_.empty())
        return;
    items.push_back({zap_.handle(), 0, ZMQ_POLLIN, 0});
    for (zmq::socket_t& router : routers_)
        items.push_back({router.handle(), 0, ZMQ_POLLIN, 0});
}

std::vector<zmq::message_t> KeyedSockets::take(zmq::socket_t& socket) {
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
void KeyedSockets::note(const zmq::error_t& fault) {
    if (fault.num() == ETERM)
        throw fault;
    if (fault.num() == EINTR)
        return;
    if (const std::uint64_t times = ++counters_.faults; (times & (times - 1)) == 0)
        spdlog::warn("a socket of the controller: {} ({} faults)", fault.what(), times);
}

void KeyedSockets::watch(Nanos now) {
    for (zmq::socket_t& events : events_)
        for (int received = 0; received < kEventsPerLook; ++received) {
            const auto parts = take(events);
            if (parts.empty())
                break;
            on_event(parts.front(), now);
        }
    for (const int descriptor : connections_.silent(now))
        end_connection(descriptor);
    if (!unfinished_)
        return;
    for (const std::string& owner : unfinished_->take_ended()) {
        ++counters_.unfinished;
        if (named_.is_first(owner))
            spdlog::warn(
                "listen: {} sent more than {} bytes of messages that do not end; its connection was ended, "
                "and "
                "is counted from now on",
                owner, UnfinishedWatch::kBytesMax);
    }
}

void KeyedSockets::on_event(const zmq::message_t& event, Nanos now) {
    std::uint16_t number = 0;
    std::int32_t descriptor = -1;
    if (event.size() != sizeof number + sizeof descriptor)
        return;
    std::memcpy(&number, event.data(), sizeof number);
    std::memcpy(&descriptor, event.data<std::uint8_t>() + sizeof number, sizeof descriptor);
    if (number == ZMQ_EVENT_ACCEPTED) {
        connections_.on_accepted(descriptor, now);
        unfinished_->on_accepted(descriptor);
    } else {
        connections_.on_closed(descriptor);
        unfinished_->on_closed(descriptor);
    }
}

/// Answers ZeroMQ's request (RFC 27) for each new connection over tcp. A host's key admits it, an unknown key
/// denies it, and a key with too many connections refuses it for now.
void KeyedSockets::authenticate(const std::function<bool()>& is_time_left, Nanos now) {
    constexpr std::size_t kFrames = 9;  // two of the envelope, then version .. credentials
    for (int answered = 0; answered < kKeysPerTurn; ++answered) {
        auto parts = take(zap_);
        if (parts.empty())
            return;
        if (answered == 0)
            watch(now);  // its connection is known before it may send messages
        if (parts.size() < 4)
            continue;
        PublicKey key{};
        const bool is_curve =
            parts.size() == kFrames && parts[7].to_string_view() == "CURVE" && parts[8].size() == key.size();
        if (is_curve)
            std::memcpy(key.data(), parts[8].data(), key.size());
        const auto known = is_curve ? keys_.find(key) : keys_.end();
        const bool is_known = known != keys_.end();
        const bool is_admitted = is_known && connections_.may_open(hosts_.at(known->second), now);
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
        if (is_time_left && !is_time_left())
            return;
    }
}

std::optional<KeyedSockets::Message> KeyedSockets::receive(std::size_t socket, bool& is_any, Nanos now) {
    std::vector<zmq::message_t> parts = take(routers_[socket]);
    is_any = !parts.empty();
    if (!is_any)
        return std::nullopt;
    std::size_t bytes = 0;
    for (std::size_t i = 1; i < parts.size(); ++i)  // the first one is the route
        bytes += zmtp::curve_bytes(parts[i].size());
    Peer peer;
    peer.route = parts[0].to_string();
    // The key that authenticate() gave to the connection as its user.
    const char* const user = zmq_msg_gets(parts.back().handle(), "User-Id");
    const auto host = user == nullptr ? hosts_.end() : hosts_.find(std::string_view(user));
    if (host == hosts_.end()) {
        revoke(parts.back());
        return std::nullopt;
    }
    peer.host = host->second;
    if (const char* address = zmq_msg_gets(parts.back().handle(), "Peer-Address"); address != nullptr)
        peer.address = address;
    if (!may_stay(parts.back(), peer.host, bytes, now))
        return std::nullopt;
    if (parts.size() != 3) {  // route, header, body
        ++counters_.odd_frames;
        return std::nullopt;
    }
    return Message{std::move(peer), std::move(parts[1]), std::move(parts[2])};
}

/// The connection's key is in the cluster file no longer.
void KeyedSockets::revoke(zmq::message_t& part) {
    ++counters_.denied;
    if (const int descriptor = zmq_msg_get(part.handle(), ZMQ_SRCFD); descriptor >= 0)
        end_connection(descriptor);
}

/// Whether the message's connection is one of those that its key may have; ends it if not.
bool KeyedSockets::may_stay(zmq::message_t& part, const std::string& host, std::size_t bytes, Nanos now) {
    const int descriptor = zmq_msg_get(part.handle(), ZMQ_SRCFD);
    if (descriptor < 0)
        return true;
    if (!connections_.has(descriptor))
        watch(now);  // it was accepted since
    unfinished_->on_message(descriptor, host, bytes);
    if (connections_.on_message(descriptor, host))
        return true;
    ++counters_.surplus;
    end_connection(descriptor);
    return false;
}

bool KeyedSockets::send(std::size_t socket, std::string_view route, const Outgoing& message) {
    zmq::socket_t& router = routers_[socket];
    try {
        constexpr auto kMore = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
        if (!router.send(zmq::buffer(route), kMore)) {
            ++counters_.full;
            return true;
        }
        router.send(zmq::buffer(message.header), kMore);
        router.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
        return true;
    } catch (const zmq::error_t& fault) {
        if (fault.num() == EHOSTUNREACH)
            return false;
        note(fault);
        return true;
    }
}

}  // namespace weir
