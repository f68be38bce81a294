// set_load.cc - clients of memcached in an open loop: SETs at random times (Poisson), each on a random
// connection.
//
//   set-load ADDRESS PORT CONNECTIONS PER_SECOND BYTES SECONDS SEED
//
// A request is due whether or not earlier ones were answered, and its latency begins when it is due, so that
// the wait behind a slow response counts in full. A connection has one outstanding request; further ones
// queue in this program. Prints JSON with every latency. Units: us in the output, ns inside. Threads: one.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;
using namespace std::chrono_literals;

constexpr auto kWarmup = 1s;    ///< not counted: TCP opens its congestion windows
constexpr auto kPatience = 5s;  ///< after the last request
constexpr unsigned kKeys = 1000;
constexpr std::string_view kStored = "STORED\r\n";

struct Options {
    sockaddr_in server{};
    unsigned connections;
    double per_second;
    std::size_t bytes;
    std::chrono::seconds seconds;
    std::uint64_t seed;
};

struct Connection {
    int socket = -1;
    std::deque<Moment> due;    ///< of unanswered requests; the first is outstanding, the others are not sent
    std::size_t received = 0;  ///< bytes of the outstanding request's response
};

class Load {
  public:
    explicit Load(const Options& options)
        : options_(options),
          poll_(epoll_create1(0)),
          connections_(options.connections),
          value_(options.bytes, 'v'),
          random_(options.seed) {
        for (std::size_t i = 0; i < connections_.size(); ++i)
            open(i);
    }

    void run() {
        first_ = Clock::now() + kWarmup;
        const Moment end = first_ + options_.seconds;
        for (Moment due = Clock::now() + next_gap(); due < end; due += next_gap()) {
            receive_until(due);
            enqueue(due);
        }
        answered_in_time_ = latencies_.size();
        const Moment patience = Clock::now() + kPatience;
        while (unanswered_ > 0 && Clock::now() < patience)
            receive_for(patience - Clock::now());
    }

    void print() {
        const Moment now = Clock::now();
        std::size_t unanswered = 0;
        std::uint64_t resent = 0;
        for (const Connection& each : connections_) {
            for (const Moment due : each.due) {
                record(latencies_, due, now);
                unanswered += due >= first_;
            }
            resent += resent_by(each.socket);
        }
        std::printf(R"({"unanswered": %zu, "answered_in_time": %zu, "resent": %llu, )", unanswered,
                    answered_in_time_, static_cast<unsigned long long>(resent));
        print_list("latencies_us", latencies_);
        std::printf(", ");
        print_list("late_us", late_);
        std::printf("}\n");
    }

  private:
    void open(std::size_t index) {
        const int made = ::socket(AF_INET, SOCK_STREAM, 0);
        const int one = 1;
        // A whole request fits into the socket's buffer, so that one call sends it.
        const int buffer_bytes = static_cast<int>(2 * options_.bytes + 4096);
        if (made < 0 || setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
            setsockopt(made, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes) != 0 ||
            connect(made, reinterpret_cast<const sockaddr*>(&options_.server), sizeof options_.server) != 0 ||
            fcntl(made, F_SETFL, O_NONBLOCK) != 0)
            throw std::runtime_error("cannot connect: memcached must listen at ADDRESS and PORT");
        epoll_event wanted{.events = EPOLLIN, .data = {.u64 = index}};
        epoll_ctl(poll_, EPOLL_CTL_ADD, made, &wanted);
        connections_[index].socket = made;
    }

    Clock::duration next_gap() {
        const std::chrono::duration<double> drawn(-std::log1p(-share_(random_)) / options_.per_second);
        return std::chrono::duration_cast<Clock::duration>(drawn);
    }

    void enqueue(Moment due) {
        Connection& chosen = connections_[random_() % connections_.size()];
        chosen.due.push_back(due);
        ++unanswered_;
        if (chosen.due.size() == 1) {
            send_first(chosen);
            record(late_, due, Clock::now());
        }
    }

