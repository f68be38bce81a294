// progress.cc - standard error, if it is a terminal.
#include "ctrl/calibrate/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace weir::calibrate {

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}

void Progress::expect(std::size_t steps, double seconds_each) {
    steps_ = steps;
    seconds_each_ = seconds_each;
}

void Progress::step(const std::string& what) {
    done_ = std::min(done_ + 1, steps_);
    if (!shown_)
        return;
    const long left = std::lround(static_cast<double>(steps_ - done_) * seconds_each_);
    std::cerr << "\r\033[K" << 100 * done_ / std::max<std::size_t>(steps_, 1) << "%, " << left
              << " s to go: " << what << std::flush;
}

void Progress::clear() {
    if (shown_ && done_ > 0)
        std::cerr << "\r\033[K" << std::flush;
}

}  // namespace weir::calibrate
