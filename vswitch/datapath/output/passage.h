// passage.h - the scope of one burst: whose frames are delivered in it, and which vNIC pays for the cycles.
// Source: docs/algorithms.md 3.5. Units: ns; TSC cycles. Threads: owning worker.
//
// The constructor begins. Frames that are delivered in the scope may be staged; the destructor sends them and
// charges. A passage may be opened within another of the same origin: frames that the outer one has staged
// leave with the inner one's end.
//
// Example: a burst of the wire has frames for B and C. They are staged in a passage whose receivers pay; at
// its end B's ring is written and B charged, then C's and C.
#pragma once

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/output/delivery.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/origin.h"

namespace weir {

class Passage {
  public:
    enum class Payer : std::uint8_t {
        kCaller,    ///< charges later, or nothing is charged
        kSender,    ///< the origin's VM, for all since the last charge
        kReceivers  ///< each for the frames to it
    };
    Passage(Delivery& delivery, CycleBill& bill, const Origin& origin, Payer payer)
        : delivery_(delivery), bill_(bill), origin_(origin), payer_(payer) {}
    ~Passage() {
        if (payer_ == Payer::kReceivers) {
            delivery_.flush_to_receivers(origin_);
            return;
        }
        delivery_.flush(origin_);
        if (payer_ == Payer::kSender)
            bill_.charge(*origin_.vm);
    }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

    [[nodiscard]] const Origin& origin() const { return origin_; }
    [[nodiscard]] Nanos now() const { return origin_.now; }

    /// Delivers one frame, accounted with the receiver's overhead. It is consumed. @return false when it did
    /// not fit into another worker's inbox
    bool deliver(VnicPath& to, rte_mbuf* frame) const { return deliver(to, frame, origin_); }
    /// A copy of a flooded frame, likewise.
    bool deliver_copy(VnicPath& to, rte_mbuf* copy) const {
        Origin copies = origin_;
        copies.copies = true;
        return deliver(to, copy, copies);
    }

  private:
    bool deliver(VnicPath& to, rte_mbuf* frame, const Origin& origin) const {
        OneFrame one(frame, frame->pkt_len + to.fixed.overhead_bytes);
        return delivery_.deliver(origin, to, one.run(), false) != 0;
    }

    Delivery& delivery_;
    CycleBill& bill_;
    Origin origin_;
    Payer payer_;
};

}  // namespace weir
