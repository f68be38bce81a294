// poll_turn.h - one turn of the poll loop in time: how long it may last, and how often the wire is polled in
// it. Source: docs/algorithms.md 3.7. Units: TSC cycles. Threads: owning worker.
//
// A turn polls every VM's ring. With 28 busy VMs that takes some 40 us, in which a wire with 1 million frames
// per second delivers 40: more than one burst. So the wire, and the frames of other workers, are polled again
// between two VMs when the VMs have used the core for `outside_every` since, but for no less than the last
// such poll took: each side gets half of the core when both are busy. Frames for the wire leave then, too. A
// turn that has lasted `length_max` ends, and the next one continues with the VM behind.
//
// Example, with polls of VMs that take 4 us, outside_every 10 us and bursts of the wire that take 3 us: after
// three VMs the wire is polled, and so on. Were a burst of the wire 30 us (decryption), eight VMs would come
// between two of them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir {

class PollTurn {
  public:
    struct Profile {
        std::uint64_t outside_every = UINT64_MAX;
        std::uint64_t length_max = UINT64_MAX;
    };
    explicit PollTurn(const Profile& profile) : profile_(profile) {}

    void begin(std::uint64_t cycles) { begun_ = cycles; }
    [[nodiscard]] bool over(std::uint64_t cycles) const { return cycles - begun_ >= profile_.length_max; }

    /// The wire and the frames of other workers were polled in this span.
    void outside_polled(std::uint64_t from, std::uint64_t to) {
        outside_due_after_ = std::max(profile_.outside_every, to - from);
        outside_end_ = to;
    }
    [[nodiscard]] bool outside_due(std::uint64_t cycles) const {
        return cycles - outside_end_ >= outside_due_after_;
    }

  private:
    Profile profile_;
    std::uint64_t begun_ = 0;
    std::uint64_t outside_end_ = 0;
    std::uint64_t outside_due_after_ = UINT64_MAX;
};

}  // namespace weir
