// stages.h - the stages of one worker, built in the order in which they know each other.
// Source: docs/design.md 4. Units: bytes as accounted, ns. Threads: built by the agent; then owning worker.
//
// The optional stages exist or not from construction on: the uplink, feedback (only with an uplink), requests
// to appliances, and tunnels (only with an uplink). FromVms and FromOutside move frames through them; the
// worker alone knows all.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/feedback/rate_feedback.h"
#include "vswitch/datapath/loop/floods.h"
#include "vswitch/datapath/output/delivery.h"
#include "vswitch/datapath/output/uplink.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/tenant_traffic.h"
#include "vswitch/datapath/vnic/vnic_directory.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/link_share.h"

namespace weir {

/// Ids in a worker's timing wheel: a vNIC's own limit has the vNIC's id, then come the vNICs' classes in the
/// uplink's scheduler, destination limits, and service flows.
namespace wheel_id {
inline constexpr std::uint32_t kClasses = limits::kVnicsMax;
inline constexpr std::uint32_t kDestinations = 2 * limits::kVnicsMax;
inline constexpr std::uint32_t kRequests = kDestinations + limits::kDestinationLimitsMax;
inline constexpr std::uint32_t kEnd = kRequests + limits::kRequestFlowsMax;
}  // namespace wheel_id

struct Stages {
    struct UplinkPart {
        NicDevice& device;
        const SchedulerEntry* scheduler;
        std::uint32_t mtu;
        LinkShare& out;  ///< the capacities of the wire, divided among the workers
        LinkShare& in;
        const FeedbackProfile* feedback = nullptr;  ///< nullptr: off
        /// Upper bound, in bytes per second, of the rates that the controller allocates to single
        /// destinations; 0: there is no controller.
        std::uint64_t allocated_below = 0;
    };
    struct Setup {
        WorkerId worker;
        rte_mempool* pool;
        Wakeups* wakeups = nullptr;                       ///< of the worker; null: it never sleeps
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        std::uint32_t overhead_bytes;                     ///< accounted per wire frame on top of its length
        std::uint64_t flood_pps;                          ///< bound on floods from the wire
        Nanos mac_aging;
        std::optional<UplinkPart> uplink;
        const std::vector<Appliance>* appliances = nullptr;  ///< outlive the stages; null or empty: none
        ConnectionKey connection_key;          ///< random, of the hash table of requests' connections
        SourceKey source_key;                  ///< random, of the hash table of the wire's sources
        std::span<const TunnelEnd> tunnels{};  ///< outlive the stages; empty: none
        std::vector<EspEngine*> engines{};     ///< of this worker, one for each tunnel
    };
    Stages(const Setup& setup, TimingWheel& wheel, CycleBill& bill);
    Stages(const Stages&) = delete;
    Stages& operator=(const Stages&) = delete;

    /// A vNIC of any worker; each worker must know all of them.
    void add(VnicPath& path, Nanos now);
    /// New rates of a vNIC of this worker.
    void change(VnicPath& path, Nanos now);
    /// Forgets the vNIC; frames of it that wait here are dropped.
    void remove(VnicPath& path, Nanos now);
    /// The vNIC leaves this worker; none of its frames waits here.
    void give(VnicPath& path, Nanos now);
    /// The vNIC comes from another worker's stages, which know it no more.
    void take(VnicPath& path, Stages& from, Nanos now);
    void housekeeping(Nanos now);

    /// Delivers waiting frames that their VMs take now. @return buffers
    unsigned serve_waiting(Nanos now);

    CaptureTap tap;
    VnicDirectory vnics;
    std::optional<TunnelPath> tunnels;
    std::optional<Uplink> uplink;
    std::optional<RateFeedback> feedback;
    std::optional<RequestPath> requests;
    Delivery delivery;
    Floods floods;
    TenantTraffic tenants;

  private:
    void own(VnicPath& path, Nanos now);
    void disown(VnicPath& path, Nanos now);

    WorkerId worker_;
};

}  // namespace weir
