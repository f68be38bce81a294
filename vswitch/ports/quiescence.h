// quiescence.h - wait of a control thread until no worker uses an object that it has unpublished.
// Source: DPDK RCU library guide.
// Threads: online, offline and checkpoint by the worker that owns the id; wait() by any control thread that
// holds no lock that a worker may wait for.
//
// A worker keeps no reference from one iteration to the next, and passes a checkpoint in each. A control
// thread unpublishes an object, calls wait(), which lasts one iteration of the slowest worker, and frees the
// object. A reference may be kept until changes(), read behind a checkpoint, is another: wait() counts up
// before it waits. A worker that sleeps is offline and sleeps on: it looks at the count when it wakes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/types.h"
#include "vswitch/ports/guest_access.h"
#include "vswitch/ports/wakeups.h"

struct rte_rcu_qsbr;

namespace weir {

class Quiescence {
  public:
    explicit Quiescence(unsigned workers);
    ~Quiescence();
    Quiescence(const Quiescence&) = delete;
    Quiescence& operator=(const Quiescence&) = delete;

    /// The worker may hold references from now on.
    void online(WorkerId worker);
    /// The worker holds no reference until online(): wait() does not wait for it.
    void offline(WorkerId worker);
    /// The worker holds no reference now; costs a few cycles, once per iteration.
    void checkpoint(WorkerId worker);
    /// Something new was published, or something else that workers have copied is another. Any thread.
    void changed();
    /// How often that, or wait(), was called.
    [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
    /// Returns when every online worker has passed a checkpoint since the call.
    void wait();
    /// At whose rings the worker is.
    [[nodiscard]] GuestAccess& access(WorkerId worker) { return *accesses_[worker]; }
    [[nodiscard]] std::vector<GuestAccess*> accesses() const;
    /// By which the worker's sleep ends.
    [[nodiscard]] Wakeups& wakeups(WorkerId worker) { return *wakeups_[worker]; }

  private:
    rte_rcu_qsbr* qsbr_;
    std::atomic<std::uint64_t> changes_{0};
    std::vector<std::unique_ptr<Wakeups>> wakeups_;       // by worker
    std::vector<std::unique_ptr<GuestAccess>> accesses_;  // likewise
};

}  // namespace weir
