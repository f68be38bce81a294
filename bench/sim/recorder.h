// recorder.h - series of arrivals and of waiting bytes, and the distribution of queues.
// Units: ns; bit/s; bytes.
// Threads: one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/sim/fabric.h"
#include "bench/sim/samples.h"
#include "bench/sim/scenario.h"
#include "bench/sim/source.h"

namespace weir::sim {

/// Every packet that guests or edges have sent is in one of the others.
struct PacketCounts {
    std::uint64_t sent = 0;      ///< by guests
    std::uint64_t feedback = 0;  ///< sent by edges
    std::uint64_t delivered = 0;
    std::uint64_t feedback_received = 0;
    std::uint64_t dropped_in_hosts = 0;
    std::uint64_t dropped_at_edge = 0;  ///< at the last port before a host
    std::uint64_t dropped_in_core = 0;
    std::uint64_t in_flight = 0;
    [[nodiscard]] nlohmann::json to_json() const;
};

class Recorder final : public Handler {
  public:
    using Series = std::vector<std::uint64_t>;

    /// Begins at time 0. All arguments outlive it.
    Recorder(const Scenario& scenario, const Site& site, Fabric& fabric);
    void fire(std::uint32_t) override;

    /// The rate that a tenant's vNICs received in each sample, bit/s on the wire.
    [[nodiscard]] const Series& received(std::size_t tenant) const { return tenants_[tenant].rate; }
    /// The same for one watched host.
    [[nodiscard]] const Series& received_at(std::size_t watched, std::size_t tenant) const {
        return watched_[watched].tenants[tenant].rate;
    }

    [[nodiscard]] nlohmann::json series() const;
    [[nodiscard]] nlohmann::json queues();

  private:
    struct Rates {
        std::uint64_t bytes = 0;  // until the last sample
        Series rate;
        Series advertised;  // to each sender, bit/s; 0 = there is no meter
        Series capacity;    // its part of the link, bit/s
    };
    struct Watched {
        std::uint32_t host;
        std::vector<Rates> tenants;
        Series queue;
    };

    void add_rate(Rates& rates, std::uint64_t bytes) const;
    void sample_queues();

    const Scenario& scenario_;
    const Site& site_;
    Fabric& fabric_;
    Series times_;
    std::vector<Rates> tenants_;
    std::vector<Watched> watched_;
    Samples edge_;
    Samples core_;
};

}  // namespace weir::sim