    void send_first(Connection& to) {
        std::array<char, 96> head{};
        const int length = std::snprintf(head.data(), head.size(), "set key-%028u 0 0 %zu\r\n",
                                         sent_++ % kKeys, value_.size());
        request_.assign(head.data(), static_cast<std::size_t>(length)).append(value_).append("\r\n");
        if (send(to.socket, request_.data(), request_.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request_.size()))
            throw std::runtime_error(
                "a connection did not take a whole request: it was closed, or BYTES is too large");
        to.received = 0;
    }

    void receive_until(Moment due) {
        for (Moment now = Clock::now(); now < due; now = Clock::now())
            receive_for(due - now);
    }

    /// Waits for responses, at most `most`, and takes those that are there.
    void receive_for(Clock::duration most) {
        const auto nanos = std::max<std::int64_t>(0, std::chrono::nanoseconds(most).count());
        const timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
        std::array<epoll_event, 32> events{};
        const int count =
            epoll_pwait2(poll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
        for (int i = 0; i < count; ++i)
            receive(connections_[events[static_cast<std::size_t>(i)].data.u64]);
    }

    void receive(Connection& from) {
        std::array<char, 256> bytes{};
        const ssize_t size = recv(from.socket, bytes.data(), bytes.size(), 0);
        if (size < 0)
            return;  // a false alarm of epoll
        const std::string_view text(bytes.data(), static_cast<std::size_t>(size));
        if (size == 0 || from.due.empty() || kStored.substr(from.received, text.size()) != text)
            throw std::runtime_error("memcached answered '" + std::string(text) + "' instead of STORED");
        from.received += text.size();
        if (from.received < kStored.size())
            return;
        record(latencies_, from.due.front(), Clock::now());
        from.due.pop_front();
        --unanswered_;
        if (!from.due.empty())
            send_first(from);
    }

    /// Segments that the kernel sent again.
    static std::uint64_t resent_by(int socket) {
        tcp_info info{};
        socklen_t size = sizeof info;
        return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_total_retrans : 0;
    }

    void record(std::vector<double>& list, Moment due, Moment now) const {
        if (due >= first_)
            list.push_back(std::chrono::duration<double, std::micro>(now - due).count());
    }

    static void print_list(const char* name, const std::vector<double>& list) {
        std::printf("\"%s\": [", name);
        for (std::size_t i = 0; i < list.size(); ++i)
            std::printf(i ? ",%.1f" : "%.1f", list[i]);
        std::printf("]");
    }

    Options options_;
    int poll_;
    std::vector<Connection> connections_;
    std::string value_;
    std::string request_;
    std::mt19937_64 random_;
    std::uniform_real_distribution<double> share_;
    Moment first_;
    unsigned sent_ = 0;
    std::size_t unanswered_ = 0;
    std::size_t answered_in_time_ = 0;  ///< before the last request was due
    std::vector<double> latencies_;
    std::vector<double> late_;  ///< us from due to sent, of requests on idle connections
};

Options parse(char** words) {
    Options options{};
    options.server.sin_family = AF_INET;
    options.server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(words[2])));
    options.connections = static_cast<unsigned>(std::atoi(words[3]));
    options.per_second = std::atof(words[4]);
    options.bytes = static_cast<std::size_t>(std::atoi(words[5]));
    options.seconds = std::chrono::seconds(std::atoi(words[6]));
    options.seed = static_cast<std::uint64_t>(std::atoll(words[7]));
    if (inet_pton(AF_INET, words[1], &options.server.sin_addr) != 1)
        throw std::runtime_error("ADDRESS is not an IPv4 address");
    if (options.connections == 0 || options.connections > 1000 || options.per_second <= 0)
        throw std::runtime_error("CONNECTIONS is allowed 1..1000, PER_SECOND above 0");
    return options;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 8)
        throw std::runtime_error("expected ADDRESS PORT CONNECTIONS PER_SECOND BYTES SECONDS SEED");
    prctl(PR_SET_TIMERSLACK, 1UL);
    Load load(parse(argv));
    load.run();
    load.print();
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "set-load: %s\n", problem.what());
    return 2;
}
