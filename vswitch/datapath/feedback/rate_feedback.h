// rate_feedback.h - one worker's part in EyeQ: meters what its VMs receive from the wire and tells the
// senders' switches; hears what other switches tell its VMs. Source: EyeQ 3.2 to 3.4; design section 4.
// Units: bytes as accounted, ns. Threads: owning worker; built by the agent.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/feedback/feedback_frame.h"
#include "vswitch/datapath/inbox.h"
#include "vswitch/datapath/uplink.h"
#include "vswitch/datapath/vnic_path.h"
#include "vswitch/qos/feedback/receiver.h"

struct rte_mempool;

namespace weir {

/// The configuration's `feedback` in the datapath's units, the same for all workers.
struct FeedbackProfile {
    ReceiverProfile receiver;  ///< capacity of the whole downlink
    DestinationLimits::Profile flows;
    FeedbackKey key{};
    std::uint32_t first_sequence = 0;  ///< larger than any of this host's earlier life
};

/// @param seconds wall-clock, so that a switch that restarts goes on with larger sequences
[[nodiscard]] FeedbackProfile make_feedback_profile(const SwitchConfig& config, const FeedbackKey& key,
                                                    std::uint64_t seconds);

class RateFeedback {
  public:
    struct Setup {
        WorkerId id;
        rte_mempool* pool;
        Uplink& uplink;
        MacTable& macs;
        VnicPath* const* directory;                       ///< by VnicId
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
    };
    RateFeedback(const Setup& setup, const FeedbackProfile& profile);

    void add(const VnicPath& path);
    void change(const VnicPath& path);
    void remove(const VnicPath& path);

    /// Frames from the wire, about to be delivered to a VM of this worker.
    void meter(const VnicPath& to, const Run& run, Nanos now);
    /// A feedback frame from the wire, untagged; consumed. For vNICs that encrypt only what came `encrypted`
    /// counts, for the others only what did not.
    void on_feedback(rte_mbuf* frame, std::uint16_t vlan, bool encrypted, Nanos now);
    /// Measures and splits when it is time: to be asked in every turn.
    void sweep(Nanos now) {
        if (receiver_.due(now))
            receiver_.sweep(now);
    }

    /// What this worker needs of the downlink, and what it was given.
    [[nodiscard]] std::uint64_t received_total() const { return receiver_.received_total(); }
    [[nodiscard]] bool backlogged() const { return receiver_.backlogged(); }
    void set_capacity(std::uint64_t bytes_per_sec) { receiver_.set_capacity(bytes_per_sec); }
    [[nodiscard]] EndpointReading read(VnicId vnic) const { return receiver_.read(vnic); }

    FeedbackStats stats;

  private:
    void tell(const VnicPath& to, rte_mbuf* answered, const Feedback& feedback, Nanos now);
    void apply(VnicId vnic, const FeedbackMessage& message, Nanos now);

    Setup setup_;
    FeedbackKey key_;
    Receiver receiver_;
};

}  // namespace weir
