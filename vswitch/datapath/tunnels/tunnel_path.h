// tunnel_path.h - one worker's side of the ESP tunnels: where frames go, what they cost, encrypted and
// decrypted. Source: RFC 4303, 3378; Pulsar's encryption appliance. Units: bytes, tokens. Threads: owning
// worker; built by the agent, which also makes the sessions.
#pragma once

#include <rte_mbuf.h>

#include <memory>
#include <span>
#include <vector>

#include "common/ids.h"
#include "common/spsc_ring.h"
#include "cost_functions/cost_table.h"
#include "vswitch/datapath/tunnels/tunnel_routes.h"
#include "vswitch/esp/esp_engine.h"
#include "vswitch/esp/key_agreement.h"
#include "vswitch/stats.h"

namespace weir {

/// A tunnel as every worker knows it.
struct TunnelEnd {
    EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
    bool v6 = false;
    std::array<std::uint8_t, 16> local{};  ///< IPv4: the first four bytes
    std::uint32_t spi_in = 0;              ///< its low bits are zero
    std::uint32_t frame_max = 0;           ///< longest that it carries
    std::vector<std::uint8_t> header;      ///< Ethernet and IP
    std::vector<IpNetwork> networks;
    std::shared_ptr<const CostTable> cost;
};

/// What two switches have agreed on: an SA for each of our workers, and one for each of theirs.
struct EspSession {
    std::uint8_t tag = 0;
    std::vector<std::unique_ptr<EspSa>> out;
    std::vector<std::unique_ptr<EspSa>> in;
};

/// A message of the other end, for the agent, who frees it.
struct TunnelLetter {
    rte_mbuf* frame;
    TunnelId tunnel;
};
using TunnelLetters = SpscRing<TunnelLetter, 64>;

class TunnelPath {
  public:
    struct Setup {
        const std::vector<TunnelEnd>& tunnels;  ///< outlive the path
        WorkerId worker;
        WorkerId workers;
        std::vector<EspEngine*> engines;  ///< of this worker, by tunnel
    };
    explicit TunnelPath(const Setup& setup);

    // What the agent has agreed on; it keeps sessions until no worker uses them.

    /// Frames with the session's tag are understood from now on, and those of the two before it.
    void receive_with(TunnelId tunnel, const EspSession* session);
    void send_with(TunnelId tunnel, const EspSession* session) { sides_[tunnel].out = session; }

    // Out.

    [[nodiscard]] std::size_t tunnels() const { return setup_.tunnels.size(); }
    /// A tunnel, all, or none.
    [[nodiscard]] TunnelId route(const rte_mbuf* frame);
    [[nodiscard]] bool ready(TunnelId tunnel) const { return sides_[tunnel].out != nullptr; }
    [[nodiscard]] std::uint32_t frame_max(TunnelId tunnel) const { return setup_.tunnels[tunnel].frame_max; }
    /// Length of a frame of `bytes` on the wire.
    [[nodiscard]] std::uint32_t outer_bytes(TunnelId tunnel, std::uint32_t bytes) const {
        const TunnelEnd& end = setup_.tunnels[tunnel];
        return esp_frame_bytes(end.algorithm, end.v6, bytes);
    }
    [[nodiscard]] std::uint32_t tokens(TunnelId tunnel, std::uint32_t bytes) const {
        return setup_.tunnels[tunnel].cost->tokens(Operation::kBytes, bytes, 0);
    }
    /// Frames of one tunnel, kCryptoBurst at most, each in its place.
    void encrypt(TunnelId tunnel, std::span<rte_mbuf*> frames, EspOutcomes& outcomes);

    // In.

    /// ESP to an end of a tunnel here; then its headers lie in the first buffer.
    [[nodiscard]] bool claims(const rte_mbuf* frame) const;
    struct Found {
        TunnelId tunnel = kNoTunnel;  ///< kNoTunnel: no such SPI
        bool message = false;         ///< for the agent
        WorkerId owner = 0;           ///< who has the SA
        EspSa* sa = nullptr;
    };
    /// Of a frame that it claims.
    [[nodiscard]] Found find(const rte_mbuf* frame) const;
    /// Frames of one SA, kCryptoBurst at most, each in its place.
    void decrypt(TunnelId tunnel, EspSa& sa, std::span<rte_mbuf*> frames, EspOutcomes& outcomes) {
        setup_.engines[tunnel]->decrypt(sa, frames, outcomes);
    }
    /// The frame, out of this tunnel, says that it comes from behind it.
    [[nodiscard]] bool source_fits(TunnelId tunnel, const rte_mbuf* frame);

    /// By tunnel.
    std::vector<TunnelStats> stats;
    TunnelLetters letters;

  private:
    struct Side {
        const EspSession* out = nullptr;
        std::array<const EspSession*, kSessionsUnderstood> in{};  ///< the newest first
    };

    Setup setup_;
    TunnelRoutes routes_;
    std::vector<Side> sides_;
};

/// Why a frame ended that came to this end.
[[nodiscard]] DropReason reason_of(EspOutcome outcome);

/// The tunnel of a frame of an encrypting vNIC, kept while it waits for the uplink.
inline void set_tunnel(rte_mbuf* frame, TunnelId tunnel) {
    frame->hash.usr = tunnel;
}
[[nodiscard]] inline TunnelId tunnel_of(const rte_mbuf* frame) {
    return static_cast<TunnelId>(frame->hash.usr);
}

}  // namespace weir
