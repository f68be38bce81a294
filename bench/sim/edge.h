// edge.h - isolation of a simulated host between its guests' rings and its NIC: none, rate limits, or Weir.
// Threads: one.
#pragma once

#include "bench/sim/packet.h"
#include "common/types.h"
#include "vswitch/qos/feedback/receiver.h"

namespace weir::sim {

class Edge {
  public:
    virtual ~Edge() = default;

    /// Whether another packet of the vNIC may be taken from its ring.
    [[nodiscard]] virtual bool room(VnicId vnic) const = 0;
    /// Takes the packet.
    virtual void send(VnicId vnic, Packet& packet) = 0;
    /// A packet for the vNIC has come from the wire.
    virtual void received(VnicId vnic, const Packet& packet) = 0;
    /// A feedback frame for the vNIC has come from the wire.
    virtual void on_feedback(VnicId vnic, const Packet& feedback) = 0;
    /// Packets that wait here.
    [[nodiscard]] virtual std::uint64_t packets() const = 0;
    /// Packets dropped here.
    [[nodiscard]] virtual std::uint64_t dropped() const { return 0; }
    /// The vNIC's meter; all 0 when there is none.
    [[nodiscard]] virtual EndpointReading reading(VnicId) const { return {}; }
};

}  // namespace weir::sim
