// wakeups.h - the events that end a worker's sleep: guests' kicks, a device's interrupts, other threads.
// Source: epoll(7); docs/algorithms.md 3.15. Units: ns. Threads: lie_down(), sleep() and get_up() by the
// worker; the rest by any thread.
//
// A worker says that it lies down, then looks once more at everything that gives it work, and sleeps when
// there is nothing. Another thread first makes the work visible, then calls ring(). Either the look finds the
// work, or ring() finds that the worker lies down; a fence on each side keeps the two steps in order.
//
// Files are watched for edges and never read: a guest's eventfd is shared with its front-end, which may make
// a read of it wait. Each kick is an edge, also when the counter was not 0 before.
#pragma once

#include <atomic>

#include "common/clock.h"

namespace weir {

class Wakeups {
  public:
    /// @throws HostError when the process has no file left
    Wakeups();
    ~Wakeups();
    Wakeups(const Wakeups&) = delete;
    Wakeups& operator=(const Wakeups&) = delete;

    /// An event of the file ends the sleep, until remove(). Adding it again is an event by itself.
    /// @return false when the kernel does not watch the file
    bool add(int file);
    void remove(int file);

    /// Ends the sleep, if the worker sleeps or is about to.
    void ring() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (lies_down_.load(std::memory_order_relaxed)) [[unlikely]]
            signal();
    }

    void lie_down() {
        lies_down_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    /// Returns at the first event since lie_down() or of a file, and after `most` at the latest.
    /// @return whether there was an event
    bool sleep(Nanos most);
    void get_up() { lies_down_.store(false, std::memory_order_relaxed); }

  private:
    void signal();

    int epoll_;
    int bell_;  // eventfd
    alignas(64) std::atomic<bool> lies_down_{false};
};

}  // namespace weir
