// inbox.cc - Inbox: an rte_ring of frames.
#include "vswitch/datapath/frame/inbox.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <string>

#include "common/error.h"
#include "vswitch/base/limits.h"
#include "vswitch/datapath/frame/frame.h"

namespace weir {
namespace {

/// Buffers of these frames beyond one for each.
std::uint32_t more_buffers(rte_mbuf* const* frames, unsigned count) {
    std::uint32_t more = 0;
    for (unsigned i = 0; i < count; ++i)
        more += buffers_of(frames[i]) - 1U;
    return more;
}

}  // namespace

Inbox::Inbox(WorkerId owner, Wakeups* wakeups)
    : ring_(rte_ring_create(("weir_inbox_" + std::to_string(owner)).c_str(), limits::kInboxFrames,
                            static_cast<int>(SOCKET_ID_ANY), RING_F_SC_DEQ)),
      wakeups_(wakeups) {
    if (ring_ == nullptr)
        throw HostError(
            "no DPDK memory for the ring between workers; reserve more hugepages and start again");
}

Inbox::~Inbox() {
    rte_mbuf* frame = nullptr;
    while (take(&frame, 1) == 1)
        rte_pktmbuf_free(frame);
    rte_ring_free(ring_);
}

std::uint16_t Inbox::post(rte_mbuf** frames, std::uint16_t count) {
    constexpr std::uint32_t kMoreMax = limits::kInboxBuffers - limits::kInboxFrames;
    const std::uint32_t more = more_buffers(frames, count);
    if (more != 0 && more_buffers_.fetch_add(more, std::memory_order_relaxed) + more > kMoreMax) {
        more_buffers_.fetch_sub(more, std::memory_order_relaxed);
        return 0;
    }
    const unsigned posted = rte_ring_enqueue_burst(ring_, reinterpret_cast<void**>(frames), count, nullptr);
    if (more != 0 && posted < count)
        more_buffers_.fetch_sub(more_buffers(frames + posted, count - posted), std::memory_order_relaxed);
    if (wakeups_ != nullptr)
        wakeups_->ring();
    return static_cast<std::uint16_t>(posted);
}

std::uint16_t Inbox::take(rte_mbuf** frames, std::uint16_t max) {
    const unsigned taken = rte_ring_dequeue_burst(ring_, reinterpret_cast<void**>(frames), max, nullptr);
    if (const std::uint32_t more = more_buffers(frames, taken); more != 0)
        more_buffers_.fetch_sub(more, std::memory_order_relaxed);
    return static_cast<std::uint16_t>(taken);
}

}  // namespace weir
