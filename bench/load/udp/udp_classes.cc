// udp_classes.cc - cycles that the kernel takes to send a UDP packet, where packets go through the classes of
// a queueing discipline in turn.
//
//   udp-classes ADDRESS CLASSES MILLISECONDS
//
// Each class has a socket whose priority is the class's id (1:10, 1:11 .. in tc's hexadecimal), which HTB
// reads without a filter. Prints cycles per packet. Units: TSC cycles. Threads: one; pin it.
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "bench/micro/cycles.h"

namespace {

constexpr std::uint32_t kFirstClass = 1 << 16 | 0x10;
constexpr std::uint16_t kDiscard = 9;
constexpr unsigned kBatch = 1024;  ///< packets between two readings of the clock

std::vector<int> open_sockets(const char* address, std::uint32_t classes) {
    const rlimit files{classes + 64, classes + 64};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        throw std::runtime_error("cannot open a socket for each class: start as root");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kDiscard);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        throw std::runtime_error("ADDRESS is not an IPv4 address");
    std::vector<int> sockets(classes);
    for (std::uint32_t i = 0; i < classes; ++i) {
        const std::uint32_t priority = kFirstClass + i;
        sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (sockets[i] < 0 ||
            setsockopt(sockets[i], SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority) != 0 ||
            connect(sockets[i], reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("cannot open a socket for each class: there must be a route to ADDRESS");
    }
    return sockets;
}

double cycles_per_packet(const std::vector<int>& sockets, std::chrono::milliseconds duration) {
    constexpr std::array<char, 64> kPayload{};
    const auto end = std::chrono::steady_clock::now() + duration;
    const std::uint64_t began = weir::bench::cycles();
    std::uint64_t packets = 0;
    std::size_t next = 0;
    do {
        for (unsigned i = 0; i < kBatch; ++i) {
            packets += send(sockets[next], kPayload.data(), kPayload.size(), MSG_DONTWAIT) > 0;
            next = next + 1 < sockets.size() ? next + 1 : 0;
        }
    } while (std::chrono::steady_clock::now() < end);
    if (packets == 0)
        throw std::runtime_error("no packet was sent");
    return static_cast<double>(weir::bench::cycles() - began) / static_cast<double>(packets);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4)
        throw std::runtime_error("expected ADDRESS CLASSES MILLISECONDS");
    const auto classes = static_cast<std::uint32_t>(std::clamp(std::atoi(argv[2]), 1, 60'000));
    const std::vector<int> sockets = open_sockets(argv[1], classes);
    const std::chrono::milliseconds duration(std::atoi(argv[3]));
    (void)cycles_per_packet(sockets, duration / 4);  // caches
    std::printf("%.1f\n", cycles_per_packet(sockets, duration));
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "udp-classes: %s\n", problem.what());
    return 2;
}
