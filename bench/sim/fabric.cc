// fabric.cc - Fabric and its Switches: wiring of ports, routes, and the choice among equal paths.
#include "bench/sim/fabric.h"

namespace weir::sim {

/// `to_host` was filled in from the receiving endpoint when the packet was sent.
void Switch::receive(Packet& packet) {
    Port* const below = packet.to_host < down_.size() ? down_[packet.to_host] : nullptr;
    (below != nullptr ? *below : choose_uplink(packet)).send(packet);
}

void Switch::route_down(std::uint32_t first, std::uint32_t count, Port& port) {
    if (down_.size() < first + count)
        down_.resize(first + count);
    for (std::uint32_t host = first; host < first + count; ++host)
        down_[host] = &port;
}

/// A connection's two directions hash differently, as different 5-tuples do.
Port& Switch::choose_uplink(const Packet& packet) {
    const std::uint64_t key = (std::uint64_t{packet.flow} << 1 | packet.side) ^ salt_;
    const std::uint64_t hash = ecmp_ == Ecmp::kPacket ? random_.next() : mix(key);
    return *up_[static_cast<std::size_t>((Wide{hash} * up_.size()) >> 64)];
}

Fabric::Fabric(Engine& engine, PacketPool& pool, const FabricSpec& spec, std::uint64_t seed,
               const std::vector<Node*>& hosts)
    : hosts_per_leaf_(spec.hosts / spec.leaves) {
    constexpr std::uint64_t kStreams = 0x5711C4;  // apart from the sources' random streams
    const std::uint32_t spines = spec.leaves > 1 ? spec.spines : 0;
    for (std::uint32_t i = 0; i < spec.leaves + spines; ++i)
        switches_.push_back(std::make_unique<Switch>(spec, seed, kStreams + i));

    const auto port = [&](Switch& from, Node& to, std::uint64_t bits_per_sec) {
        return std::make_unique<Port>(
            engine, pool,
            Port::Setup{.rate = bits_per_sec / 8,
                        .delay = spec.delay,
                        .buffer = spec.port_buffer,
                        .shared = spec.shared_buffer == 0 ? nullptr : &from.shared(),
                        .ecn_threshold = spec.ecn_threshold.value_or(UINT64_MAX)},
            to);
    };
    for (std::uint32_t host = 0; host < spec.hosts; ++host) {
        Switch& leaf = *switches_[host / hosts_per_leaf_];
        edge_.push_back(port(leaf, *hosts[host], spec.rate_bps));
        leaf.route_down(host, 1, *edge_.back());
    }
    for (std::uint32_t s = 0; s < spines; ++s) {
        Switch& spine = *switches_[spec.leaves + s];
        for (std::uint32_t l = 0; l < spec.leaves; ++l) {
            Switch& leaf = *switches_[l];
            core_.push_back(port(leaf, spine, spec.uplink_rate_bps));
            leaf.add_uplink(*core_.back());
            core_.push_back(port(spine, leaf, spec.uplink_rate_bps));
            spine.route_down(l * hosts_per_leaf_, hosts_per_leaf_, *core_.back());
        }
    }
}

}  // namespace weir::sim
