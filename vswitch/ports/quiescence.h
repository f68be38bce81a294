// quiescence.h - wait of a control thread until no worker uses an object that it has unpublished.
// Source: DPDK RCU library guide.
// Threads: online, offline and checkpoint by the worker that owns the id; wait() by any control thread that
// holds no lock that a worker may wait for.
//
// A worker keeps no reference from one iteration to the next, and passes a checkpoint in each. A control
// thread unpublishes an object, calls wait(), which lasts one iteration of the slowest worker, and frees the
// object.
#pragma once

#include "common/types.h"

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
    /// Returns when every online worker has passed a checkpoint since the call.
    void wait();

  private:
    rte_rcu_qsbr* qsbr_;
};

}  // namespace weir
