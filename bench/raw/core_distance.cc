// core_distance.cc - nanoseconds of a cache line's round trip between two cores, the least of three tries.
//
//   core-distance CORE CORE
//
// Some 100 ns where the two cores share a cache, several times as much where they do not; a hypervisor moves
// virtual cores from one case to the other. Threads: one on each core, scheduled before all others
// (SCHED_FIFO, root).
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <semaphore>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPriority = 90;
constexpr unsigned kTries = 3;
constexpr unsigned kRounds = 2000;

struct alignas(128) Line {
    std::atomic<unsigned> turns{0};  ///< odd: the other core is to write
};

/// Moves this thread to a core, with real-time priority; ends the program when that fails.
void settle_on(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<unsigned>(core), &cores);
    const sched_param first{.sched_priority = kPriority};
    if (sched_setaffinity(0, sizeof cores, &cores) != 0 || sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
        std::fprintf(stderr, "core-distance: core %d: %s; run as root, with an existing core\n", core,
                     std::strerror(errno));
        std::_Exit(1);
    }
}

void answer(Line& line, unsigned turns) {
    for (unsigned turn = 1; turn < turns; turn += 2) {
        while (line.turns.load(std::memory_order_acquire) != turn) {
        }
        line.turns.store(turn + 1, std::memory_order_release);
    }
}

double ask(Line& line, unsigned first) {
    const Clock::time_point began = Clock::now();
    for (unsigned turn = first; turn < first + 2 * kRounds; turn += 2) {
        line.turns.store(turn + 1, std::memory_order_release);
        while (line.turns.load(std::memory_order_acquire) != turn + 2) {
        }
    }
    return std::chrono::duration<double, std::nano>(Clock::now() - began).count() / kRounds;
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) {
        std::fputs("usage: core-distance CORE CORE\n", stderr);
        return 2;
    }
    const int here = std::atoi(words[1]);
    const int there = std::atoi(words[2]);
    if (here == there) {
        std::fputs("core-distance: the two cores must differ\n", stderr);
        return 2;
    }
    // Both threads have real-time priority before either spins: a thread behind a spinning one in its
    // core's queue waits for as long as the kernel lets real-time threads run.
    settle_on(there);
    Line line;
    std::binary_semaphore settled{0};
    double least = std::numeric_limits<double>::max();
    std::thread asker([&] {
        settle_on(here);
        settled.release();
        for (unsigned at = 0; at < kTries; ++at)
            least = std::min(least, ask(line, at * 2 * kRounds));
    });
    settled.acquire();
    answer(line, kTries * 2 * kRounds);
    asker.join();
    std::printf("%.0f\n", least);
}
