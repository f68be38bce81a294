// world.h - state that every part of a simulation shares: time, packets, places of the endpoints.
// Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/sim/engine.h"
#include "bench/sim/packet.h"
#include "common/types.h"

namespace weir::sim {

/// A stream or a connection, where its packets arrive.
class FlowEnd {
  public:
    /// At the guest of packet.to; the packet is taken back afterwards.
    virtual void deliver(const Packet& packet) = 0;

  protected:
    ~FlowEnd() = default;
};

/// A vNIC and its place.
struct Endpoint {
    std::uint32_t host = 0;
    VnicId vnic = 0;  ///< on that host
    std::uint32_t tenant = 0;
};

struct World {
    Engine engine;
    PacketPool pool;
    std::vector<Endpoint> endpoints;  ///< by EndpointId
    std::vector<FlowEnd*> flows;      ///< by StreamId
    std::uint64_t created = 0;        ///< packets that guests have sent
    std::uint64_t delivered = 0;      ///< packets that guests have received
    std::uint64_t feedback_created = 0;
    std::uint64_t feedback_received = 0;

    [[nodiscard]] Nanos now() const { return engine.now(); }
    [[nodiscard]] StreamId add_flow(FlowEnd& end) {
        flows.push_back(&end);
        return static_cast<StreamId>(flows.size() - 1);
    }
    /// A packet of a guest, with its addresses.
    [[nodiscard]] Packet& make_packet(EndpointId from, EndpointId to, StreamId flow) {
        Packet& packet = pool.take();
        packet.from = from;
        packet.to = to;
        packet.to_host = endpoints[to].host;
        packet.flow = flow;
        packet.sent = now();
        ++created;
        return packet;
    }
};

}  // namespace weir::sim
