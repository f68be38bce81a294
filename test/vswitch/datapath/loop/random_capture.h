// random_capture.h - a capture of a random switch's vNIC: every frame that the vNIC counts is copied once.
// Threads: tests only.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "test/vswitch/datapath/loop/switch_harness.h"

namespace weir::testing {

class RandomCapture {
  public:
    /// Begins on the vNIC's worker, which counts all its frames.
    void begin(SwitchHarness& host, VnicId vnic);
    /// Ends; the vNIC may have gone.
    void end(SwitchHarness& host);
    /// Takes the copies, and compares them with the counters. @return the first difference
    [[nodiscard]] std::optional<std::string> fault(const VnicStats& stats);

  private:
    struct Counts {
        std::uint64_t forwarded = 0;
        std::array<std::uint64_t, kDropReasons> drops{};
    };
    void take();
    [[nodiscard]] static std::optional<std::string> differs(const std::string& direction,
                                                            const Counts& copies, const DirectionStats& now,
                                                            const DirectionStats& before, std::uint64_t lost);

    std::unique_ptr<Capture> capture_;
    WorkerId owner_ = 0;
    VnicStats before_;
    Counts from_vm_;
    Counts to_vm_;
};

}  // namespace weir::testing
