// vnic_promise.h - the promise to one vNIC at its host's uplink: by the cluster's specification, and as a
// switch's file states it. Their differences, and the reader of the keys that both files have.
// Source: docs/operations.md. Units: in the field names. Threads: any; never on a poll thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config/config_reader.h"
#include "common/guarantee.h"

namespace weir {

/// Of the specification: every value holds. Of a switch's file: a value that is the default is not stated.
struct VnicPromise {
    std::optional<GuaranteeKind> guarantee{};  ///< absent = strict with a reservation, fairness without
    std::uint64_t reservation_bps = 0;         ///< each way; of a dynamic guarantee its mean: size / time
    std::uint64_t size_bytes = 0;              ///< of a dynamic guarantee
    Nanos time = 0;                            ///< likewise
    std::optional<std::uint64_t> limit_bps{};  ///< each way; absent = none
    std::uint32_t shares = 100;                ///< 1..10000, of the uplink

    bool operator==(const VnicPromise&) const = default;
};

// Bounds of all files and messages that have these values.
inline constexpr Range kPromisedRateRange{0, 400'000'000'000};                      // bit/s
inline constexpr Range kPromisedLimitRange{64'000, 400'000'000'000};                // bit/s
inline constexpr Range kPromisedSizeRange{1'000, 1'000'000'000'000'000};            // bytes
inline constexpr Range kPromisedTimeRange{kNanosPerSec, 2'592'000 * kNanosPerSec};  // a month
inline constexpr Range kPromisedSharesRange{1, 10'000};

/// The kind in force: of a promise without one that of its reservation.
[[nodiscard]] GuaranteeKind kind_of(const VnicPromise& promise);
/// Size / time of a dynamic guarantee, in bit/s.
[[nodiscard]] std::uint64_t dynamic_mean_bps(std::uint64_t size_bytes, Nanos time);

/// A value of which the specification and a switch's file state two, as text. The specification's is in
/// force; of limits the lower one.
struct PromiseDifference {
    std::string key{};  ///< as in the switch's file
    std::string promised{};
    std::string file{};
    bool operator==(const PromiseDifference&) const = default;
};
/// Example: a promise of 1 Gbit/s beside a file's `"reservation": "2Gbit"` is {"reservation", "1Gbit",
/// "2Gbit"}.
[[nodiscard]] std::vector<PromiseDifference> differences(const VnicPromise& promise, const VnicPromise& file);
/// "reservation 1Gbit (file: 2Gbit); limit 4Gbit (file: 3Gbit, which is lower and holds)"
[[nodiscard]] std::string text_of(const std::vector<PromiseDifference>& differences);

/// Reads `guarantee_kind`, `reservation`, `size` and `time`; keys that do not belong to the kind are faults.
/// @param is_rate_elsewhere another key gives a strict guarantee its rate
void read_guarantee(ObjectReader& reader, VnicPromise& out, bool is_rate_elsewhere = false);

}  // namespace weir
