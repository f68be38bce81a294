// flood_queue.h - frames that wait to be copied for all of a VLAN: a queue per sender, served in turn, so
// many copies per turn of the poll loop. Source: DRR (SIGCOMM'95); docs/algorithms.md 3.9. Units: copies,
// weighed by offload::weight(); accounted bytes; ns. Threads: owning worker. Allocates only when built.
//
// A broadcast among 1,000 vNICs is 1,000 copies, and a burst of them 32,000, some 8 ms of a core. The floods
// of a sender wait in its queue. A turn makes kPerTurn copies, kPerVisit for one sender and then for the
// next. So a turn spends 60 us on copies in the mean, and a sender with one frame waits for others' visits,
// not for their frames. A copy of a super-frame is not begun and left: a visit may exceed its part by one
// such copy, and the sender and the turn are in debt for the excess, which later visits and turns pay.
//
// Example: vm1 floods 32 frames among 1,000 vNICs, vm2 then one in a VLAN of 11. vm2's ten copies are made in
// the next turn, behind 32 of vm1's; those 31,968 of vm1 need 125 turns. If vm1 floods super-frames of 256
// segments, each copy is 256 of a turn: it takes the next seven visits of vm1 to pay for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/types.h"

struct rte_mbuf;

namespace weir {

struct VnicPath;
struct DirectionStats;

/// A frame for all of a VLAN.
struct Flood {
    rte_mbuf* frame = nullptr;
    VnicPath* from = nullptr;         ///< nullptr: from the wire or a tunnel
    DirectionStats* stats = nullptr;  ///< that count it
    std::uint32_t bytes = 0;
    std::uint16_t vlan = 0;
    std::uint16_t weight = 1;   ///< of each copy
    std::uint16_t buffers = 0;  ///< of a vNIC's quota: a super-frame's as the uplink may split it
    bool group = false;         ///< a group address; else an unknown one
    bool wire_only = false;     ///< not for VMs here: it goes into every tunnel
    bool encrypted = false;     ///< out of a tunnel: for vNICs that encrypt, and only for them

    [[nodiscard]] bool unknown() const { return !group && !wire_only; }
};

/// One sender's frames, in order, and how far the first of them is.
class FloodQueue {
  public:
    /// Frames of weight 1 that a sender's bound on floods lets come at once.
    static constexpr std::size_t kMax = 64;

    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] std::size_t size() const { return tail_ - head_; }
    /// @return false when the queue is full
    [[nodiscard]] bool push(const Flood& flood) {
        if (size() == kMax)
            return false;
        unknown_ += flood.unknown();
        floods_[tail_++ % kMax] = flood;
        return true;
    }
    [[nodiscard]] Flood& front() { return floods_[head_ % kMax]; }
    void pop() {
        unknown_ -= front().unknown();
        ++head_;
        begun = false;
        copies = 0;
        tunnel = 0;
    }

    /// Whether which(flood) holds for one of those to unknown addresses.
    template <class Which>
    [[nodiscard]] bool any_unknown(Which&& which) const {
        for (std::uint32_t at = head_; unknown_ != 0 && at != tail_; ++at)
            if (const Flood& flood = floods_[at % kMax]; flood.unknown() && which(flood))
                return true;
        return false;
    }
    [[nodiscard]] bool has_unknown() const { return unknown_ != 0; }

    // Of the first frame.
    bool begun = false;
    VnicId next = kNoVnic;     ///< receiver of the next copy, once it has begun
    std::uint32_t tunnel = 0;  ///< that the next copy is for, downwards; 0: none, the frame itself goes there
    std::uint32_t copies = 0;  ///< made so far for VMs

    std::uint32_t debt = 0;  ///< copies beyond those that its visits allowed

  private:
    static_assert((kMax & (kMax - 1)) == 0, "indices wrap");
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
    std::uint32_t unknown_ = 0;
    std::array<Flood, kMax> floods_;
};

/// The senders with waiting frames, in the order of their visits.
class FloodRound {
  public:
    static constexpr std::uint32_t kPerTurn = 256;
    static constexpr std::uint32_t kPerVisit = 32;

    /// @param senders at most so many
    explicit FloodRound(std::size_t senders) { waiting_.reserve(senders); }

    [[nodiscard]] bool idle() const { return waiting_.empty(); }
    void begin_turn() {
        left_ = kPerTurn - std::min(debt_, kPerTurn);
        debt_ -= kPerTurn - left_;
    }
    /// @return false when the sender's queue is full
    [[nodiscard]] bool push(FloodQueue& sender, const Flood& flood) {
        const bool waits = !sender.empty();
        if (!sender.push(flood))
            return false;
        if (!waits)
            waiting_.push_back(&sender);
        return true;
    }
    /// The sender has gone, or its queue was emptied.
    void remove(const FloodQueue& sender) {
        const auto at = std::find(waiting_.begin(), waiting_.end(), &sender);
        if (at == waiting_.end())
            return;
        if (static_cast<std::size_t>(at - waiting_.begin()) < at_)
            --at_;
        leave(static_cast<std::size_t>(at - waiting_.begin()));
    }
    /// The senders with waiting frames.
    [[nodiscard]] const std::vector<FloodQueue*>& waiting() const { return waiting_; }

    /// Visits senders until this turn's copies are made: visit(FloodQueue&, budget) makes copies until they
    /// weigh `budget` or more, pops frames that are done, and returns the weight that it used, 1 at least. To
    /// pass over a sender in debt counts 1.
    template <class Visit>
    void serve(Visit&& visit) {
        while (left_ != 0 && !waiting_.empty()) {
            if (at_ >= waiting_.size())
                at_ = 0;
            FloodQueue& sender = *waiting_[at_];
            const std::uint32_t part = std::min(left_, kPerVisit);
            const bool passed_over = sender.debt >= part;
            const std::uint32_t used = passed_over ? 1 : visit(sender, part - sender.debt);
            sender.debt += passed_over ? 0 : used;
            sender.debt -= std::min(sender.debt, part);
            debt_ += used - std::min(left_, used);
            left_ -= std::min(left_, used);
            if (sender.empty())
                leave(at_);
            else
                ++at_;
        }
    }

  private:
    /// Where GCC 14 inlines this and knows that there is one sender at most, it warns of a move behind the
    /// vector's end (-Wstringop-overflow), which no index below the size makes.
    [[gnu::noinline]] void leave(std::size_t at) {
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    std::uint32_t left_ = kPerTurn;
    std::uint32_t debt_ = 0;  // copies beyond those of past turns
    std::size_t at_ = 0;      // whose visit is next
    std::vector<FloodQueue*> waiting_;
};

}  // namespace weir
