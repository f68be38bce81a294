// latency_window.cc - eq. 4 within its bounds.
#include "ctrl/estimate/latency_window.h"

#include <algorithm>

namespace weir::estimate {

LatencyWindow::LatencyWindow(const LatencySettings& settings, double window)
    : settings_(settings), window_(std::clamp(window, settings.window_min, settings.window_max)) {}

void LatencyWindow::update(const LatencyReading& reading) {
    if (!(reading.latency > 0))  // NaN too
        return;
    const double latency = std::max(reading.latency, settings_.floor);
    const double right = window_ * (settings_.threshold / latency);
    if (right > window_ && reading.outstanding < kInUse * window_)
        return;
    const double next = (1 - settings_.gamma) * window_ + settings_.gamma * right;
    window_ = std::clamp(next, settings_.window_min, settings_.window_max);
}

}  // namespace weir::estimate
