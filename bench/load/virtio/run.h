// run.h - one measured stretch of traffic: warm up, count, drain.
// Units: TSC cycles; packets; bytes. Threads: the polling core calls step(); main constructs and reads the
// result.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/load/virtio/port.h"
#include "bench/load/virtio/spec.h"
#include "bench/load/virtio/stream.h"

namespace weir::load {

class Run {
  public:
    enum class Phase : int { kWarmUp, kMeasure, kDrain, kDone };

    Run(const RunSpec& spec, std::vector<std::unique_ptr<Port>>& ports);

    /// One iteration: receives from every port, sends the frames that are due. @return false when the run is
    /// over
    bool step(std::uint64_t now);

    /// Blocks until the phase is past `phase`.
    void wait_past(Phase phase) const;
    [[nodiscard]] nlohmann::json result() const;

  private:
    /// Frames that one port received.
    struct Tally {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
        std::uint64_t first_tsc = 0;        ///< of the first frame, warm-up included; 0 = none yet
        std::vector<std::uint64_t> series;  ///< packets per interval
        bool inspect = false;
        bool echo = false;
        bool unread = false;
        double wire_bytes_per_cycle = 0;  ///< of a slow wire; 0 = takes every frame at once
        double wire_bytes = 0;            ///< that the wire may still carry; below zero after a burst
    };

    void advance_phase(std::uint64_t now);
    void enter(Phase phase, std::uint64_t now, std::uint64_t cycles);
    /// The measured ports are polled now. A long time since their last poll was a pause of the generator.
    void note_poll(std::uint64_t now);
    /// Serves the measured ports and streams, inspected and paced, while many other ports take their time.
    void serve_measured();
    void receive(std::size_t port, std::uint64_t gap);
    void account(Tally& tally, rte_mbuf** packets, std::uint16_t count);
    void inspect(rte_mbuf** packets, std::uint16_t count);
    static void send_back(Port& port, rte_mbuf** packets, std::uint16_t count);
    [[nodiscard]] nlohmann::json port_result(std::size_t port, double seconds) const;
    [[nodiscard]] nlohmann::json stream_result(std::size_t stream, double seconds) const;

    RunSpec spec_;
    std::vector<std::unique_ptr<Port>>& ports_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<Tally> tallies_;
    std::uint64_t tsc_hz_;
    std::uint64_t pause_cycles_;
    std::uint64_t series_cycles_;
    std::uint64_t begun_tsc_;
    std::uint64_t begun_monotonic_ns_;
    std::uint64_t phase_ends_;
    std::uint64_t measured_from_ = 0;
    std::uint64_t measured_cycles_ = 0;
    std::uint64_t gap_max_ =
        0;  ///< longest time between two steps while measuring: the generator's own pause
    std::uint64_t last_step_ = 0;
    std::uint64_t last_poll_ = 0;
    std::uint64_t pause_end_ = 0;  ///< of the latest pause: frames sent before it are not timed
    std::atomic<Phase> phase_{Phase::kWarmUp};
};

}  // namespace weir::load
