// quiescence.h - lets a control thread wait until no worker can still hold what it has just taken away.
// Source: DPDK rte_rcu_qsbr (quiescent-state based reclamation).
// Threads: online/offline/checkpoint by the worker that owns the id; wait() by any control thread that holds
// no lock a worker may wait for.
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

    /// The worker starts to hold references.
    void online(WorkerId worker);
    /// The worker holds none and will not until online(): wait() does not wait for it.
    void offline(WorkerId worker);
    /// The worker holds none at this moment; a few cycles, once per iteration.
    void checkpoint(WorkerId worker);
    /// Returns when every online worker has passed a checkpoint since the call.
    void wait();

  private:
    rte_rcu_qsbr* qsbr_;
};

}  // namespace weir
