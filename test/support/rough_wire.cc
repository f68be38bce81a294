// rough_wire.cc - a bad wire between two interfaces: `rough-wire ONE OTHER LOST LATE SEED` passes frames both
// ways, loses LOST of 10,000 and lets LATE of 10,000 wait until some others have passed, or 2 ms, so that
// they come out of order. On SIGTERM it prints its counts as JSON. The kernel of a test machine may have no
// netem.
// Units: frames; ns. Threads: one.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kFrameBytes = 65'536 + 64;  // a super-frame of a kernel that cuts no segments
constexpr int kSocketBytes = 8 << 20;
constexpr unsigned kOvertakers = 20;  // at most
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr int kIgnoreOutgoing = 23;  // PACKET_IGNORE_OUTGOING

volatile std::sig_atomic_t ended = 0;

int open_interface(const char* name) {
    const int line = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(name));
    const int one = 1;
    if (line < 0 || address.sll_ifindex == 0 ||
        setsockopt(line, SOL_PACKET, kIgnoreOutgoing, &one, sizeof one) != 0 ||
        setsockopt(line, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0 ||
        setsockopt(line, SOL_SOCKET, SO_SNDBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0 ||
        bind(line, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error(std::string("cannot open interface ") + name + ": " + std::strerror(errno));
    return line;
}

struct Counts {
    unsigned long long passed = 0;
    unsigned long long lost = 0;
    unsigned long long late = 0;
    unsigned long long refused = 0;  // the interface would not take them
};

/// One way.
class Way {
  public:
    Way(int from, int to, unsigned lost, unsigned late, std::uint64_t seed)
        : from_(from), to_(to), lost_(lost), late_(late), random_(seed), room_(kFrameBytes) {}

    void pass() {
        for (std::size_t i = 0; i < kBurst; ++i) {
            const ssize_t bytes = recv(from_, room_.data(), room_.size(), 0);
            if (bytes <= 0)
                break;
            take({room_.data(), static_cast<std::size_t>(bytes)});
        }
        const Clock::time_point now = Clock::now();
        while (!waiting_.empty() &&
               (waiting_.front().others <= passed_here_ || waiting_.front().until <= now))
            release();
    }
    [[nodiscard]] bool waits() const { return !waiting_.empty(); }
    [[nodiscard]] int from() const { return from_; }

    Counts counts;

  private:
    struct Frame {
        const char* data;
        std::size_t bytes;
    };
    struct Waiting {
        std::string frame;
        std::uint64_t others;  ///< number of passed frames at which this one is sent
        Clock::time_point until;
    };

    void take(Frame frame) {
        const std::uint64_t drawn = random_() % 10'000;
        if (drawn < lost_) {
            ++counts.lost;
        } else if (drawn < lost_ + late_) {
            ++counts.late;
            waiting_.push_back({std::string(frame.data, frame.bytes),
                                passed_here_ + 1 + random_() % kOvertakers, Clock::now() + kPatience});
        } else {
            give(frame);
        }
    }
    void release() {
        give({waiting_.front().frame.data(), waiting_.front().frame.size()});
        waiting_.pop_front();
    }
    void give(Frame frame) {
        ++passed_here_;
        const bool taken = send(to_, frame.data, frame.bytes, 0) == static_cast<ssize_t>(frame.bytes);
        ++(taken ? counts.passed : counts.refused);
    }

    int from_;
    int to_;
    unsigned lost_;
    unsigned late_;
    std::mt19937_64 random_;
    std::vector<char> room_;
    std::deque<Waiting> waiting_;
    std::uint64_t passed_here_ = 0;
};

void print(const char* name, const Counts& counts) {
    std::printf(R"("%s": {"passed": %llu, "lost": %llu, "late": %llu, "refused": %llu})", name, counts.passed,
                counts.lost, counts.late, counts.refused);
}

int run(char** words) {
    const auto lost = static_cast<unsigned>(std::strtoul(words[3], nullptr, 10));
    const auto late = static_cast<unsigned>(std::strtoul(words[4], nullptr, 10));
    const std::uint64_t seed = std::strtoull(words[5], nullptr, 10);
    const int one = open_interface(words[1]);
    const int other = open_interface(words[2]);
    std::array<Way, 2> ways{Way(one, other, lost, late, seed), Way(other, one, lost, late, seed + 1)};
    std::signal(SIGTERM, [](int) { ended = 1; });
    prctl(PR_SET_TIMERSLACK, 1UL);
    std::printf("ready\n");
    std::fflush(stdout);
    while (ended == 0) {
        std::array<pollfd, 2> wanted{pollfd{one, POLLIN, 0}, pollfd{other, POLLIN, 0}};
        poll(wanted.data(), wanted.size(), ways[0].waits() || ways[1].waits() ? 1 : 100);
        for (Way& way : ways)
            way.pass();
    }
    std::printf("{");
    print("there", ways[0].counts);
    std::printf(", ");
    print("back", ways[1].counts);
    std::printf("}\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: rough-wire ONE OTHER LOST LATE SEED, the middle two in 10,000\n");
        return 2;
    }
    try {
        return run(argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rough-wire: %s\n", error.what());
        return 1;
    }
}
