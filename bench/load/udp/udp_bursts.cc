// udp_bursts.cc - a sender of UDP in bursts, until it is ended.
//
//   udp-bursts ADDRESS BITS_PER_SECOND ON_MS OFF_MS
//
// The rate is that of a burst, in bits on the wire. Packets that a busy machine delays by more than 20 ms are
// left out, not sent later. Threads: one.
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint16_t kDiscard = 9;
constexpr std::size_t kPayload = 1472;                           ///< fills an Ethernet frame
constexpr double kWireBits = 8 * (kPayload + 8 + 20 + 14 + 24);  ///< UDP, IP, Ethernet; FCS, preamble and gap
constexpr std::size_t kBatch = 64;
constexpr auto kSleep = 250us;
constexpr auto kLateMax = 20ms;

int connected_socket(const char* address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kDiscard);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        throw std::runtime_error("ADDRESS is not an IPv4 address");
    const int made = socket(AF_INET, SOCK_DGRAM, 0);
    if (made < 0 || connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        throw std::runtime_error("cannot open a socket: there must be a route to ADDRESS");
    return made;
}

/// Gives packets to the kernel; those that it refuses are lost, as on any full interface.
void send_packets(int udp, std::size_t count) {
    static std::array<char, kPayload> payload{};
    static std::array<iovec, kBatch> parts = [] {
        std::array<iovec, kBatch> made{};
        made.fill({payload.data(), payload.size()});
        return made;
    }();
    static std::array<mmsghdr, kBatch> messages = [] {
        std::array<mmsghdr, kBatch> made{};
        for (std::size_t i = 0; i < kBatch; ++i) {
            made[i].msg_hdr.msg_iov = &parts[i];
            made[i].msg_hdr.msg_iovlen = 1;
        }
        return made;
    }();
    for (; count > 0; count -= std::min(count, kBatch))
        (void)sendmmsg(udp, messages.data(), static_cast<unsigned>(std::min(count, kBatch)), MSG_DONTWAIT);
}

void burst(int udp, Clock::time_point end, Clock::duration gap) {
    auto due = Clock::now();
    for (auto now = due; now < end; now = Clock::now()) {
        due = std::max(due, now - kLateMax);
        const auto count = (now - due) / gap;
        send_packets(udp, static_cast<std::size_t>(count));
        due += count * gap;
        std::this_thread::sleep_for(kSleep);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 5)
        throw std::runtime_error("expected ADDRESS BITS_PER_SECOND ON_MS OFF_MS");
    const double rate = std::atof(argv[2]);
    if (rate < kWireBits)
        throw std::runtime_error("BITS_PER_SECOND is below one packet a second");
    const std::chrono::milliseconds on(std::atoi(argv[3]));
    const std::chrono::milliseconds off(std::atoi(argv[4]));
    const auto gap =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kWireBits / rate));
    const int udp = connected_socket(argv[1]);
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (auto next = Clock::now();; next += on + off) {
        std::this_thread::sleep_until(next);
        burst(udp, next + on, gap);
    }
} catch (const std::exception& problem) {
    std::fprintf(stderr, "udp-bursts: %s\n", problem.what());
    return 2;
}
