// lines.h - the line between one switch and the controller, with the faults that it has at present.
// Units: Nanos of the harness' clock; percent. Threads: tests only.
#pragma once

#include <map>
#include <vector>

#include "common/clock.h"
#include "common/wire/header.h"
#include "test/ctrl/faults/plan.h"

namespace weir::faults {

struct LineMessage {
    wire::HeaderBytes header{};
    wire::Bytes body{};
};

/// Faults of a line. All zero: each message arrives at once, in order.
struct LineFaults {
    unsigned loss = 0;    ///< percent of messages that never arrive
    unsigned repeat = 0;  ///< percent that arrive twice, the second time late
    Nanos delay = 0;      ///< the most that a message is late: later ones overtake it
    bool is_cut = false;  ///< no message arrives
};

/// One direction of a line. A message that is under way when the line is cut arrives; those after it do not.
class Line {
  public:
    void send(LineMessage message, const LineFaults& faults, Nanos now, Random32& random) {
        if (faults.is_cut || random() % 100 < faults.loss) {
            ++lost_;
            return;
        }
        if (random() % 100 < faults.repeat)
            under_way_.emplace(now + 1 + random() % kRepeatLate, message);
        const Nanos late = faults.delay == 0 ? 0 : random() % faults.delay;
        under_way_.emplace(now + late, std::move(message));
    }
    /// Messages that arrive now, in their order.
    [[nodiscard]] std::vector<LineMessage> arrived(Nanos now) {
        std::vector<LineMessage> out;
        while (!under_way_.empty() && under_way_.begin()->first <= now) {
            out.push_back(std::move(under_way_.begin()->second));
            under_way_.erase(under_way_.begin());
        }
        return out;
    }
    /// The connection has ended, with all that is under way.
    void clear() { under_way_.clear(); }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    static constexpr Nanos kRepeatLate = 2 * kNanosPerSec;

    std::multimap<Nanos, LineMessage> under_way_;  // by the time of arrival
    std::uint64_t lost_ = 0;
};

}  // namespace weir::faults
