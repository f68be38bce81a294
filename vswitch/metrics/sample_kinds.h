// sample_kinds.h - kinds of samples that several families of the switch have.
// Source: docs/metrics.md. Threads: any (pure).
#pragma once

#include <string>

#include "common/metrics/family_table.h"
#include "common/units.h"
#include "vswitch/base/stats.h"

namespace weir {

/// The two directions of a port, as labels.
struct DirectionLabels {
    const char* out;
    const char* in;
};
inline constexpr DirectionLabels kOfVnic{R"(direction="from_vm")", R"(direction="to_vm")"};
inline constexpr DirectionLabels kOfUplink{R"(direction="to_wire")", R"(direction="from_wire")"};

/// A sample for each reason that occurred. @param more labels in front of the reason
inline void write_drops(const metrics::Samples& out, const std::string& more, const DirectionStats& stats) {
    for (std::size_t i = 0; i < kDropReasons; ++i)
        if (stats.drops[i] != 0)
            out(more + (more.empty() ? "" : ",") + "reason=\"" + kDropReasonTexts[i].name + '"',
                stats.drops[i]);
}

inline void write_quantiles(const metrics::Samples& out, Nanos p50, Nanos p99, Nanos most) {
    out.seconds(R"(quantile="0.5")", p50);
    out.seconds(R"(quantile="0.99")", p99);
    out.seconds(R"(quantile="1")", most);
}

/// A rate in bytes per second.
inline void write_rate(const metrics::Samples& out, std::uint64_t bits_per_second) {
    out.real(static_cast<double>(bits_per_second) / static_cast<double>(kBitsPerByte));
}

/// The same where there is one.
inline void write_rate(const metrics::Samples& out, const std::optional<std::uint64_t>& bits_per_second) {
    if (bits_per_second)
        write_rate(out, *bits_per_second);
}

}  // namespace weir
