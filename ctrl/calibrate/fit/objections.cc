// objections.cc - when a measurement is not one of the appliance.
#include <array>
#include <cmath>
#include <cstdio>

#include "ctrl/calibrate/fit/table_fit.h"

namespace weir::calibrate {

std::string percent_text(double part) {
    std::array<char, 32> text{};
    const bool whole = std::abs(100 * part - std::round(100 * part)) < 0.05;
    std::snprintf(text.data(), text.size(), whole ? "%.0f%%" : "%.1f%%", 100 * part);
    return text.data();
}

void object_to(const Measured& measured, const FitRules& rules, Faults& objections) {
    const auto say = [&](std::string found, std::string allowed, std::string message) {
        objections.push_back({measured.name(), std::move(found), std::move(allowed), std::move(message)});
    };
    if (measured.rates.size() < kRepeatsMin)
        say(std::to_string(measured.rates.size()) + " rounds", std::to_string(kRepeatsMin) + " or more",
            "too few to say how sure the median is");
    const Estimate rate = estimate(measured.rates);
    if (rate.noise() > rules.noise)
        say("noise of " + percent_text(rate.noise()), percent_text(rules.noise) + " or less",
            "the rounds differ too much; keep others off the appliance and the path, or take longer or more "
            "rounds (--time, --rounds)");
    if (!measured.half_rates.empty()) {
        const double part = estimate(measured.half_rates).median / rate.median;
        if (part < rules.saturated)
            say(percent_text(part) + " of the rate with half of the " + std::to_string(measured.outstanding) +
                    " requests outstanding",
                percent_text(rules.saturated) + " or more",
                "the appliance was not saturated; raise --outstanding or --connections");
    }
    if (measured.generator > rules.generator)
        say(percent_text(measured.generator) + " of a core", percent_text(rules.generator) + " or less",
            "the load generator was the bottleneck, not the appliance; run it where it has a faster core to "
            "itself, or leave this size out");
    if (measured.held_back > rules.held_back)
        say("held back " + percent_text(measured.held_back) + " of the time",
            percent_text(rules.held_back) + " or less",
            "the switch's own limit was measured, not the appliance; raise the vNIC's limits for it while "
            "measuring");
}

}  // namespace weir::calibrate
