// inbox.cc - Inbox: an rte_ring of frames.
#include "vswitch/datapath/inbox.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <string>

#include "common/error.h"

namespace weir {
namespace {

/// Frames that may wait between workers: 32 bursts, well below a millisecond of work.
constexpr unsigned kFrames = 1024;

}  // namespace

Inbox::Inbox(WorkerId owner)
    : ring_(rte_ring_create(("weir_inbox_" + std::to_string(owner)).c_str(), kFrames,
                            static_cast<int>(SOCKET_ID_ANY), RING_F_SC_DEQ)) {
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
    return static_cast<std::uint16_t>(
        rte_ring_enqueue_burst(ring_, reinterpret_cast<void**>(frames), count, nullptr));
}

std::uint16_t Inbox::take(rte_mbuf** frames, std::uint16_t max) {
    return static_cast<std::uint16_t>(
        rte_ring_dequeue_burst(ring_, reinterpret_cast<void**>(frames), max, nullptr));
}

}  // namespace weir
