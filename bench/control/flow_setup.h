// flow_setup.h - the two halves of the work for a new flow, in the switch and with the controller, and their
// times. Units: ns in, us out. Threads: one.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

namespace weir::bench {

/// Times of one step, many times over.
class Spans {
  public:
    using Clock = std::chrono::steady_clock;

    /// Runs `step` and records its time.
    template <typename Step>
    void time(Step&& step) {
        const auto began = Clock::now();
        step();
        add(Clock::now() - began);
    }
    void add(Clock::duration span) {
        micros_.push_back(std::chrono::duration<double, std::micro>(span).count());
    }
    [[nodiscard]] double last() const { return micros_.back(); }
    /// p50_us, p99_us and the number of times.
    [[nodiscard]] nlohmann::json summary() const;

  private:
    std::vector<double> micros_;
};

/// A worker receives the first feedback frame of a destination, with 0 to 10,000 limiters installed already;
/// and installs rates that the agent sends.
[[nodiscard]] nlohmann::json measure_switch(unsigned times);

/// A service flow begins: its demand is sent, received, solved and answered, and the answer becomes a
/// profile.
/// @param hosts with 12 vNICs each, whose flows the controller knows, except for the new one
[[nodiscard]] nlohmann::json measure_controller(unsigned hosts, unsigned times);

}  // namespace weir::bench
