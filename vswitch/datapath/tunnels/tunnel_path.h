// tunnel_path.h - one worker's side of the ESP tunnels: frames to tunnels, SPIs to SAs, encryption,
// decryption, cost. Source: RFC 4303; RFC 8986; docs/algorithms.md 11.1. Units: bytes; tokens of the tunnels'
// cost tables. Threads: owning worker; built by the agent, which also makes the sessions.
//
// Order, to the wire (uplink_tunnels.cc):
//     const TunnelId tunnel = path.route(frame);  // kNoTunnel: drop; kAllTunnels: a copy into each tunnel
//     if (!path.ready(tunnel) || frame->pkt_len > path.frame_max(tunnel)) drop;
//     account outer_bytes(), charge tokens();     // the frame may wait in queues now
//     path.encrypt(tunnel, frames, outcomes);     // just before they leave: sequence numbers in wire order
// From the wire (from_outside.cc): claims() for each frame, then receive() for those of the burst. From the
// worker's inbox: decrypt() for frames of FrameOrigin::kTunnel. Both give clear frames, each of which then
// goes to classify_from_tunnel().
#pragma once

#include <rte_mbuf.h>

#include <memory>
#include <span>
#include <vector>

#include "common/spsc_ring.h"
#include "common/types.h"
#include "cost_functions/cost_table.h"
#include "vswitch/base/limits.h"
#include "vswitch/base/stats.h"
#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/frame/inbox.h"
#include "vswitch/datapath/tunnels/tunnel_routes.h"
#include "vswitch/esp/esp_engine.h"
#include "vswitch/esp/key_agreement.h"

namespace weir {

/// A tunnel as every worker sees it; immutable.
struct TunnelEnd {
    EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
    bool v6 = false;
    std::array<std::uint8_t, 16> local{};  ///< our outer address; IPv4: the first four bytes
    std::uint32_t spi_in = 0;              ///< with its low bits zero
    std::uint32_t frame_max = 0;           ///< longest inner frame
    std::vector<std::uint8_t> header;      ///< outer Ethernet and IP header
    std::vector<IpNetwork> networks;       ///< behind the other end
    std::shared_ptr<const CostTable> cost;
};

/// The result of one key agreement: an SA for each worker of this switch and one for each of the other
/// switch. Worker w alone uses out[w], and those in[s] for which s modulo the number of workers here is w.
struct EspSession {
    std::uint8_t tag = 0;  ///< in the SPIs of its frames
    std::vector<std::unique_ptr<EspSa>> out;
    std::vector<std::unique_ptr<EspSa>> in;
};

/// A message of the other end's key agreement, for the agent, which frees the frame. The worker pushes, the
/// agent pops. A message that finds the ring full is dropped; the other end repeats it.
struct KeyMessage {
    rte_mbuf* frame;
    TunnelId tunnel;
};
using KeyMessages = SpscRing<KeyMessage, 64>;

/// ESP frames of one burst, untagged, addressed to a tunnel's end here.
struct EspBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint32_t, limits::kBurst> bytes;  ///< as accounted
    std::uint16_t count = 0;

    void add(rte_mbuf* frame, std::uint32_t accounted_bytes) {
        bytes[count] = accounted_bytes;
        frames[count++] = frame;
    }
};

/// Frames that came out of tunnels, decrypted and authentic, in an order that keeps each SA's. The caller
/// owns them, and counts them in `stats[tunnel].in`, where they are offered, as delivered, queued or dropped.
struct ClearBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint32_t, limits::kBurst> bytes;  ///< of the ESP frame, as accounted
    std::array<TunnelId, limits::kBurst> tunnels;
    std::uint16_t count = 0;

    void add(rte_mbuf* frame, std::uint32_t accounted_bytes, TunnelId tunnel) {
        bytes[count] = accounted_bytes;
        tunnels[count] = tunnel;
        frames[count++] = frame;
    }
};

class TunnelPath {
  public:
    struct Setup {
        std::span<const TunnelEnd> tunnels;  ///< by TunnelId; outlive the path
        std::vector<EspEngine*> engines;     ///< of this worker, by TunnelId; outlive the path
        WorkerId worker;
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        CaptureTap& tap;
    };
    explicit TunnelPath(Setup setup);

