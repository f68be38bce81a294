// random_peers.h - the peers behind a random switch's wire: the other ends of its tunnels, an appliance that
// answers, other switches that advertise rates. Source: RFC 4303; docs/algorithms.md 4, 5, 11.
// Units: bytes; tokens are bytes of requests and answers. Threads: tests only.
//
// Tunnel 0 leads to all guests, by their addresses, so that its frames may come from any; tunnel 1
// to the hosts that most stamped frames are for; tunnel 2 to one address that is hardly ever used.
#pragma once

#include <span>
#include <vector>

#include "test/vswitch/datapath/loop/random_plan.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"

namespace weir::testing {

class RandomPeers {
  public:
    static constexpr unsigned kTunnels = 3;

    /// @param appliance the configuration has one  @param workers of the switch
    RandomPeers(RandomPlan& plan, bool appliance, std::size_t workers);

    [[nodiscard]] const std::vector<Appliance>& appliances() const { return appliances_; }
    [[nodiscard]] static std::span<const TunnelEnd> tunnel_ends();
    [[nodiscard]] static std::vector<EspEngine*> engines();
    /// The sessions that both ends have agreed on; the same for all switches of the program.
    [[nodiscard]] static const EspSession& session(TunnelId tunnel);

    /// The frame as the other end of a tunnel sends it; now and then with a byte changed. nullptr: there is
    /// no buffer.
    /// @param flow frames of one flow are encrypted by one worker there, so that they keep their order
    [[nodiscard]] rte_mbuf* through_tunnel(rte_mbuf* frame, std::uint64_t flow);
    /// A rate for the frames from the guest with this address to `far`, sometimes forged.
    [[nodiscard]] rte_mbuf* feedback(std::uint64_t guest, std::uint16_t vlan, std::uint64_t far);

    /// One guest's connection to the appliance.
    struct Client {
        std::uint32_t address = 0;
        std::uint64_t mac = 0;
        std::uint32_t sent = 1;      ///< sequence number of the next segment
        std::uint32_t answered = 1;  ///< likewise of the appliance
    };
    /// A segment of the client: requests whole or cut, again, out of order, or no request at all.
    [[nodiscard]] rte_mbuf* request(Client& client, std::uint64_t to);
    /// As the controller does: requests wait no more for answers that never come.
    void open_window();
    /// A segment of the appliance.
    [[nodiscard]] rte_mbuf* answer(Client& client);

  private:
    RandomPlan& plan_;
    std::vector<Appliance> appliances_;
    std::uint32_t advertised_ = 0;
};

}  // namespace weir::testing
