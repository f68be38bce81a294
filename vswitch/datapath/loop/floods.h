// floods.h - frames for all of a VLAN: they wait in their sender's queue and are copied in turn.
// Source: IEEE 802.1Q 8.6, 8.8; docs/algorithms.md 3.9. Units: weights of copies (offload.h); accounted
// bytes; ns. Threads: owning worker.
//
// A sender's frames are bounded by its vNIC's bucket, those of the wire and of tunnels by one bucket
// together. serve() once per turn of the poll loop; a frame that comes while no flood waits is copied at
// once, within the copies that the last serve() has left of its turn's.
#pragma once

#include "vswitch/datapath/output/passage.h"
#include "vswitch/datapath/output/uplink.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/flood_members.h"
#include "vswitch/datapath/vnic/flood_queue.h"
#include "vswitch/datapath/vnic/vnic_directory.h"

namespace weir {

class Floods {
  public:
    struct Setup {
        WorkerId worker;
        rte_mempool* pool;
        std::uint64_t outside_pps;  ///< bound on floods from the wire and tunnels: weights per second
        VnicDirectory& vnics;
        TunnelPath* tunnels;  ///< nullptr: there are none
        Uplink* uplink;       ///< nullptr: there is none
        Delivery& delivery;
        CycleBill& bill;
        CaptureTap& tap;
    };
    explicit Floods(const Setup& setup);
    /// Frees waiting frames from outside; all vNICs were removed before.
    ~Floods();
    Floods(const Floods&) = delete;
    Floods& operator=(const Floods&) = delete;

    void add(const VnicPath& path);
    /// Drops the frames that the vNIC floods; others' floods whose next copy is for it go on with the member
    /// behind it.
    void remove(VnicPath& path);

    /// Takes a run of a VM: copies for the VMs of the VLAN and the tunnels, the frame itself for the uplink.
    void from_vm(const Passage& passage, VnicPath& from, const Run& run) { take(passage, from, run, false); }
    /// A frame that was routed already, and counted with the tags that it gets on the wire.
    /// @param to where it was routed  @param wire_only it goes into every tunnel, and to no VM here
    void from_vm_routed(const Passage& passage, VnicPath& from, const Run& one, Destination to,
                        bool wire_only);
    /// Whether frames of the sender that wait to be flooded will go there, too.
    [[nodiscard]] bool reach(const VnicPath& from, Destination to) const {
        return from.floods.has_unknown() && (to == kToUplink || !setup_.vnics.at(to).fixed.anti_spoofing);
    }
    /// A frame to an address that was learned while earlier frames to it wait to be flooded: it is flooded
    /// behind them, so that it does not overtake them. It is charged to the sender's limit of floods, because
    /// a sender that keeps its queue filled could flood at any rate otherwise. @return false, and the frame
    /// is the caller's, when no such frame waits
    bool take_behind(const Passage& passage, VnicPath& from, const Run& one, Destination to);
    /// Takes a frame from the wire or from a tunnel. vNICs that encrypt get frames that came through tunnels,
    /// the others frames that came in clear text. @param stats that count the frame
    void from_outside(const Passage& passage, DirectionStats& stats, rte_mbuf* frame, std::uint32_t bytes,
                      std::uint16_t vlan, bool encrypted);

    /// Begins a turn's copies, of frames that wait. @return the copies' weight, 0 when no frame waits
    unsigned serve(Nanos now) {
        round_.begin_turn();
        return round_.idle() ? 0 : serve_waiting(now);
    }
    [[nodiscard]] bool idle() const { return round_.idle(); }
    /// Frames that the vNIC sends to all are copied for tunnels: all but the first, which the frame itself
    /// takes.
    [[nodiscard]] bool copies_for_tunnels(const VnicPath& from) const {
        return from.fixed.encrypted && setup_.uplink != nullptr && setup_.tunnels->tunnels() > 1;
    }

  private:
    void take(const Passage& passage, VnicPath& from, const Run& run, bool wire_only);
    void copy_now(const Passage& passage);
    unsigned serve_waiting(Nanos now);
    [[nodiscard]] std::uint32_t copy(const Passage& passage, FloodQueue& queue, std::uint32_t budget);
    void begin(FloodQueue& queue, const Flood& flood);
    [[nodiscard]] std::uint32_t copy_to_members(const Passage& passage, FloodQueue& queue, const Flood& flood,
                                                std::uint32_t budget);
    [[nodiscard]] std::uint32_t copy_into_tunnels(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                                  Nanos now);
    bool copy_to(const Passage& passage, VnicPath& to, rte_mbuf* frame);
    void copy_into(TunnelId tunnel, const Flood& flood, Nanos now);
    void end(const Flood& flood, std::uint32_t copies, Nanos now);
    [[nodiscard]] static CapturePoint point_of(const Flood& flood);

    Setup setup_;
    TokenBucket outside_limit_;  // weights of frames
    FloodMembers members_;
    FloodQueue outside_;  // from the wire and tunnels
    FloodRound round_{limits::kVnicsMax + 1};
};

}  // namespace weir
