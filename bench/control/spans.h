// spans.h - times of one step, many times over. Units: ns in, us out. Threads: one owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

namespace weir::bench {

class Spans {
  public:
    using Clock = std::chrono::steady_clock;

    /// Runs `step` and notes how long it took.
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

    [[nodiscard]] nlohmann::json summary() const {
        std::vector<double> sorted = micros_;
        std::sort(sorted.begin(), sorted.end());
        const auto at = [&](double part) {
            return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
        };
        return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}, {"times", sorted.size()}};
    }

  private:
    std::vector<double> micros_;
};

}  // namespace weir::bench
