// rate_feedback.h - stage of a worker that meters frames from the wire and advertises rates to their senders.
// Source: EyeQ 3.2, 3.3, 3.4; docs/design.md 4; docs/algorithms.md 4. Units: accounted bytes; ns. Threads:
// owning worker; built by the agent.
//
// As a receiver it counts the bytes that the worker's vNICs receive from the wire (Receiver) and answers some
// frames with a feedback frame to their senders. As a sender it applies feedback frames that arrive for its
// vNICs to the uplink's destination limits. A frame for a vNIC of another worker goes to that worker's inbox.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/frame/feedback_frame.h"
#include "vswitch/datapath/frame/inbox.h"
#include "vswitch/datapath/output/uplink.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/qos/feedback/receiver.h"

struct rte_mempool;

namespace weir {

/// The configuration's `feedback` in the datapath's units, the same for all workers.
struct FeedbackProfile {
    ReceiverProfile receiver;  ///< capacity of the whole downlink
    DestinationLimits::Profile flows;
    FeedbackKey key{};
    SenderKey sender_key{};            ///< random: of the hash table of senders
    std::uint32_t first_sequence = 0;  ///< above all sequences before this host's last restart
};

/// @param key        of feedback frames  @param sender_key random words
/// @param seconds    wall-clock time, so that sequences continue above the former ones after a restart
[[nodiscard]] FeedbackProfile make_feedback_profile(const SwitchConfig& config, const FeedbackKey& key,
                                                    const SenderKey& sender_key, std::uint64_t seconds);

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

    // Of a vNIC that is spread the home is metered: the other members are passed over.
    void add(const VnicPath& path);
    void change(const VnicPath& path);
    void remove(const VnicPath& path);

    /// Frames from the wire, about to be delivered to a VM of this worker.
    void meter(const VnicPath& to, const Run& run, Nanos now);
    /// Consumes an untagged feedback frame from the wire. A vNIC that encrypts accepts only frames that came
    /// `encrypted`, any other vNIC only frames that did not.
    void on_feedback(rte_mbuf* frame, std::uint16_t vlan, bool encrypted, Nanos now);
    /// The same for a frame that another worker passed on, for a vNIC or member of this worker.
    void on_passed_feedback(rte_mbuf* frame, const VnicPath& to, Nanos now);
    /// Ends a period of the receiver when it is due. To be called in every iteration.
    void sweep(Nanos now) {
        if (receiver_.due(now))
            receiver_.sweep(now);
    }

    /// A vNIC comes from there: its senders take no advertisement of an earlier sequence.
    void advertise_behind(const RateFeedback& other) { receiver_.advertise_behind(other.receiver_); }
    /// No vNIC has received frames of late.
    [[nodiscard]] bool idle() const { return receiver_.idle(); }

    // This worker's demand of the downlink, and its part.
    [[nodiscard]] std::uint64_t received_total() const { return receiver_.received_total(); }
    [[nodiscard]] bool backlogged() const { return receiver_.backlogged(); }
    void set_capacity(std::uint64_t bytes_per_sec) { receiver_.set_capacity(bytes_per_sec); }
    [[nodiscard]] EndpointReading read(VnicId vnic) const { return receiver_.read(vnic); }

    FeedbackStats stats;

  private:
    void advertise(const VnicPath& to, rte_mbuf* answered, const Feedback& feedback, Nanos now);
    void apply(const VnicPath& to, const FeedbackMessage& message, Nanos now);
    void apply_to_members(const VnicPath& to, const rte_mbuf* frame, const FeedbackMessage& message,
                          Nanos now);
    void pass_on(const VnicPath& to, rte_mbuf* frame);

    Setup setup_;
    FeedbackKey key_;
    Receiver receiver_;
};

}  // namespace weir
