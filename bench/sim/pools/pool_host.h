// pool_host.h - host of a pool scenario: the switch's own gate before the array, and its VMs.
// Threads: one.
#pragma once

#include <vector>

#include "bench/sim/pools/pool_vm.h"
#include "vswitch/qos/buckets/timing_wheel.h"

namespace weir::sim {

class PoolHost {
  public:
    PoolHost(Engine& engine, const SchedulerEntry& scheduler, std::uint32_t vms);

    /// In any order, before anything runs. @param vm outlives the host
    void add(PoolVm& vm);
    [[nodiscard]] const std::vector<PoolVm*>& vms() const { return vms_; }

    void set_window(std::uint64_t tokens);
    [[nodiscard]] std::uint64_t window() const { return gate_.window(); }
    /// Of the VM with this number here.
    void set_promise(std::size_t vm, double reservation, double limit, double shares);

    /// Sends the requests that the gate releases now.
    void pump();
    /// So much was answered.
    void finish(std::uint32_t tokens);

  private:
    Engine& engine_;
    TimingWheel wheel_;
    ApplianceGate gate_;
    std::vector<PoolVm*> vms_;
};

}  // namespace weir::sim
