// latency_window.h - how much may be outstanding at an appliance so that it answers within a threshold: the
// latency-held capacity. Source: SRP 3.1.3 (eq. 4, 5), after PARDA. Units: tokens, tokens/s, seconds.
// Threads: one owner.
#pragma once

namespace weir::estimate {

struct LatencySettings {
    double threshold = 0.02;  ///< congestion threshold Lc, above 0
    double gamma = 0.5;       ///< of the way to what is right, in one interval; 0 to 1
    double window_min = 1;
    double window_max = 1e6;
    double floor = 0;  ///< the appliance answers nothing faster: less is a fault of measuring, or a cache
};

/// What happened in one interval.
struct LatencyReading {
    double latency = 0;      ///< mean over what was answered; 0 = nothing was
    double outstanding = 0;  ///< on average, of all hosts together
};

class LatencyWindow {
  public:
    /// A window of which less is used on average is not what holds its users back.
    static constexpr double kInUse = 0.75;

    LatencyWindow(const LatencySettings& settings, double window);

    /// Eq. 4. What says nothing changes nothing: no answers, and fast answers while the window is not in use,
    /// which would let it grow without bound.
    void update(const LatencyReading& reading);

    [[nodiscard]] double window() const { return window_; }
    /// Eq. 5: what the appliance does when it answers at the threshold.
    [[nodiscard]] double rate() const { return window_ / settings_.threshold; }
    [[nodiscard]] const LatencySettings& settings() const { return settings_; }

  private:
    LatencySettings settings_;
    double window_;
};

}  // namespace weir::estimate
