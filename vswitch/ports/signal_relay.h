// signal_relay.h - interrupts drivers of guests on a thread of its own, where a signal may take long.
// Source: docs/algorithms.md 3.19. Units: rings. Threads: signal() by the line's worker or its control
// thread; add(), remove() and forget() by any that no worker waits for; a thread of its own signals.
//
// A line has a bit for each ring whose driver is to be interrupted; several signals before the thread comes
// to it are one, as they are for the driver. The thread takes one bit at a time, so that forget() waits for
// one signal at most.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "vswitch/base/limits.h"
#include "vswitch/ports/notifier.h"
#include "vswitch/ports/wakeups.h"

namespace weir {

class SignalRelay {
  public:
    /// The rings that one worker has of a guest.
    class Line {
      private:
        friend SignalRelay;
        std::atomic<std::uint32_t> wanted_{0};  ///< bit n: of ring n
        std::array<std::atomic<int>, 2 * limits::kQueuesMax> files_{};
    };

    SignalRelay();
    ~SignalRelay();
    SignalRelay(const SignalRelay&) = delete;
    SignalRelay& operator=(const SignalRelay&) = delete;

    /// @param line outlives remove()
    void add(Line& line);
    void remove(Line& line);
    /// @param ring below 2 * limits::kQueuesMax  @param file an eventfd, open until forget()
    void signal(Line& line, std::uint16_t ring, int file);
    /// Signals of the line that were not made yet are not made any more.
    void forget(Line& line);

  private:
    void run();
    bool signal_one(Line& line);

    Notifier notifier_;
    Wakeups wakeups_;
    std::mutex mutex_;
    std::vector<Line*> lines_;
    std::atomic<const Line*> at_{nullptr};  // of the signal that is being made
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace weir
