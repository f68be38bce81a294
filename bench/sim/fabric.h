// fabric.h - switches between the hosts: one with a shared buffer, or leaves and spines with ECMP.
// Source: EyeQ 5, 5.3; docs/algorithms.md 13.1.
// Units: bytes on the wire; bytes/s; ns.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/sim/port.h"
#include "bench/sim/random.h"

namespace weir::sim {

enum class Ecmp { kFlow, kPacket };

struct FabricSpec {
    std::uint32_t hosts = 2;
    std::uint32_t leaves = 1;  ///< 1 = a single switch, no spines; else divides `hosts`
    std::uint32_t spines = 0;
    std::uint64_t rate_bps = 10'000'000'000;         ///< of the hosts' links
    std::uint64_t uplink_rate_bps = 10'000'000'000;  ///< of the links between leaves and spines
    Nanos delay = 1'000;                             ///< of every link
    std::uint64_t port_buffer = 20'000;
    std::uint64_t shared_buffer = 2'000'000;  ///< of each switch
    double buffer_threshold = 1;              ///< most shared bytes of one port, over the free ones
    std::optional<std::uint64_t> ecn_threshold;
    bool best_effort_class = false;  ///< the switches have a low-priority queue
    Ecmp ecmp = Ecmp::kFlow;
};

/// A switch: ports to the hosts or leaves below it and, in a leaf, to all spines.
class Switch final : public Node {
  public:
    Switch(const FabricSpec& spec, std::uint64_t seed, std::uint64_t id)
        : ecmp_(spec.ecmp),
          random_(seed, id),
          salt_(random_.next()),
          shared_{spec.shared_buffer, spec.buffer_threshold} {}

    void receive(Packet& packet) override;

    /// Hosts first..first+count-1 are reached through `port`.
    void route_down(std::uint32_t first, std::uint32_t count, Port& port);
    void add_uplink(Port& port) { up_.push_back(&port); }
    [[nodiscard]] SharedBuffer& shared() { return shared_; }

  private:
    [[nodiscard]] Port& choose_uplink(const Packet& packet);

    Ecmp ecmp_;
    Random random_;
    std::uint64_t salt_;
    SharedBuffer shared_;
    std::vector<Port*> down_;  // by host; null = not below
    std::vector<Port*> up_;
};

class Fabric {
  public:
    /// @param hosts as many as spec.hosts; outlive the fabric
    Fabric(Engine& engine, PacketPool& pool, const FabricSpec& spec, std::uint64_t seed,
           const std::vector<Node*>& hosts);

    /// Where the link of a host ends.
    [[nodiscard]] Node& leaf_of(std::uint32_t host) { return *switches_[host / hosts_per_leaf_]; }
    /// The last port on the way to a host, where fan-in meets.
    [[nodiscard]] Port& edge_port(std::uint32_t host) { return *edge_[host]; }
    [[nodiscard]] const std::vector<std::unique_ptr<Port>>& edge_ports() const { return edge_; }
    /// Between leaves and spines, both ways.
    [[nodiscard]] const std::vector<std::unique_ptr<Port>>& core_ports() const { return core_; }

  private:
    std::uint32_t hosts_per_leaf_;
    std::vector<std::unique_ptr<Switch>> switches_;  // leaves, then spines
    std::vector<std::unique_ptr<Port>> edge_;        // by host
    std::vector<std::unique_ptr<Port>> core_;
};

}  // namespace weir::sim
