// forward_requests.cc - requests that have waited go on, and clients hear that they may.
#include <rte_mbuf.h>

#include "vswitch/datapath/one_frame.h"
#include "vswitch/datapath/worker.h"

namespace weir {

/// Whom the appliances' windows have room for, and clients that were told to wait.
unsigned Worker::serve_requests(Nanos now) {
    requests_->reopen_windows(now, [&](VnicId vnic, rte_mbuf* update) { tell(*directory_[vnic], update); });
    return requests_->serve_windows(
        now, [&](VnicId vnic, const PacketRef& ref) { let_go(*directory_[vnic], ref, now); });
}

/// A frame that the switch itself has made, for one of its own VMs.
void Worker::tell(VnicPath& to, rte_mbuf* frame) {
    OneFrame one(frame, frame->pkt_len + to.fixed.overhead_bytes);
    stage(to, one.run());
    flush_touched();
}

/// A request that has waited for its tokens goes on as if it came from the ring now.
void Worker::let_go(VnicPath& from, const PacketRef& ref, Nanos now) {
    auto* frame = static_cast<rte_mbuf*>(ref.packet);
    from.queued_buffers -= ref.buffers;
    from.stats.from_vm.queued.remove(1, ref.bytes);
    from.queue_delay.add(now - ref.enqueued);
    const Destination to = destination_of(frame);
    if (to < limits::kVnicsMax && directory_[to] == nullptr) {
        from.stats.from_vm.drop(DropReason::kVnicRemoved, 1, ref.bytes);
        rte_pktmbuf_free(frame);
        return;
    }
    OneFrame one(frame, ref.bytes);
    route(from, one.run(), to, false, now);
    flush_touched();
    bill_.charge(from);
}

}  // namespace weir
