// vnic_directory.h - the vNICs of all workers as one worker knows them: by id, and by address.
// Source: docs/algorithms.md 3.8. Units: ns. Threads: built by the agent; then the owning worker.
//
// An address that is found nowhere goes to unknown(): with an uplink, and without a port here behind which
// unknown addresses may live, it is behind the uplink, so that frames to it are neither flooded nor bounded.
// A vNIC whose VM is not connected gives its address away, as the VM may have moved to another host or behind
// another port; where frames to unknown addresses would go nowhere, the vNIC keeps it, and counts them.
// A vNIC that is spread has its address at the worker's own member, if that has a ring to receive, and else
// at its home.
#pragma once

#include <array>
#include <bitset>

#include "vswitch/datapath/frame/destination.h"
#include "vswitch/datapath/vnic/mac_table.h"
#include "vswitch/datapath/vnic/vnic_path.h"

namespace weir {

class VnicDirectory {
  public:
    struct Setup {
        WorkerId worker;
        Nanos mac_aging;
        bool shared;      ///< there are other workers
        bool has_uplink;  ///< frames may leave the host
    };
    explicit VnicDirectory(const Setup& setup);

    void add(VnicPath& path);
    void remove(VnicPath& path);

    /// @return nullptr when there is none
    [[nodiscard]] VnicPath* find(VnicId id) const { return vnics_[id]; }
    /// A destination that a look-up gave: this vNIC is there.
    [[nodiscard]] VnicPath& at(Destination id) const { return *vnics_[id]; }
    /// For the stages, which keep the pointer: limits::kVnicsMax entries, nullptr where there is no vNIC.
    [[nodiscard]] VnicPath* const* by_id() const { return vnics_.data(); }

    /// The member to which frames for the vNIC go from this worker; a vNIC that is not spread is its own.
    [[nodiscard]] VnicId here(const VnicFixed& vnic) const { return here_[vnic.home]; }

    /// Writes the destination into a frame that may have to wait.
    void note_destination(rte_mbuf* frame, Destination to) const;
    /// The vNIC that a frame has waited for, nullptr when it has gone, though another may have its id.
    [[nodiscard]] VnicPath* addressee(const rte_mbuf* frame) const;

    [[nodiscard]] MacTable& macs() { return macs_; }
    [[nodiscard]] const MacTable& macs() const { return macs_; }
    /// Addresses that this worker learned, for the others.
    [[nodiscard]] MacUpdateRing& updates() { return updates_; }
    /// An address that another worker learned; ignored when its vNIC was removed meanwhile, id used again or
    /// not.
    void on_update(const MacUpdate& update, Nanos now);
    /// Where a VM's frame to an unknown address goes.
    [[nodiscard]] Destination unknown() const { return unknown_; }
    /// Where unknown addresses are behind the uplink anyway, nothing is learned from it.
    [[nodiscard]] bool learns_wire() const { return unknown_ != kToUplink; }

    /// The VM sends: it is here, and so is its address.
    void note_sender(const VnicPath& from) {
        if (away_count_ != 0 && away_[from.fixed.home]) [[unlikely]]
            set_away(from, false);
    }
    /// Ages addresses, and looks at some vNICs whether their VMs are connected.
    void housekeeping(Nanos now);

  private:
    void update_unknown();
    void look_for_vms();
    void set_away(const VnicPath& path, bool away);
    void go_here(const VnicFixed& vnic, VnicId member);
    [[nodiscard]] VnicId best_member(const VnicPath& path) const;

    WorkerId worker_;
    bool has_uplink_;
    Destination unknown_ = kToAll;
    std::uint32_t learning_ports_ = 0;  // vNICs without anti-spoofing
    std::uint32_t away_count_ = 0;      // vNICs that gave their addresses away
    VnicId next_looked_at_ = 0;         // by look_for_vms()
    VnicId ids_end_ = 0;                // above all ids that there were
    std::array<VnicPath*, limits::kVnicsMax> vnics_{};
    std::array<VnicId, limits::kVnicsMax> here_{};  // by home
    std::bitset<limits::kVnicsMax> away_;           // by home
    MacUpdateRing updates_;
    MacTable macs_;
};

}  // namespace weir
