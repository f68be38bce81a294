// run.cc - intervals, judged one by one.
#include "test/ctrl/faults/run.h"

#include <algorithm>

#include "test/ctrl/faults/checkers.h"
#include "test/ctrl/faults/documented.h"

namespace weir::faults {

bool is_documented(const std::string& rule) {
    return std::ranges::find(kDocumented, rule, &Documented::rule) != kDocumented.end();
}

std::string Verdict::faults() const {
    std::string out;
    for (const auto& [rule, first] : broken)
        if (!is_documented(rule))
            out += "interval " + std::to_string(first.interval) + ": " + rule + ": " + first.text + " (" +
                   std::to_string(first.times) + " times)\n";
    return out;
}

Verdict run_seed(std::uint32_t seed, std::uint32_t intervals, Tampering tampering) {
    World world(seed, intervals);
    world.set_tampering(std::move(tampering));
    const auto checkers = all_checkers();
    Verdict verdict;
    Findings findings;
    const auto take = [&] {
        for (Finding& finding : findings) {
            Broken& broken = verdict.broken[finding.rule];
            if (++broken.times == 1) {
                broken.interval = world.interval();
                broken.text = std::move(finding.text);
            }
        }
        findings.clear();
    };
    for (std::uint32_t i = 0; i < intervals; ++i) {
        world.run_interval();
        const bool is_settled =
            std::ranges::find(world.schedule().settled, i) != world.schedule().settled.end();
        for (const auto& checker : checkers) {
            checker->on_interval(world, findings);
            if (is_settled)
                checker->on_settled(world, findings);
            if (i + 1 == intervals)
                checker->on_end(world, findings);
        }
        take();
    }
    verdict.plan = world.plan().file + '\n' + world.describe();
    return verdict;
}

}  // namespace weir::faults
