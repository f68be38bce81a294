// local_server.cc - one epoll; a connection is read while it has no whole message and owes no bytes.
#include "common/zmtp/local_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "common/error.h"

namespace weir {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr int kAcceptedPerTurn = 64;
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kReadBytesPerTurn = 1 << 20;
constexpr Nanos kLookGap = kNanosPerSec / 2;
constexpr std::uint64_t kListener = 0;

}  // namespace

std::string LocalPeer::to_string() const {
    return "uid " + std::to_string(user) + ", process " + std::to_string(process);
}

LocalServer::LocalServer(SocketFile::Place place, const Bounds& bounds, Log log)
    : bounds_(bounds), log_(std::move(log)), file_(std::move(place)) {
    events_ = epoll_create1(EPOLL_CLOEXEC);
    if (events_ < 0)
        throw HostError(file_.place().key + ": no epoll (" + std::strerror(errno) + ")");
    listen();
}

LocalServer::~LocalServer() {
    for (const auto& [number, client] : clients_)
        close(client.socket);
    if (events_ >= 0)
        close(events_);
}

void LocalServer::listen() {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kListener}};
    if (epoll_ctl(events_, EPOLL_CTL_ADD, file_.descriptor(), &event) != 0)
        throw HostError(file_.place().key + ": epoll (" + std::strerror(errno) + ")");
}

void LocalServer::work(Nanos now) {
    std::array<epoll_event, kEventsPerTurn> events{};
    const int count = epoll_wait(events_, events.data(), kEventsPerTurn, 0);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        const std::uint64_t number = event.data.u64;  // of a packed structure: no reference to it
        if (number == kListener) {
            accept_all(now);
            continue;
        }
        const auto found = clients_.find(number);
        if (found == clients_.end())  // it made room meanwhile
            continue;
        Client& client = found->second;
        if ((event.events & EPOLLOUT) != 0)
            advance(client);
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            receive_from(client);
        settle(found);
    }
    bound_held();
    if (now < looked_ + kLookGap)
        return;
    looked_ = now;
    end_overdue(now);
    if (file_.restore(now)) {
        listen();
        log_(file_.place().path + " had vanished and was made again");
    }
}

void LocalServer::accept_all(Nanos now) {
    for (int accepted = 0; accepted < kAcceptedPerTurn; ++accepted) {
        const int socket = accept4(file_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0)
            return;
        ucred credentials{};
        socklen_t size = sizeof credentials;
        if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
            close(socket);
            continue;
        }
        make_room();
        const std::uint64_t number = ++last_;
        const auto client = clients_
                                .emplace(number, Client{.number = number,
                                                        .socket = socket,
                                                        .peer = {credentials.uid, credentials.pid},
                                                        .reader = zmtp::Reader(bounds_.message),
                                                        .unsent = zmtp::greeting(),
                                                        .accepted = now})
                                .first;
        advance(client->second);
        settle(client);
    }
}

uid_t LocalServer::heaviest_user(const std::function<std::size_t(const Client&)>& of) const {
    std::map<uid_t, std::size_t> users;
    for (const auto& [number, client] : clients_)
        users[client.peer.user] += of(client);
    return std::ranges::max_element(users, {}, [](const auto& user) { return user.second; })->first;
}

void LocalServer::make_room() {
    if (clients_.size() < bounds_.connections)
        return;
    const uid_t user = heaviest_user([](const Client&) { return std::size_t{1}; });
    auto chosen = clients_.end();
    for (auto client = clients_.begin(); client != clients_.end(); ++client)
        if (client->second.peer.user == user &&
            (chosen == clients_.end() || (chosen->second.is_known && !client->second.is_known)))
            chosen = client;
    refuse(chosen->second, "more than " + std::to_string(bounds_.connections) + " connections");
    drop(chosen);
}

void LocalServer::bound_held() {
    while (held_ > bounds_.held) {
        const uid_t user = heaviest_user([](const Client& client) { return client.counted_held; });
        auto chosen = clients_.end();
        for (auto client = clients_.begin(); client != clients_.end(); ++client)
            if (client->second.peer.user == user &&
                (chosen == clients_.end() || client->second.counted_held > chosen->second.counted_held))
                chosen = client;
        refuse(chosen->second,
               "more than " + std::to_string(bounds_.held) + " bytes that wait, of all connections together");
        drop(chosen);
    }
}

