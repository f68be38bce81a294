// kv_load.cc - clients of memcached in a closed loop, with one outstanding request on each connection.
//
//   kv-load ADDRESS PORT CONNECTIONS get|set BYTES SECONDS
//
// All requests are of one operation and size. Prints JSON: the requests that were answered, and the seconds.
// Units: bytes. Threads: one.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWarmup = std::chrono::milliseconds(100);
constexpr std::size_t kReadBytes = 256 * 1024;

struct Options {
    sockaddr_in server{};
    unsigned connections = 1;
    bool set = false;
    std::size_t bytes = 0;
    double seconds = 1;
};

struct Connection {
    int socket = -1;
    std::size_t to_send = 0;     ///< bytes of the outstanding request
    std::size_t to_receive = 0;  ///< bytes of its response
    bool blocked = false;        ///< the socket has no room to send
};

class Load {
  public:
    explicit Load(const Options& options)
        : options_(options), poll_(epoll_create1(0)), buffer_(kReadBytes), connections_(options.connections) {
        const std::string key = "key-" + std::to_string(options.bytes);
        const std::string size = std::to_string(options.bytes);
        const std::string value(options.bytes, 'v');
        store_ = "set " + key + " 0 0 " + size + "\r\n" + value + "\r\n";
        request_ = options.set ? store_ : "get " + key + "\r\n";
        response_bytes_ = options.set
                              ? kStored.size()
                              : ("VALUE " + key + " 0 " + size + "\r\n" + value + "\r\nEND\r\n").size();
        for (std::size_t i = 0; i < connections_.size(); ++i)
            open(i);
        store(connections_[0].socket);
        for (Connection& each : connections_)
            if (fcntl(each.socket, F_SETFL, O_NONBLOCK) != 0)
                throw std::runtime_error("no non-blocking sockets");
    }

    void run() {
        for (std::size_t i = 0; i < connections_.size(); ++i)
            request(i);
        serve_until(Clock::now() + kWarmup);
        answered_ = 0;
        const Clock::time_point begin = Clock::now();
        serve_until(begin + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(options_.seconds)));
        const std::chrono::duration<double> spent = Clock::now() - begin;
        std::printf("{\"answered\": %zu, \"seconds\": %.6f}\n", answered_, spent.count());
    }

  private:
    static constexpr std::string_view kStored = "STORED\r\n";

    void open(std::size_t index) {
        const int made = ::socket(AF_INET, SOCK_STREAM, 0);
        const int one = 1;
        if (made < 0 || setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
            connect(made, reinterpret_cast<const sockaddr*>(&options_.server), sizeof options_.server) != 0)
            throw std::runtime_error("cannot connect: memcached must listen at ADDRESS and PORT");
        connections_[index].socket = made;
        epoll_event wanted{.events = EPOLLIN, .data = {.u64 = index}};
        epoll_ctl(poll_, EPOLL_CTL_ADD, made, &wanted);
    }

    /// Stores the value that GETs return.
    void store(int socket) {
        for (std::size_t sent = 0; sent < store_.size();) {
            const ssize_t bytes = send(socket, store_.data() + sent, store_.size() - sent, MSG_NOSIGNAL);
            if (bytes <= 0)
                throw std::runtime_error("the connection was closed");
            sent += static_cast<std::size_t>(bytes);
        }
        std::array<char, kStored.size()> response{};
        if (recv(socket, response.data(), response.size(), MSG_WAITALL) !=
                static_cast<ssize_t>(response.size()) ||
            std::string_view(response.data(), response.size()) != kStored)
            throw std::runtime_error("memcached did not store the value");
    }

    void request(std::size_t index) {
        connections_[index].to_send = request_.size();
        connections_[index].to_receive = response_bytes_;
        send_rest(index);
    }

    /// Sends as much of the outstanding request as the socket has room for.
    void send_rest(std::size_t index) {
        Connection& connection = connections_[index];
        while (connection.to_send > 0) {
            const ssize_t bytes =
                send(connection.socket, request_.data() + request_.size() - connection.to_send,
                     connection.to_send, MSG_NOSIGNAL);
            if (bytes < 0 && errno == EAGAIN)
                break;
            if (bytes <= 0)
                throw std::runtime_error("a connection was closed");
            connection.to_send -= static_cast<std::size_t>(bytes);
        }
        const bool blocked = connection.to_send > 0;
        if (blocked != connection.blocked) {
            connection.blocked = blocked;
            epoll_event wanted{.events = EPOLLIN, .data = {.u64 = index}};
            wanted.events |= blocked ? EPOLLOUT : 0U;
            epoll_ctl(poll_, EPOLL_CTL_MOD, connection.socket, &wanted);
        }
    }

    void receive(std::size_t index) {
        Connection& connection = connections_[index];
        const ssize_t bytes = recv(connection.socket, buffer_.data(), buffer_.size(), 0);
        if (bytes < 0 && errno == EAGAIN)
            return;
        if (bytes <= 0 || static_cast<std::size_t>(bytes) > connection.to_receive)
            throw std::runtime_error("a response of another length, or none");
        connection.to_receive -= static_cast<std::size_t>(bytes);
        if (connection.to_receive > 0)
            return;
        ++answered_;
        request(index);
    }

    void serve_until(Clock::time_point end) {
        std::array<epoll_event, 64> events{};
        while (Clock::now() < end) {
            const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 10);
            for (int i = 0; i < count; ++i) {
                const epoll_event& event = events[static_cast<std::size_t>(i)];
                if ((event.events & EPOLLOUT) != 0)
                    send_rest(event.data.u64);
                if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                    receive(event.data.u64);
            }
        }
    }

    Options options_;
    int poll_;
    std::vector<char> buffer_;
    std::vector<Connection> connections_;
    std::string store_;
    std::string request_;
    std::size_t response_bytes_ = 0;
    std::size_t answered_ = 0;
};

Options parse(char** words) {
    Options options;
    options.server.sin_family = AF_INET;
    options.server.sin_port = htons(static_cast<std::uint16_t>(std::strtoul(words[2], nullptr, 10)));
    options.connections = static_cast<unsigned>(std::strtoul(words[3], nullptr, 10));
    options.set = std::string_view(words[4]) == "set";
    options.bytes = std::strtoul(words[5], nullptr, 10);
    options.seconds = std::strtod(words[6], nullptr);
    if (inet_pton(AF_INET, words[1], &options.server.sin_addr) != 1 || options.connections == 0 ||
        options.seconds <= 0 || (!options.set && std::string_view(words[4]) != "get"))
        throw std::runtime_error(
            "ADDRESS is IPv4, CONNECTIONS and SECONDS are above 0, and it is get or set");
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: kv-load ADDRESS PORT CONNECTIONS get|set BYTES SECONDS\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        Load(parse(argv)).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kv-load: %s\n", error.what());
        return 1;
    }
}
