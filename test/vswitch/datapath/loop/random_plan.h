// random_plan.h - draws from a seed: a switch's configuration, its vNICs, their guests and their frames.
// Units: bytes; bit/s. Threads: tests only.
#pragma once

#include <initializer_list>
#include <vector>

#include "test/support/random.h"
#include "test/vswitch/datapath/loop/random_oracle.h"
#include "vswitch/config/config.h"

namespace weir::testing {

/// VLANs of vNICs. Hosts on the wire are also in one that no vNIC is in.
inline constexpr std::uint16_t kPlanVlans[]{0, 10, 20};
inline constexpr std::uint16_t kForeignVlan = 30;
inline constexpr unsigned kPlanVnics = 8;
/// The appliance in the configuration, if there is one.
inline constexpr const char* kPlanAppliance = "kv";

class RandomPlan {
  public:
    explicit RandomPlan(std::uint32_t seed) : random_(seed) {}

    [[nodiscard]] unsigned pick(unsigned below) { return random_() % below; }
    [[nodiscard]] bool one_in(unsigned n) { return pick(n) == 0; }
    template <class Value>
    [[nodiscard]] Value of(std::initializer_list<Value> values) {
        return values.begin()[pick(static_cast<unsigned>(values.size()))];
    }

    [[nodiscard]] SwitchConfig switch_config();
    /// vNIC n, 1 .. kPlanVnics. Its place (VLAN, MTU, worker), its addresses, and its promises.
    /// @param tunnels there are any
    [[nodiscard]] VnicConfig vnic(unsigned n, const SwitchConfig& config, bool tunnels);
    /// Other promises in the same place.
    void change_promises(VnicConfig& vnic, const SwitchConfig& config);

    /// A burst of a guest, or of the wire's hosts of a VLAN. The party's frames are from `sources`.
    struct Sender {
        PartyId party = 0;
        const Party* facts = nullptr;
        bool offloads = false;  ///< asks for checksums and segments
    };
    [[nodiscard]] std::vector<rte_mbuf*> burst(RandomOracle& oracle, const Sender& from);
    /// A frame that no guest should send: torn, with a foreign address or tag, or with lies about offloads.
    [[nodiscard]] rte_mbuf* hostile(RandomOracle& oracle, const Sender& from);
    /// A frame of the wire, with the tag that it has there.
    [[nodiscard]] rte_mbuf* from_wire(RandomOracle& oracle, PartyId party, std::uint64_t& to);

    /// An address that frames may go to.
    [[nodiscard]] std::uint64_t address();

  private:
    [[nodiscard]] std::uint64_t any_address();
    [[nodiscard]] std::uint64_t source_of(const Sender& from);
    [[nodiscard]] RandomOracle::To any_network();
    [[nodiscard]] rte_mbuf* super_frame(RandomOracle& oracle, const Sender& from, std::uint64_t to);
    [[nodiscard]] rte_mbuf* torn();

    Random32 random_;
    std::vector<std::uint64_t> favourites_;
};

}  // namespace weir::testing
