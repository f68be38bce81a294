// random_run.h - a random switch at work: guests, wire and operator act by a seed, and all sums are checked.
// Source: docs/design.md 5.6; docs/algorithms.md 3.7. Units: ns; bytes as accounted; buffers. Threads: tests
// only; the one thread plays agent and workers.
//
// A step is one act (frames of a guest or of the wire, a reading VM, a command, a moment or minutes that
// pass), then a turn of each worker. The peers behind the wire act too: see random_peers.h. After each step
// every sum of every counter holds, each counter of delivered frames equals the frames that the VM has got,
// and no vNIC holds more buffers than its quota. At the end all VMs read, all waiting frames leave, and every
// buffer is back.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "test/vswitch/datapath/loop/random_capture.h"
#include "test/vswitch/datapath/loop/random_oracle.h"
#include "test/vswitch/datapath/loop/random_peers.h"
#include "test/vswitch/datapath/loop/random_plan.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/loop/mac_relay.h"

namespace weir::testing {

class RandomSwitch {
  public:
    /// @param nic one for all runs, with two queues
    RandomSwitch(std::uint32_t seed, RingNic& nic);

    /// @return the first fault, with its step; nullopt: none
    [[nodiscard]] std::optional<std::string> run(unsigned steps);
    /// How much of each kind there was in a whole run: a test that sees none of it shows nothing about it.
    struct Seen {
        std::uint64_t arrived = 0;       ///< stamped frames, somewhere
        std::uint64_t requests = 0;      ///< segments to the appliance that had to wait
        std::uint64_t into_tunnels = 0;  ///< frames
        std::uint64_t out_of_tunnels = 0;
        std::uint64_t rates = 0;     ///< that other switches advertised
        std::uint64_t spoofed = 0;   ///< frames that a guard refused
        std::uint64_t in_quota = 0;  ///< copies for tunnels that the quota had no room for
        std::uint64_t straight = 0;  ///< frames that came out of their senders' memory
        void add(const Seen& more);
    };
    [[nodiscard]] const Seen& seen() const { return seen_; }

  private:
    /// One vNIC's time: a vNIC that is added again is another one.
    struct Guest {
        bool present = false;
        VnicId id = kNoVnic;
        VnicConfig config{};
        PartyId party = 0;
        std::uint32_t quota = 0;  ///< the greatest since it was added
        bool sent_whole = true;   ///< nothing that may be split, or copied for tunnels
        std::uint64_t sent = 0;   ///< frames put into its ring
        RandomPeers::Client client{};
        Tally got{};  ///< read from its ring
    };
    /// vNICs that may be captured: the first ones.
    static constexpr unsigned kCaptured = CaptureOrder::kMax;

    void act();
    void operate(Guest& guest);
    void operate_host();
    void add(Guest& guest);
    void remove(Guest& guest);
    void offer(Guest& guest);
    void arrive();
    [[nodiscard]] rte_mbuf* from_peers(PartyId party, std::uint64_t& to);
    void read(Guest& guest, std::size_t most);
    void take_from_wire();
    void let_time_pass();
    void finish();
    void check();
    void check_guest(const Guest& guest);
    [[nodiscard]] RandomCapture* capture_of(const Guest& guest);
    void check_wire();
    void look(const Guest& guest);
    void check_sample(const Guest& guest);
    void check_buffers();
    void require(bool holds, const std::string& what);
    [[nodiscard]] bool waits() const;
    [[nodiscard]] std::uint32_t overhead() const {
        return config_.accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0;
    }

    RandomPlan plan_;
    RandomOracle oracle_;
    SwitchConfig config_;
    std::vector<PartyId> wire_parties_;
    std::vector<PartyId> tunnel_parties_;
    std::array<Guest, kPlanVnics + 1> guests_;       // by the number in their names; the first is none
    std::array<RandomCapture, kCaptured> captures_;  // of the first ones, in half of the switches
    bool captured_;
    RingNic& nic_;
    bool uplink_;
    bool tunnels_;
    RandomPeers peers_;
    Tally on_wire_{};                 // that the wire took
    std::uint64_t arrived_wire_ = 0;  // frames that came from the wire
    MacRelay relay_;
    Seen seen_;
    std::optional<std::string> fault_;
    SwitchHarness host_;
};

}  // namespace weir::testing
