// request_mix.h - whether the requests that reach an appliance are still of the kinds that they were.
// Source: Pulsar 4.3 (a workload that differs by more than 10 %). Threads: one owner.
#pragma once

#include <span>
#include <vector>

namespace weir::estimate {

class RequestMix {
  public:
    /// Part of the tokens that are others than when the mix was remembered; 0 when there is nothing to
    /// compare.
    /// @param tokens by kind of request
    [[nodiscard]] double moved(std::span<const double> tokens) const;
    /// Nothing happens when there are no tokens.
    void remember(std::span<const double> tokens);
    void forget() { parts_.clear(); }
    [[nodiscard]] bool known() const { return !parts_.empty(); }

  private:
    std::vector<double> parts_;  // of 1
};

}  // namespace weir::estimate
