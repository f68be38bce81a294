// backpressure.h - receivers on this host that do not keep up with a sending vNIC, as that vNIC sees them.
// Source: docs/algorithms.md 4.6. Units: buffers (mbufs); ns. Threads: owning worker; `pressed`, `holders`
// and `holder` also by the workers of the receivers.
//
// A VM that sends to one receiver only is held back when its frames wait there: its ring is not polled, and
// no frame is lost. A VM that sends to several receivers is not held back: one slow receiver would stop its
// frames to the others. Its last bursts show whether it sends to one or to several. So that they go on
// showing it, a ring that is held back is looked at again every 5 ms.
//
// Example: a VM floods vm9 only, which takes 1 Mbit/s of it, and is held back. When it begins to send to vm3
// instead, a look at its ring finds that within 5 ms; for 100 ms from then on its ring is polled, and at most
// 128 KiB of its frames to vm9 wait: more are dropped.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/clock.h"
#include "vswitch/datapath/frame/destination.h"

namespace weir {

/// Read at every burst: four bytes of the vNIC's first cache line.
struct BurstPressure {
    std::atomic<bool> pressed{false};  ///< the sender may have to be held back
    bool receives_slowly = false;      ///< as a receiver: frames wait for it, or may have to
    Destination last = kToAll;         ///< of its frames; kToAll: none yet
};
static_assert(sizeof(BurstPressure) == 4);

/// The rings of a receiver that frames of one sender went to in the last 100 to 200 ms. Bit n: ring n.
class RingUse {
  public:
    static constexpr Nanos kMemory = 100'000'000;

    void note(std::uint32_t rings, Nanos now) {
        if (now - since_ >= kMemory) {
            before_ = now - since_ < 2 * kMemory ? rings_ : 0;
            rings_ = 0;
            since_ = now;
        }
        rings_ |= rings;
    }
    [[nodiscard]] std::uint32_t used(Nanos now) const {
        const Nanos age = now - since_;
        return age < kMemory ? rings_ | before_ : age < 2 * kMemory ? rings_ : 0;
    }

  private:
    std::uint32_t rings_ = 0;
    std::uint32_t before_ = 0;
    Nanos since_ = 0;
};

struct Backpressure {
    /// How long a VM counts as one that sends to several after its frames changed their destination.
    static constexpr Nanos kMemory = 100'000'000;
    /// Time after which a ring that a receiver holds back is looked at again.
    static constexpr Nanos kLookPeriod = 5'000'000;

    std::uint32_t buffers = 0;              ///< of its frames that wait for receivers of its worker
    std::atomic<std::uint32_t> holders{0};  ///< receivers of other workers that hold it back
    std::atomic<VnicId> holder{kNoVnic};    ///< of these, the one for which a frame came last
    Nanos changed = 0;                      ///< when its frames had another destination than before; 0: never
    RingUse rings;                          ///< of the receiver of its last frames, while some of them wait

    [[nodiscard]] bool several(Nanos at) const { return changed != 0 && at < changed + kMemory; }
    /// This receiver, of another worker, holds back the sender's frames to it.
    [[nodiscard]] bool held_for(Destination to) const {
        return holders.load(std::memory_order_relaxed) != 0 && holder.load(std::memory_order_relaxed) == to;
    }

    // By another worker's receiver.
    void hold(BurstPressure& flags) {
        holders.fetch_add(1);
        flags.pressed.store(true);
    }
    void release(VnicId receiver) {
        holder.compare_exchange_strong(receiver, kNoVnic);
        holders.fetch_sub(1);
    }

    /// The owner looks again when the flag is set. @return whether it is still needed
    bool check(BurstPressure& flags) const {
        if (buffers != 0 || holders.load() != 0)
            return true;
        flags.pressed.store(false);
        if (holders.load() == 0)
            return false;
        flags.pressed.store(true);  // one came between the two
        return true;
    }
};

}  // namespace weir
