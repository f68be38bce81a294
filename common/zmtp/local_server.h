// local_server.h - a local socket for ZeroMQ clients, where each has bounds of its own.
// Source: ZeroMQ RFC 23; unix(7). Units: bytes; Nanos of a monotonic clock. Threads: one owner.
//
// The work of the library's ROUTER socket, for clients of this machine: REQ and DEALER sockets connect to it.
// The library bounds a part of a message and counts whole messages, so that a message that never ends takes
// all memory, and no user can be named for it. Where all clients together hold too much, the user with most
// of it loses the connection that holds most; where there are too many connections, the user with most of
// them loses one: the oldest of those that never sent a message, or else the oldest.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/first_of_each.h"
#include "common/zmtp/socket_file.h"
#include "common/zmtp/zmtp_reader.h"

namespace weir {

/// The process at the other end of a connection, as the kernel names it.
struct LocalPeer {
    uid_t user = 0;
    pid_t process = 0;

    /// "uid 0, process 1234"
    [[nodiscard]] std::string to_string() const;
};

class LocalServer {
  public:
    struct Bounds {
        zmtp::MessageBounds message;
        std::size_t connections = 128;
        std::size_t held = 0;    ///< received and not taken, and not sent yet: of all connections together
        std::size_t unsent = 0;  ///< of one connection: a message more is not sent
        bool is_in_turns =
            true;  ///< a client's next message is shown when the answer to the last one has left
    };
    struct Message {
        std::uint64_t connection = 0;
        LocalPeer peer{};
        zmtp::Parts parts{};
    };
    struct Counters {
        std::uint64_t ended = 0;  ///< connections that broke a rule, or were too many
    };
    enum class Sent { kYes, kFull, kGone };
    /// A connection that was ended, in a sentence: once for each user and cause.
    using Log = std::function<void(const std::string&)>;

    static constexpr Nanos kSilentMax = 10 * kNanosPerSec;  ///< until a connection's first message
    static constexpr Nanos kUnfinishedMax = 30 * kNanosPerSec;

    /// @throws HostError that names the key, the path and the remedy
    LocalServer(SocketFile::Place place, const Bounds& bounds, Log log);
    ~LocalServer();
    LocalServer(const LocalServer&) = delete;
    LocalServer& operator=(const LocalServer&) = delete;

    void set_connections_max(std::size_t most) { bounds_.connections = most; }
    /// Readable when work() has something to do.
    [[nodiscard]] int descriptor() const { return events_; }
    /// Accepts, reads and sends as far as is possible now, and ends connections whose time is over. Never
    /// blocks.
    void work(Nanos now);
    [[nodiscard]] bool has_message() const { return !ready_.empty(); }
    /// Of each connection in turn.
    [[nodiscard]] std::optional<Message> receive();
    /// Sends as much as the client takes, the rest by work(). @param parts the envelope of the message that
    /// it answers, if it has one, then the text
    Sent send(std::uint64_t connection, std::span<const std::string_view> parts);
    /// As send(); `text` in place of the last part of the message that it answers.
    Sent answer(const Message& message, std::string_view text);
    [[nodiscard]] bool has(std::uint64_t connection) const { return clients_.contains(connection); }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] const SocketFile::Place& place() const { return file_.place(); }

  private:
    struct Client {
        std::uint64_t number = 0;
        int socket = -1;
        LocalPeer peer{};
        zmtp::Reader reader;
        std::string unread{};  // received, behind a message that is whole
        std::string unsent{};
        std::size_t sent = 0;  // of `unsent`
        Nanos accepted = 0;
        Nanos begun = kNever;  // when the message that is not whole yet was seen first
        std::uint32_t watched = 0;
        bool is_known = false;         // it sent a message
        bool is_waiting = false;       // its message was taken, and has no answer yet
        bool is_shown = false;         // in ready_
        bool is_over = false;          // to be dropped
        std::size_t counted_held = 0;  // in held_

        [[nodiscard]] std::size_t held() const {
            return reader.held() + unread.size() + unsent.size() - sent;
        }
        /// A client that leaves its answers unread is read no more.
        [[nodiscard]] bool may_read() const {
            return !reader.has_message() && unsent.empty() && unread.empty();
        }
        [[nodiscard]] bool may_parse() const {
            return !is_over && !reader.has_message() && unsent.empty() && !unread.empty();
        }
    };
    using Clients = std::map<std::uint64_t, Client>;

    void listen();
    void accept_all(Nanos now);
    void make_room();
    void receive_from(Client& client);
    void advance(Client& client);
    void parse(Client& client);
    void flush(Client& client);
    void watch(Client& client);
    /// Behind all that was done for a client: drops it, or watches for its next event. @return whether it
    /// stays
    bool settle(Clients::iterator client);
    void drop(Clients::iterator client);
    void refuse(Client& client, const std::string& cause);
    void count_held(Client& client);
    void bound_held();
    void end_overdue(Nanos now);
    /// The user with the largest sum. @param of a connection's part in it
    [[nodiscard]] uid_t heaviest_user(const std::function<std::size_t(const Client&)>& of) const;

    Bounds bounds_;
    Log log_;
    SocketFile file_;
    int events_ = -1;  // epoll
    Clients clients_;  // by number, which grows: the oldest is first
    std::uint64_t last_ = 0;
    std::deque<std::uint64_t> ready_;  // connections with a whole message
    std::size_t held_ = 0;
    Nanos looked_ = 0;
    FirstOfEach<std::pair<uid_t, std::string>> named_;
    Counters counters_;
};

}  // namespace weir
