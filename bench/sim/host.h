// host.h - simulated host: guests' rings, the edge (isolation), the NIC, and the way up to the guests.
// Source: docs/design.md 4.
// Units: packets; ns.
// Threads: one.
//
// A ring is held back before a packet is lost: a guest with a full ring waits until a packet leaves it.
#pragma once

#include <memory>
#include <vector>

#include "bench/sim/edge.h"
#include "bench/sim/port.h"
#include "bench/sim/world.h"

namespace weir::sim {

/// A source that may be held back.
class Sender {
  public:
    /// There is room in the ring again.
    virtual void resume() = 0;

  protected:
    ~Sender() = default;

  private:
    friend class Host;
    Sender* next_ = nullptr;
    bool waiting_ = false;
};

/// A vNIC as its host sees it.
struct VnicProfile {
    EndpointId endpoint = 0;
    std::uint64_t reservation_bps = 0;
    std::uint64_t limit_bps = 0;  ///< 0 = none
    std::uint32_t shares = 100;
    bool best_effort = false;  ///< its packets go to the network's low-priority class
};

class Host final : public Node, public DepartureWatcher {
  public:
    struct Setup {
        std::uint64_t rate = 0;    ///< of the link, bytes/s
        Nanos delay = 0;           ///< of the link
        std::uint32_t ring = 128;  ///< packets that a guest may have waiting in its ring
        Nanos stack_delay = 0;     ///< from the host to the guest's transport
    };

    Host(World& world, const Setup& setup);

    // Building, in this order.
    void connect(Node& leaf);
    VnicId add_vnic(const VnicProfile& profile);
    /// Guests may send from now on.
    void set_edge(std::unique_ptr<Edge> edge) { edge_ = std::move(edge); }
    [[nodiscard]] const std::vector<VnicProfile>& profiles() const { return profiles_; }

    // For guests.
    [[nodiscard]] bool has_room(VnicId vnic) const { return vnics_[vnic].waiting < setup_.ring; }
    /// Calls sender.resume() once, when there is room; senders take turns.
    void wait(VnicId vnic, Sender& sender);
    /// Takes the packet. A sender that can wait asks has_room() before.
    void send(VnicId vnic, Packet& packet);

    // For the network and the edge.
    void receive(Packet& packet) override;
    void departed(const Packet& packet) override;
    [[nodiscard]] Port& nic() { return *nic_; }
    /// Moves packets from the rings to the edge while it has room for them.
    void pump();

    /// Bytes on the wire that have arrived for a vNIC.
    [[nodiscard]] std::uint64_t received_bytes(VnicId vnic) const { return vnics_[vnic].received_bytes; }
    [[nodiscard]] const Edge& edge() const { return *edge_; }
    /// Packets in rings, the edge, the NIC, on its link and on the way up.
    [[nodiscard]] std::uint64_t packets() const;

  private:
    /// Gives packets to the guests' transports.
    class Guests final : public Node {
      public:
        explicit Guests(World& world) : world_(world) {}
        void receive(Packet& packet) override;

      private:
        World& world_;
    };
    struct Vnic {
        PacketList ring;
        std::uint32_t waiting = 0;  // packets in the ring
        Sender* first = nullptr;    // senders that wait for room, in turn
        Sender* last = nullptr;
        std::uint64_t received_bytes = 0;
    };

    bool serve(VnicId id);
    void wake(Vnic& vnic);

    World& world_;
    Setup setup_;
    std::unique_ptr<Port> nic_;
    std::unique_ptr<Edge> edge_;
    Guests guests_;
    DelayLine up_;
    std::vector<VnicProfile> profiles_;
    std::vector<Vnic> vnics_;
    std::uint64_t in_rings_ = 0;
    std::uint64_t waiters_ = 0;
    bool pumping_ = false;
};

/// No isolation: all vNICs share the NIC's queue, first come, first served.
class PlainEdge final : public Edge {
  public:
    PlainEdge(Host& host, std::uint64_t descriptors) : host_(host), descriptors_(descriptors) {}
    [[nodiscard]] bool room(VnicId) const override { return host_.nic().waiting() < descriptors_; }
    void send(VnicId, Packet& packet) override { host_.nic().send(packet); }
    void received(VnicId, const Packet&) override {}
    void on_feedback(VnicId, const Packet&) override {}
    [[nodiscard]] std::uint64_t packets() const override { return 0; }

  private:
    Host& host_;
    std::uint64_t descriptors_;
};

}  // namespace weir::sim
