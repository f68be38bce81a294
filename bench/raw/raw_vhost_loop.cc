// raw_vhost_loop.cc - the lower bound of every vhost switch: dequeue from one vhost-user socket, enqueue to
// the other.
//
//   raw-vhost-loop EAL... -- server|client SOCKET_A SOCKET_B
//
// Prints {"event":"listening"} when the sockets exist and {"event":"ready"} when both peers have connected,
// then answers every line on standard input with its totals as JSON: busy cycles (TSC cycles of iterations
// that moved packets), packets, bursts. Threads: main reads and prints, the first worker lcore polls, DPDK's
// own vhost thread calls back.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_vhost.h>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace {

constexpr std::uint16_t kBurst = 32;
constexpr std::uint16_t kRxQueue = 0;  // the guest's: it receives from vring 0
constexpr std::uint16_t kTxQueue = 1;
constexpr unsigned kBuffers = 4095;
constexpr unsigned kPoolCache = 256;
constexpr int kGone = -1;

/// Written by the polling core, read by main.
struct Totals {
    std::atomic<std::uint64_t> busy_cycles{0};
    std::atomic<std::uint64_t> idle_cycles{0};
    std::atomic<std::uint64_t> packets{0};
    std::atomic<std::uint64_t> bursts{0};
    std::atomic<std::uint64_t> lost{0};
};

struct Loop {
    std::array<std::string, 2> paths;
    std::array<std::atomic<int>, 2> devices{kGone, kGone};
    std::atomic<std::uint64_t> iterations{0};
    std::atomic<bool> stop{false};
    rte_mempool* pool = nullptr;
    Totals totals;
};

Loop loop;  // global, because vhost callbacks carry no context

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

std::uint16_t move(int from, int to) {
    rte_mbuf* packets[kBurst];
    const std::uint16_t count = rte_vhost_dequeue_burst(from, kTxQueue, loop.pool, packets, kBurst);
    if (count != 0) {
        const std::uint16_t sent = rte_vhost_enqueue_burst(to, kRxQueue, packets, count);
        rte_pktmbuf_free_bulk(packets, count);
        add(loop.totals.packets, count);
        add(loop.totals.bursts, 1);
        add(loop.totals.lost, static_cast<std::uint64_t>(count - sent));
    }
    return count;
}

int poll(void*) {
    std::uint64_t then = rte_rdtsc();
    while (!loop.stop.load(std::memory_order_relaxed)) {
        const int a = loop.devices[0].load(std::memory_order_acquire);
        const int b = loop.devices[1].load(std::memory_order_acquire);
        const bool moved = a != kGone && b != kGone && move(a, b) + move(b, a) != 0;
        const std::uint64_t now = rte_rdtsc();
        add(moved ? loop.totals.busy_cycles : loop.totals.idle_cycles, now - then);
        then = now;
        loop.iterations.store(loop.iterations.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    return 0;
}

void set_device(int vid, int value) {
    char path[PATH_MAX];
    rte_vhost_get_ifname(vid, path, sizeof path);
    for (std::size_t i = 0; i < loop.paths.size(); ++i)
        if (loop.paths[i] == path)
            loop.devices[i].store(value, std::memory_order_release);
}

int on_new(int vid) {
    rte_vhost_enable_guest_notification(vid, kRxQueue, 0);
    rte_vhost_enable_guest_notification(vid, kTxQueue, 0);
    set_device(vid, vid);
    return 0;
}

/// Waits until two more iterations have begun: none that runs then can have read the device's id before.
void on_destroy(int vid) {
    set_device(vid, kGone);
    const auto seen = loop.iterations.load(std::memory_order_acquire);
    while (loop.iterations.load(std::memory_order_acquire) < seen + 2 && !loop.stop.load())
        rte_pause();
}

bool open_sockets(bool client) {
    static const rte_vhost_device_ops callbacks = [] {
        rte_vhost_device_ops ops{};
        ops.new_device = on_new;
        ops.destroy_device = on_destroy;
        return ops;
    }();
    const std::uint64_t flags = RTE_VHOST_USER_NET_COMPLIANT_OL_FLAGS | (client ? RTE_VHOST_USER_CLIENT : 0);
    for (const auto& path : loop.paths) {
        if (rte_vhost_driver_register(path.c_str(), flags) != 0 ||
            rte_vhost_driver_callback_register(path.c_str(), &callbacks) != 0 ||
            rte_vhost_driver_start(path.c_str()) != 0) {
            std::cerr << "raw-vhost-loop: " << path << ": cannot register\n";
            return false;
        }
    }
    return true;
}

void print_totals() {
    const auto& totals = loop.totals;
    const std::uint64_t packets = totals.packets.load();
    const std::uint64_t bursts = totals.bursts.load();
    const auto per = [](std::uint64_t a, std::uint64_t b) {
        return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
    };
    std::cout << nlohmann::json{{"event", "totals"},
                                {"busy_cycles", totals.busy_cycles.load()},
                                {"idle_cycles", totals.idle_cycles.load()},
                                {"packets", packets},
                                {"bursts", bursts},
                                {"lost", totals.lost.load()},
                                {"cycles_per_packet", per(totals.busy_cycles.load(), packets)},
                                {"mean_burst", per(packets, bursts)}}
              << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    const int eal_args = rte_eal_init(argc, argv);
    if (eal_args < 0 || argc - eal_args != 4 || rte_get_next_lcore(~0U, 1, 0) == RTE_MAX_LCORE) {
        std::cerr << "usage: raw-vhost-loop EAL (with two lcores) -- server|client SOCKET_A SOCKET_B\n";
        return 2;
    }
    const bool client = std::string(argv[eal_args + 1]) == "client";
    loop.paths = {argv[eal_args + 2], argv[eal_args + 3]};
    loop.pool =
        rte_pktmbuf_pool_create("raw", kBuffers, kPoolCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (loop.pool == nullptr || rte_eal_remote_launch(poll, nullptr, rte_get_next_lcore(~0U, 1, 0)) != 0 ||
        !open_sockets(client)) {
        return 1;
    }
    std::cout << R"({"event":"listening"})" << std::endl;
    while (loop.devices[0].load() == kGone || loop.devices[1].load() == kGone)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::cout << R"({"event":"ready"})" << std::endl;
    for (std::string line; std::getline(std::cin, line);)
        print_totals();
    loop.stop.store(true);
    rte_eal_mp_wait_lcore();
    return rte_eal_cleanup() == 0 ? 0 : 1;
}
