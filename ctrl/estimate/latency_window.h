// latency_window.h - window of an appliance that is held to a latency: the tokens that may be outstanding.
// Source: SRP 3.1.3; PARDA (FAST'09); docs/algorithms.md 7.4
// Units: tokens, tokens/s, seconds. Threads: one owner.
//
// Each interval the window moves by the part gamma towards window * threshold / latency: it grows while
// requests are answered within the threshold and shrinks when they take longer.
//
// Example: threshold 20 ms, gamma 0.5, window 32. At a latency of 40 ms the next window is 24.
#pragma once

#include <algorithm>

namespace weir::estimate {

struct LatencySettings {
    double threshold = 0.02;  ///< congestion threshold, above 0
    double gamma = 0.5;       ///< part of the way to the right window per interval, 0 to 1
    double window_min = 1;
    double window_max = 1e6;
    double floor = 0;  ///< least possible latency; a smaller one is an error of measurement, or a cache
};

/// One interval.
struct LatencyReading {
    double latency = 0;      ///< mean of the answered requests; 0: none was answered
    double outstanding = 0;  ///< mean over time, from all hosts together
};

class LatencyWindow {
  public:
    /// A window counts as in use when this part of it is outstanding on average.
    static constexpr double kInUse = 0.75;

    LatencyWindow(const LatencySettings& settings, double window)
        : settings_(settings), window_(std::clamp(window, settings.window_min, settings.window_max)) {}

    /// Applies eq. 4. Readings without answers change nothing, nor do fast answers while the window is not in
    /// use, which would let it grow without bound.
    void update(const LatencyReading& reading) {
        if (!(reading.latency > 0))  // also NaN
            return;
        const double latency = std::max(reading.latency, settings_.floor);
        const double right = window_ * (settings_.threshold / latency);
        if (right > window_ && reading.outstanding < kInUse * window_)
            return;
        const double next = (1 - settings_.gamma) * window_ + settings_.gamma * right;
        window_ = std::clamp(next, settings_.window_min, settings_.window_max);
    }

    [[nodiscard]] double window() const { return window_; }
    /// Rate of the appliance when it answers at the threshold (eq. 5).
    [[nodiscard]] double rate() const { return window_ / settings_.threshold; }

  private:
    LatencySettings settings_;
    double window_;
};

}  // namespace weir::estimate
