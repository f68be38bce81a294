// rough_path.h - a simulated network path that cuts a stream anew, delays, loses and repeats its segments.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/support/random.h"

namespace weir::testing {

/// Bytes of a stream that pass together.
struct Passing {
    std::size_t from;
    std::size_t to;
};

/// Probabilities in 1000, for each segment.
struct Roughness {
    std::uint32_t segment_max = 1448;
    std::uint32_t late = 0;           ///< passes after others, or was lost and is retransmitted alone
    std::uint32_t lost_with_all = 0;  ///< is retransmitted, together with all later segments
    std::uint32_t gone = 0;           ///< never passes
    std::uint32_t repeated = 0;       ///< passes again, cut differently
    std::uint32_t delay_max = 30;     ///< segments that pass before a late one
};

/// The pieces of a stream, in the order in which they pass.
inline std::vector<Passing> rough_path(std::size_t bytes, const Roughness& roughness, Random32& random) {
    struct Timed {
        std::uint64_t at;
        Passing what;
    };
    std::vector<Timed> all;
    std::uint64_t now = 0;
    const auto chance = [&](std::uint32_t of_1000) { return random() % 1000 < of_1000; };
    const auto later = [&] { return now + 3 + 2 * std::uint64_t{random() % roughness.delay_max}; };
    const auto cut = [&](std::size_t from) {
        return Passing{from, std::min<std::size_t>(bytes, from + 1 + random() % roughness.segment_max)};
    };
    for (std::size_t from = 0; from < bytes; now += 2) {
        const Passing what = cut(from);
        if (chance(roughness.lost_with_all)) {
            std::size_t sent = what.to;
            for (std::uint32_t more = random() % roughness.delay_max; more > 0 && sent < bytes;
                 --more, now += 2) {
                all.push_back({now, cut(sent)});
                sent = all.back().what.to;
            }
            continue;  // all is retransmitted from here on
        }
        from = what.to;
        if (chance(roughness.gone))
            continue;
        all.push_back({chance(roughness.late) ? later() : now, what});
        if (chance(roughness.repeated)) {
            const std::size_t begin = what.from - std::min<std::size_t>(what.from, random() % 2000);
            const std::size_t end = std::min<std::size_t>(bytes, what.to + random() % 500);
            all.push_back({later(), {begin + random() % (what.to - begin), end}});
        }
    }
    std::ranges::stable_sort(all, {}, &Timed::at);
    std::vector<Passing> passing;
    for (const Timed& each : all)
        passing.push_back(each.what);
    return passing;
}

}  // namespace weir::testing
