// capture.h - which frames a capture wants, and the copy of a frame that it gets.
// Source: docs/operations.md; libpcap. Units: bytes, ns. Threads: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/types.h"
#include "vswitch/base/drop_reason.h"

namespace weir {

/// One instruction of a compiled filter (BPF): as libpcap's bpf_insn.
struct FilterInstruction {
    std::uint16_t code = 0;
    std::uint8_t if_true = 0;
    std::uint8_t if_false = 0;
    std::uint32_t value = 0;
};
/// Filters that a switch runs for each frame are no longer than this.
inline constexpr std::size_t kFilterInstructionsMax = 512;

struct CaptureOrder {
    static constexpr std::uint32_t kSnapMin = 60;
    static constexpr std::uint32_t kSnapMax = 16'384;
    static constexpr std::uint32_t kSnap = 1'600;
    /// Captures of a switch at once.
    static constexpr std::size_t kMax = 4;

    std::string vnic{};                       ///< its name; empty: the uplink
    bool drops = false;                       ///< dropped frames alone
    std::optional<DropReason> reason{};       ///< of drops: this one alone
    std::uint32_t first = UINT32_MAX;         ///< frames of each drop reason, on each worker
    std::uint32_t every = 1;                  ///< one of so many frames that fit, on each worker
    std::uint32_t snap = kSnap;               ///< bytes that are kept of each frame
    std::vector<FilterInstruction> filter{};  ///< empty: every frame
};

/// The place at which a frame is seen.
struct CapturePoint {
    enum class Direction : std::uint8_t { kFromVm, kToVm, kFromWire, kToWire };
    VnicId vnic = kNoVnic;  ///< kNoVnic: of no vNIC, or of one that is not known here
    Direction direction = Direction::kFromVm;
    bool uplink = false;  ///< a capture of the uplink sees it

    [[nodiscard]] static constexpr CapturePoint from_vm(VnicId vnic, bool uplink = false) {
        return {vnic, Direction::kFromVm, uplink};
    }
    [[nodiscard]] static constexpr CapturePoint to_vm(VnicId vnic) { return {vnic, Direction::kToVm, false}; }
    [[nodiscard]] static constexpr CapturePoint from_wire(VnicId vnic = kNoVnic) {
        return {vnic, Direction::kFromWire, true};
    }
    [[nodiscard]] static constexpr CapturePoint to_wire() { return {kNoVnic, Direction::kToWire, true}; }
};
inline constexpr const char* kCaptureDirectionNames[] = {"from_vm", "to_vm", "from_wire", "to_wire"};

/// The end of a frame's way, as far as it is known.
enum class CaptureVerdict : std::uint8_t {
    kReceived,   ///< it came over the wire; if it is dropped, it is captured again then
    kForwarded,  ///< it left the switch, or was handed to the worker of its receiver
    kDropped
};
inline constexpr const char* kCaptureVerdictNames[] = {"received", "forwarded", "dropped"};

/// In front of a copy of a frame.
struct CaptureRecord {
    std::uint64_t cycles = 0;  ///< of the TSC
    Nanos queue_delay = 0;     ///< time that it waited; 0: not, or not known
    std::uint32_t length = 0;  ///< of the frame
    std::uint32_t kept = 0;    ///< bytes of the copy
    CapturePoint point;
    CaptureVerdict verdict = CaptureVerdict::kForwarded;
    DropReason reason = DropReason::kCount;  ///< of a dropped frame
};

}  // namespace weir
