// pool_control.h - settings of the hosts, computed every interval: SRP by weir-ctrl's own parts, or PARDA
// with the VMs' static bounds, to compare. Source: SRP 3; SRP 5.2.3; PARDA (FAST'09); mClock (OSDI'10)
// Source: SRP 3, 5.2.3; PARDA (FAST'09); docs/algorithms.md 13.2.
// Threads: one.
#pragma once

#include <deque>
#include <vector>

#include "bench/sim/pools/pool_host.h"
#include "ctrl/estimate/latency_window.h"
#include "ctrl/pools/division.h"
#include "ctrl/pools/pool_layout.h"

namespace weir::sim {

class PoolController {
  public:
    /// @param scenario, hosts outlive this; hosts have all their VMs
    PoolController(const PoolScenario& scenario, std::deque<PoolHost>& hosts);

    /// Applies an operator's setting.
    void apply(const PoolEvent& event);
    /// An interval has passed.
    void tick();

    [[nodiscard]] double window() const;
    [[nodiscard]] const PoolLayout& layout() const { return layout_; }
    [[nodiscard]] const pools::Division& division() const { return division_; }
    /// Where a host's VM stands.
    [[nodiscard]] pools::NodeIndex node(std::size_t host, std::size_t vm) const { return nodes_[host][vm]; }

  private:
    void measure();
    void run_srp();
    void run_parda();

    const PoolScenario& scenario_;
    std::deque<PoolHost>& hosts_;
    PoolLayout layout_;
    std::vector<std::vector<pools::NodeIndex>> nodes_;  // by host and VM
    std::vector<std::uint32_t> host_of_;                // by node
    std::vector<double> demands_;                       // by node
    std::vector<double> parda_;                         // by host
    estimate::LatencyWindow window_;
    estimate::LatencyReading reading_;
    pools::Divider divider_;
    pools::Division division_;
};

}  // namespace weir::sim
