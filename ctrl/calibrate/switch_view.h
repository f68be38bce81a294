// switch_view.h - what the switch has counted of the flow from our vNIC to the appliance (flow.list), to hold
// against what was asked. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ctrl/calibrate/load/link.h"
#include "ctrl/calibrate/plan.h"

namespace weir::cli {
class Client;
}

namespace weir::calibrate {

class SwitchView {
  public:
    struct Counts {
        std::uint64_t requests = 0;
        std::uint64_t plain_bytes = 0;  ///< of which no header was understood
        double blocked_seconds = 0;     ///< of the bucket that blocked longest
        double uptime = 0;
    };

    /// @throws cli::Failure no such switch, or no single flow to the appliance
    SwitchView(const Witness& witness, const Endpoint& endpoint);
    ~SwitchView();

    [[nodiscard]] Counts read() const;
    /// How many the switch has seen. @throws cli::Failure others than were asked
    std::uint64_t check(const Counts& before, const Counts& after, std::uint64_t asked) const;
    /// "vm1 to disk"
    [[nodiscard]] std::string flow() const { return vnic_ + " to " + appliance_; }

    /// Part of the time between in which a bucket held the flow back.
    [[nodiscard]] static double held_back(const Counts& before, const Counts& after);

  private:
    std::unique_ptr<cli::Client> client_;
    std::string socket_;
    std::string vnic_;
    std::string appliance_;
};

}  // namespace weir::calibrate
