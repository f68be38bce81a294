// wake_delay.cc - us until a thread that sleeps on an eventfd runs again: the median of 50 wake-ups, each
// after 50 ms of sleep.
//
//   wake-delay CORE CORE
//
// The lower bound of a sleeping switch's first packet. Under a hypervisor it is mostly the time in which that
// gives the sleeper's core back. Threads: the sleeper on the first core, the waker, which polls, on the
// second.
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kWakeUps = 50;

void settle_on(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<unsigned>(core), &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) == 0)
        return;
    std::fprintf(stderr, "wake-delay: core %d: %s\n", core, std::strerror(errno));
    std::_Exit(1);
}

void wait_busily(Clock::duration span) {
    for (const Clock::time_point end = Clock::now() + span; Clock::now() < end;) {
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) {
        std::fputs("usage: wake-delay CORE CORE\n", stderr);
        return 2;
    }
    const int file = eventfd(0, 0);
    std::atomic<std::size_t> woken{0};
    std::thread sleeper([&] {
        settle_on(std::atoi(words[1]));
        for (std::size_t i = 0; i < kWakeUps; ++i) {
            eventfd_t ignored = 0;
            eventfd_read(file, &ignored);
            woken.store(i + 1, std::memory_order_release);
        }
    });
    settle_on(std::atoi(words[2]));
    std::array<double, kWakeUps> delays{};
    for (std::size_t i = 0; i < kWakeUps; ++i) {
        wait_busily(50ms);
        const Clock::time_point begin = Clock::now();
        eventfd_write(file, 1);
        while (woken.load(std::memory_order_acquire) != i + 1) {
        }
        delays[i] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    sleeper.join();
    std::ranges::nth_element(delays, delays.begin() + kWakeUps / 2);
    std::printf("%.2f\n", delays[kWakeUps / 2]);
}