void LocalServer::receive_from(Client& client) {
    std::array<char, kReadBytes> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() writes it
    for (std::size_t taken = 0; client.may_read() && !client.is_over && taken < kReadBytesPerTurn;) {
        const ssize_t count = recv(client.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (count <= 0) {
            client.is_over = true;
            return;
        }
        taken += static_cast<std::size_t>(count);
        client.unread.assign(bytes.data(), static_cast<std::size_t>(count));
        advance(client);
    }
}

/// Sends bytes that wait, then reads those that were received, up to the end of a message.
void LocalServer::advance(Client& client) {
    do {
        flush(client);
        if (client.may_parse())
            parse(client);
    } while (client.may_parse());
    flush(client);
    count_held(client);
    const bool has_turn = !bounds_.is_in_turns || (!client.is_waiting && client.unsent.empty());
    if (has_turn && client.reader.has_message() && !std::exchange(client.is_shown, true))
        ready_.push_back(client.number);
}

void LocalServer::parse(Client& client) {
    const std::size_t used = client.reader.read(
        {reinterpret_cast<const std::uint8_t*>(client.unread.data()), client.unread.size()});
    client.unread.erase(0, used);
    client.unsent += client.reader.take_answers();
    if (!client.reader.fault().empty()) {
        refuse(client, client.reader.fault());
    } else if (client.reader.has_message()) {
        client.is_known = true;
        client.begun = kNever;
    }
}

void LocalServer::count_held(Client& client) {
    held_ += client.held() - client.counted_held;
    client.counted_held = client.held();
}

void LocalServer::flush(Client& client) {
    while (client.sent < client.unsent.size()) {
        const ssize_t count = ::send(client.socket, client.unsent.data() + client.sent,
                                     client.unsent.size() - client.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            client.is_over = client.is_over || errno != EAGAIN;
            break;
        }
        client.sent += static_cast<std::size_t>(count);
    }
    if (client.sent == client.unsent.size()) {
        client.unsent = {};
        client.sent = 0;
    }
}

/// A connection whose message waits is not watched: the kernel holds its further bytes, and then its sender.
void LocalServer::watch(Client& client) {
    const std::uint32_t wanted =
        (client.may_read() ? EPOLLIN : 0U) | (client.unsent.empty() ? 0U : static_cast<unsigned>(EPOLLOUT));
    if (wanted == client.watched)
        return;
    epoll_event event{.events = wanted, .data = {.u64 = client.number}};
    const int operation = client.watched == 0 ? EPOLL_CTL_ADD : wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    (void)epoll_ctl(events_, operation, client.socket, &event);
    client.watched = wanted;
}

bool LocalServer::settle(Clients::iterator client) {
    if (client->second.is_over) {
        drop(client);
        return false;
    }
    watch(client->second);
    return true;
}

void LocalServer::drop(Clients::iterator client) {
    held_ -= client->second.counted_held;
    close(client->second.socket);
    std::erase(ready_, client->first);
    clients_.erase(client);
}

void LocalServer::refuse(Client& client, const std::string& cause) {
    if (std::exchange(client.is_over, true))
        return;
    ++counters_.ended;
    if (named_.is_first({client.peer.user, cause}))
        log_(file_.place().key + ": " + client.peer.to_string() + " sent " + cause +
             "; its connection was ended, and is counted from now on");
}

void LocalServer::end_overdue(Nanos now) {
    for (auto next = clients_.begin(); next != clients_.end();) {
        const auto found = next++;
        Client& client = found->second;
        const bool is_unfinished = client.reader.held() != 0 && !client.reader.has_message();
        client.begun = is_unfinished ? std::min(client.begun, now) : kNever;
        if (is_unfinished && now >= client.begun + kUnfinishedMax)
            refuse(client, "a message that was not whole within 30 s");
        else if (!client.is_known && now >= client.accepted + kSilentMax)
            refuse(client, "no message within 10 s");
        if (client.is_over)
            drop(found);
    }
}

std::optional<LocalServer::Message> LocalServer::receive() {
    if (ready_.empty())
        return std::nullopt;
    const auto found = clients_.find(ready_.front());
    Client& client = found->second;
    ready_.pop_front();
    Message message{.connection = client.number, .peer = client.peer, .parts = client.reader.take_message()};
    client.is_waiting = bounds_.is_in_turns;
    client.is_shown = false;
    advance(client);
    settle(found);
    return message;
}

LocalServer::Sent LocalServer::send(std::uint64_t connection, std::span<const std::string_view> parts) {
    const auto found = clients_.find(connection);
    if (found == clients_.end())
        return Sent::kGone;
    Client& client = found->second;
    if (client.unsent.size() - client.sent > bounds_.unsent)
        return Sent::kFull;
    if (client.sent != 0) {
        client.unsent.erase(0, client.sent);
        client.sent = 0;
    }
    client.unsent += zmtp::frames_of(parts);
    client.is_waiting = false;
    advance(client);
    return settle(found) ? Sent::kYes : Sent::kGone;
}

LocalServer::Sent LocalServer::answer(const Message& message, std::string_view text) {
    std::vector<std::string_view> parts(message.parts.begin(), message.parts.end());
    if (parts.empty())
        parts.emplace_back();
    parts.back() = text;
    return send(message.connection, parts);
}

}  // namespace weir
