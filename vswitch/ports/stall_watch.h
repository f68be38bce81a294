// stall_watch.h - a thread that looks whether others wait in guests' memory, and says which guest it was.
// Source: proc(5); docs/algorithms.md 3.20. Units: ns. Threads: a thread of its own looks, 50 times a second,
// 200 times when it has seen a sleep, and 20 times while all workers sleep; watch() and forget() by any that
// the callback does not wait for.
//
// A worker that sleeps in the kernel while it is at a guest's rings sleeps in that guest's memory: nothing
// else there sleeps. It is judged when the memory became smaller meanwhile: a lock that others hold is no
// one's. Where it copies from one guest's memory to another's either may be the one: the sender's payloads
// are then copied by themselves, and the next sleep has one cause. Pages that are cleared take no sleep, but
// page faults: when there are some and turns are long the worker itself counts them and their time in one of
// 32 bursts, for a second. The thread of the vhost library, which handles the messages of all front-ends, is
// looked at likewise, but for its faults: it maps the memory of honest guests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "vswitch/ports/guest_access.h"
#include "vswitch/ports/port.h"
#include "vswitch/ports/stall_score.h"

namespace weir {

class StallWatch {
  public:
    struct Gate {
        /// Bars the guest at a socket for a time. @param why in one line
        std::function<void(const std::string& socket, const std::string& why, Nanos time)> bar;
        /// Blocks that the guest's files of memory have now.
        std::function<std::uint64_t(const std::string& socket)> blocks;
    };

    /// @param workers, messages outlive this; `messages` is of the library's thread
    StallWatch(std::span<GuestAccess* const> workers, GuestAccess& messages, Gate gate);
    ~StallWatch();
    StallWatch(const StallWatch&) = delete;
    StallWatch& operator=(const StallWatch&) = delete;

    /// @param port outlives forget()
    void watch(Port& port, const std::string& socket);
    void forget(const Port& port);

  private:
    struct Worker {
        GuestAccess* access;
        bool is_worker = true;  ///< else the library's thread
        int thread = 0;
        std::optional<std::uint64_t> faults{};
        std::uint64_t long_turns = 0;
        Nanos measured_until = 0;
        Nanos rests_until = 0;     ///< not measured before
        Nanos costly_before = 0;   ///< costly_ when measuring began
        const Port* at = nullptr;  ///< of the visit that was under way at the last look
        std::uint64_t visit = 0;
        Nanos visit_time = 0;            ///< the thread's own time when it was seen first
        std::uint64_t visit_faults = 0;  ///< when it was seen twice
        bool visit_lasts = false;        ///< it was
    };
    struct Guest {
        Port* port;
        std::string socket;
        std::uint64_t fault_time = 0;  ///< at the last look
        std::uint64_t blocks = 0;      ///< of its memory, when a worker slept there last
        Nanos blocks_at = 0;
        Nanos shrank_at = 0;  ///< when they had become fewer; 0: never
    };

    void run();
    void look_at(Worker& worker, bool counts_faults, Nanos now);
    void measure(Worker& worker, Nanos now);
    void look_at_visit(Worker& worker, const Port* at, std::uint64_t visit, Nanos now);
    void look_at_sleep(const Port* at, const Port* lender, Nanos now);
    void look_at_faults(Nanos now);
    void judge(const std::string& socket, StallScore<std::string>::Kind kind, Nanos time, Nanos now);

    Gate gate_;
    std::vector<Worker> workers_;
    std::mutex mutex_;  // of the following
    std::map<const Port*, Guest> guests_;
    StallScore<std::string> score_;
    Nanos costly_ = 0;  ///< of all bursts with costly faults
    Nanos next_faults_ = 0;
    Nanos close_until_ = 0;  ///< looks follow each other closely
    Nanos period_ = 0;       ///< since the last look
    bool any_awake_ = true;
    bool stop_ = false;
    std::condition_variable stopped_;
    std::thread thread_;
};

}  // namespace weir