    // Sessions. The agent posts both as commands. It keeps a session until every worker receives with
    // kSessionsUnderstood newer ones and sends with another.

    /// Accepts the session's frames from now on, and still those of the two sessions before it.
    void receive_with(TunnelId tunnel, const EspSession* session);
    void send_with(TunnelId tunnel, const EspSession* session) { sides_[tunnel].out = session; }

    // To the wire. `tunnel` is below tunnels(); frame lengths are without FCS, with the inner VLAN tag.

    [[nodiscard]] std::size_t tunnels() const { return setup_.tunnels.size(); }
    /// By the destination's IP address, of ARP and neighbor solicitations by the address that they ask for: a
    /// tunnel, kAllTunnels or kNoTunnel.
    [[nodiscard]] TunnelId route(const rte_mbuf* frame);
    /// The other end has agreed on keys.
    [[nodiscard]] bool ready(TunnelId tunnel) const { return sides_[tunnel].out != nullptr; }
    [[nodiscard]] std::uint32_t frame_max(TunnelId tunnel) const { return setup_.tunnels[tunnel].frame_max; }
    /// Length of the ESP frame around an inner frame of `bytes`.
    [[nodiscard]] std::uint32_t outer_bytes(TunnelId tunnel, std::uint32_t bytes) const {
        const TunnelEnd& end = setup_.tunnels[tunnel];
        return esp_frame_bytes(end.algorithm, end.v6, bytes);
    }
    /// Cost of encrypting an inner frame of `bytes`.
    [[nodiscard]] std::uint32_t tokens(TunnelId tunnel, std::uint32_t bytes) const {
        return setup_.tunnels[tunnel].cost->tokens(Operation::kBytes, bytes, 0);
    }
    /// Cost of the smallest frame in the tunnel in which it is least, at least 1.
    [[nodiscard]] std::uint32_t least_tokens() const { return least_tokens_; }
    /// Encrypts at most kCryptoBurst frames of one tunnel, which is ready(), each in its place. They have no
    /// open offload requests (fill_checksums(), split()). All stay the caller's, which frees those whose
    /// outcome is not kDone; a copy may have replaced a frame in `frames`.
    void encrypt(TunnelId tunnel, std::span<rte_mbuf*> frames, EspOutcomes& outcomes);

    // From the wire.

    /// The untagged frame is ESP to a tunnel's end here; its headers are then in the first buffer.
    [[nodiscard]] bool claims(const rte_mbuf* frame) const;
    /// Consumes frames of the wire for which claims() holds: key messages go to the agent, frames of SAs that
    /// belong to another worker into its inbox, and the rest, decrypted, into `clear`. Frames that fail are
    /// freed and counted in `stats[tunnel].in`.
    /// @param rx counts every frame as delivered (to the switch itself) or dropped
    /// @param clear empty
    void receive(const EspBurst& burst, DirectionStats& rx, ClearBurst& clear);
    /// Consumes frames whose SAs belong to this worker. A session may have ended while a frame was in the
    /// inbox.
    /// @return frames without a session, freed
    unsigned decrypt(const EspBurst& burst, ClearBurst& clear);
    /// The inner source IP address lies behind this tunnel, or the frame has none that is valid beyond the
    /// link.
    [[nodiscard]] bool source_fits(TunnelId tunnel, const rte_mbuf* frame);

    std::vector<TunnelStats> stats;  ///< by TunnelId; `out` and `tokens` are counted by the uplink
    KeyMessages key_messages;

  private:
    struct Side {
        const EspSession* out = nullptr;
        std::array<const EspSession*, kSessionsUnderstood> in{};  // the newest first
    };
    struct Found {
        TunnelId tunnel = kNoTunnel;  // kNoTunnel: unknown SPI
        bool message = false;         // a key message
        WorkerId owner = 0;           // the worker that the SA belongs to
        EspSa* sa = nullptr;
    };
    [[nodiscard]] Found find(const rte_mbuf* frame) const;
    void decrypt(const EspBurst& burst, const Found* found, ClearBurst& clear);

    Setup setup_;
    std::uint32_t least_tokens_ = UINT32_MAX;
    TunnelRoutes routes_;
    std::vector<Side> sides_;
};

/// The drop reason for a frame that could not be encrypted or decrypted.
[[nodiscard]] DropReason reason_of(EspOutcome outcome);

}  // namespace weir
