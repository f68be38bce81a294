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

/// Of the cycles of the workers that serve the vNIC. Of the specification: a value that is absent is the
/// file's. Of a switch's file: likewise not stated.
struct WorkerPromise {
    std::optional<std::uint64_t> reservation_pps{};  ///< taken from its ring beside any shares
    std::optional<std::uint64_t> limit_pps{};
    std::optional<std::uint32_t> cycle_shares{};         ///< 1..10000, of a worker's cycles
    std::optional<std::uint64_t> encrypt_reservation{};  ///< tokens per second of the tunnels' cost
    std::optional<std::uint64_t> encrypt_limit{};        ///< likewise

    bool operator==(const WorkerPromise&) const = default;
};

/// Of the specification: every value holds. Of a switch's file: a value that is the default is not stated.
struct VnicPromise {
    std::optional<GuaranteeKind> guarantee{};  ///< absent = strict with a reservation, fairness without
    std::uint64_t reservation_bps = 0;         ///< each way; of a dynamic guarantee its mean: size / time
    std::uint64_t size_bytes = 0;              ///< of a dynamic guarantee
    Nanos time = 0;                            ///< likewise
    std::optional<std::uint64_t> limit_bps{};  ///< each way; absent = none
    std::uint32_t shares = 100;                ///< 1..10000, of the uplink
    WorkerPromise worker{};

    bool operator==(const VnicPromise&) const = default;
};

// Bounds of all files and messages that have these values.
inline constexpr Range kPromisedRateRange{0, 400'000'000'000};                      // bit/s
inline constexpr Range kPromisedLimitRange{64'000, 400'000'000'000};                // bit/s
inline constexpr Range kPromisedSizeRange{1'000, 1'000'000'000'000'000};            // bytes
inline constexpr Range kPromisedTimeRange{kNanosPerSec, 2'592'000 * kNanosPerSec};  // a month
inline constexpr Range kPromisedSharesRange{1, 10'000};
inline constexpr Range kPromisedPacketsRange{0, 1'000'000'000};         // packets/s
inline constexpr Range kPromisedPacketLimitRange{10, 1'000'000'000};    // packets/s
inline constexpr Range kPromisedTokensRange{0, 1'000'000'000'000};      // tokens/s
inline constexpr Range kPromisedTokenLimitRange{1, 1'000'000'000'000};  // tokens/s

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

/// Bits per second of promised packets at an uplink that accounts the wire: 64 bytes each, and a VLAN tag.
[[nodiscard]] std::uint64_t promised_packets_bps(std::uint64_t packets_per_sec);

/// Reads `reservation_pps`, `limit_pps`, `cycle_shares`, `encrypt_reservation` and `encrypt_limit` of the
/// specification, after the guarantee and the limit: reservations are within their limits, and promised
/// packets within the reservation of the link, which has to carry them.
void read_worker_promise(ObjectReader& reader, VnicPromise& out);

}  // namespace weir
