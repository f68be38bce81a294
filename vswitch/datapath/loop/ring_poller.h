// ring_poller.h - which VM's ring is polled when, how many frames are taken from it, and the polls of the
// wire and of other workers between them. Source: docs/design.md 2, 4; docs/algorithms.md 3.5, 3.7. Units:
// ns; cycles of the TSC. Threads: owning worker.
//
// A ring is left alone while its vNIC's limit cannot pay, its queue to the uplink is full, it holds too many
// buffers, it used its share of the core's cycles, or its last burst was so small that it is left to fill:
// this only while the core is short of cycles, as otherwise nothing is gained by the wait.
// A ring that stays empty is silent, and its vNIC is in no round until a word of the ring changes
// (silent_rings.h).
//
// Rings of vNICs that were promised packets or encryption come first, and again whenever the wire does, until
// the promise is kept (packet_promise.h, encryption_promise.h, promise_order.h).
//
// Order of a turn: begin_turn(), poll_outside(), poll_promised(), poll_vnics(), end_turn().
#pragma once

#include <span>
#include <vector>

#include "vswitch/datapath/loop/from_outside.h"
#include "vswitch/datapath/loop/from_vms.h"
#include "vswitch/datapath/loop/poll_turn.h"
#include "vswitch/datapath/loop/silent_rings.h"
#include "vswitch/datapath/loop/stages.h"
#include "vswitch/qos/schedulers/promise_order.h"

namespace weir {

class RingPoller {
  public:
    struct Setup {
        Stages& stages;
        FromVms& from_vms;
        FromOutside& from_outside;
        CycleBill& bill;
        WorkerStats& stats;             ///< polls are counted there
        GuestAccess& access;            ///< of the worker
        bool shared;                    ///< there are other workers
        std::uint64_t coalesce_cycles;  ///< how long a ring that gave a small burst is left to fill
        PollTurn::Profile turn;
    };
    explicit RingPoller(const Setup& setup);

    void add(VnicPath& vnic);
    /// The vNIC was promised packets, or no longer is.
    void change(VnicPath& vnic);
    void remove(VnicPath& vnic);
    /// Those that are polled here.
    [[nodiscard]] std::span<VnicPath* const> vnics() const { return mine_; }

    /// @param start the cycle counter at the turn's beginning
    /// @param changes Quiescence::changes(), behind this turn's checkpoint
    /// @return there are changes since the last turn
    [[nodiscard]] bool begin_turn(std::uint64_t start, std::uint64_t changes) {
        turn_.begin(start);
        if (changes == changes_) [[likely]]
            return false;
        poll_changed(changes);
        return true;
    }
    /// @param moved frames of the whole turn
    void end_turn(unsigned moved) { busy_turns_ = moved != 0 ? busy_turns_ + 1 : 0; }
    /// Asks the VMs to wake the worker; see Port::ask_for_wake().
    [[nodiscard]] Port::Wake ask_for_wakes();
    void forget_wakes();
    /// A burst of the wire, and one of the other workers' frames. @return frames
    unsigned poll_outside(Nanos now);
    /// Polls the rings of vNICs with promises, one after the other, while their promises can pay. Neither the
    /// round nor the shares of cycles can refuse such a poll; promises that do not fit are cut by one ratio.
    /// The wire is polled, and frames leave, between two rings as in a round. When the turn is over, the next
    /// one continues, and the other rings wait for it, but no more than a few turns. @return frames
    unsigned poll_promised(Nanos now);
    /// Every VM's ring in turn, as far as its share of this core's cycles goes. A round may take several
    /// turns. @return frames
    unsigned poll_vnics(Nanos now);

  private:
    unsigned serve_between(Nanos now);
    unsigned serve_leaving(Nanos now);
    unsigned poll_vnic(VnicPath& vnic, Nanos now);
    unsigned forward_piece(VnicPath& vnic, std::size_t most, Nanos now);
    void drop_disabled(VnicPath& vnic, std::span<rte_mbuf*> frames);
    void poll_changed(std::uint64_t changes);
    [[nodiscard]] bool falls_silent(VnicPath& vnic);
    void finish_poll(VnicPath& vnic, unsigned frames);
    void pay_by_promise(VnicPath& vnic, std::uint64_t tokens, unsigned frames, Nanos now);
    std::uint16_t allowance(VnicPath& vnic, Nanos now);

    Stages& stages_;
    FromVms& from_vms_;
    FromOutside& from_outside_;
    CycleBill& bill_;
    WorkerStats& stats_;
    GuestAccess& access_;
    bool shared_;
    std::uint64_t coalesce_cycles_;
    PollTurn turn_;
    std::vector<VnicPath*> mine_;
    std::vector<VnicPath*> polled_;  // those of mine_ that are not silent
    std::size_t next_ = 0;           // of polled_: where the round continues
    SilentRings silent_;
    std::uint64_t changes_ = 0;        // of Quiescence, up to which silent_ may look
    std::vector<VnicPath*> promised_;  // those of mine_ with a promise
    std::size_t promised_next_ = 0;    // of promised_
    PromiseOrder promise_order_;       // by vNIC
    unsigned busy_turns_ = 0;          // since a turn that moved no frame
    bool promises_late_ = false;       // the turn ended while they were polled
    unsigned turns_of_promises_ = 0;
    bool asked_for_wakes_ = false;
};

}  // namespace weir
