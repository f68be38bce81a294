// guest_access.h - whose rings a worker is at, for the thread that looks whether it waits there.
// Source: docs/algorithms.md 3.20. Threads: enter() and leave() by the worker; the rest by any.
//
// A guest's memory is a file of its front-end, and the front-end may make an access to it wait in the kernel:
// the worker cannot see that before, and cannot do anything during it. So it notes where it goes.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

class Port;

/// One for each worker. A cache line of its own: another thread reads it up to 200 times a second.
class alignas(64) GuestAccess {
  public:
    void enter(const Port& port) {
        visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        at_.store(&port, std::memory_order_relaxed);
    }
    /// For one look between two visits, which costs a burst one store: it is at these rings until it enters
    /// or leaves others.
    void glance(const Port& port) { at_.store(&port, std::memory_order_relaxed); }
    /// How often it entered: the same number twice is one visit.
    [[nodiscard]] std::uint64_t visits() const { return visits_.load(std::memory_order_relaxed); }
    void leave() { at_.store(nullptr, std::memory_order_relaxed); }
    /// Null: it is at no guest's rings.
    [[nodiscard]] const Port* at() const { return at_.load(std::memory_order_relaxed); }
    /// From now on frames are under way whose payloads are left in this guest's memory; null: no longer.
    void lend(const Port* port) { lender_.store(port, std::memory_order_relaxed); }
    [[nodiscard]] const Port* lender() const { return lender_.load(std::memory_order_relaxed); }

    /// A turn of the poll loop took so many cycles. A page of 2 MiB that has to be cleared takes kLongTurn.
    void note_turn(std::uint64_t cycles) {
        if (cycles >= kLongTurn) [[unlikely]]
            long_turns_.fetch_add(1, std::memory_order_relaxed);
    }
    static constexpr std::uint64_t kLongTurn = 1 << 19;
    [[nodiscard]] std::uint64_t long_turns() const { return long_turns_.load(std::memory_order_relaxed); }

    /// The worker counts page faults from now on, or no longer.
    void measure(bool wanted) { measures_.store(wanted, std::memory_order_relaxed); }
    [[nodiscard]] bool measures() const { return measures_.load(std::memory_order_relaxed); }

    /// By the worker's thread, when it begins. 0 is no thread: it has ended.
    void set_thread(int id) { thread_.store(id, std::memory_order_relaxed); }
    [[nodiscard]] int thread() const { return thread_.load(std::memory_order_relaxed); }

  private:
    std::atomic<const Port*> at_{nullptr};
    std::atomic<const Port*> lender_{nullptr};
    std::atomic<std::uint64_t> visits_{0};
    std::atomic<std::uint64_t> long_turns_{0};
    std::atomic<bool> measures_{false};
    std::atomic<int> thread_{0};
};

}  // namespace weir
