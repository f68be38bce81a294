// quiescence.cc - the calls to rte_rcu_qsbr, whose header stays out of quiescence.h.
#include "vswitch/ports/quiescence.h"

#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_rcu_qsbr.h>

#include <chrono>
#include <thread>

#include "common/error.h"

namespace weir {

Quiescence::Quiescence(unsigned workers) {
    const std::size_t bytes = rte_rcu_qsbr_get_memsize(workers);
    qsbr_ = static_cast<rte_rcu_qsbr*>(rte_zmalloc("weir_qsbr", bytes, RTE_CACHE_LINE_SIZE));
    if (qsbr_ == nullptr || rte_rcu_qsbr_init(qsbr_, workers) != 0)
        throw HostError("no DPDK memory for the workers' quiescence state; free hugepages and start again");
    for (unsigned worker = 0; worker < workers; ++worker) {
        rte_rcu_qsbr_thread_register(qsbr_, worker);
        wakeups_.push_back(std::make_unique<Wakeups>());
        accesses_.push_back(std::make_unique<GuestAccess>());
    }
}

Quiescence::~Quiescence() {
    rte_free(qsbr_);
}

std::vector<GuestAccess*> Quiescence::accesses() const {
    std::vector<GuestAccess*> all;
    for (const auto& access : accesses_)
        all.push_back(access.get());
    return all;
}

void Quiescence::online(WorkerId worker) {
    rte_rcu_qsbr_thread_online(qsbr_, worker);
}

void Quiescence::offline(WorkerId worker) {
    rte_rcu_qsbr_thread_offline(qsbr_, worker);
}

void Quiescence::checkpoint(WorkerId worker) {
    rte_rcu_qsbr_quiescent(qsbr_, worker);
}

void Quiescence::changed() {
    changes_.fetch_add(1, std::memory_order_release);
}

void Quiescence::wait() {
    constexpr unsigned kPauses = 1'000;  // some 20 us: a turn
    changed();
    const std::uint64_t token = rte_rcu_qsbr_start(qsbr_);
    for (unsigned pauses = 0; rte_rcu_qsbr_check(qsbr_, token, false) == 0; ++pauses)
        if (pauses < kPauses)
            rte_pause();
        else  // a worker that waits in a guest's memory may wait for a program that needs this core
            std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace weir
