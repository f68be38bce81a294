// turns.h - deficit round robin over the members of a set of classes: in its turn a class may send as many
// bytes as its quanta have earned. Source: DRR (SIGCOMM'95). Units: bytes. Threads: one owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "vswitch/qos/buckets/bitmap_tree.h"

namespace weir {

/// What a class has earned in one round robin.
struct TurnAccount {
    std::uint64_t deficit = 0;  ///< bytes it may still send in its turn
    std::uint64_t quantum = 0;  ///< bytes per turn
};

template <std::size_t N>
class Turns {
  public:
    using Members = BitmapTree<N>;

    /// Serves `most` packets at most. account(id) is a class's TurnAccount, size(id) its first packet's
    /// bytes; a turn waits while pays(bytes) is false, and goes on where it stopped. send(id, bytes, n) sends
    /// the n-th packet of this call; false: it did not, and the class left the members.
    /// @return packets sent
    template <class Account, class Size, class Pays, class Send>
    std::size_t serve(const Members& members, std::size_t most, Account&& account, Size&& size, Pays&& pays,
                      Send&& send) {
        std::size_t sent = 0;
        while (sent < most && !members.empty()) {
            if (!in_turn_) {
                begin_turn(members);
                TurnAccount& next = account(turn_);
                next.deficit += next.quantum << boost_;
            }
            const std::size_t id = turn_;
            TurnAccount& own = account(id);
            const std::uint32_t bytes = size(id);
            if (own.deficit < bytes) {
                in_turn_ = false;
                continue;
            }
            if (!pays(bytes))
                break;
            own.deficit -= bytes;
            if (!send(id, bytes, sent))
                continue;
            served_ = true;
            ++sent;
        }
        return sent;
    }

    /// The class left the members, or has had enough.
    void end_turn(std::size_t id) { in_turn_ = in_turn_ && turn_ != id; }
    /// Whose packet is asked for next; there are members.
    [[nodiscard]] std::size_t next(const Members& members) const {
        return in_turn_ ? turn_ : members.find_cyclic(turn_ + 1);
    }

  private:
    /// 2^16 quanta of one byte are a super-frame.
    static constexpr unsigned kBoostMax = 16;

    /// A round in which no class could send doubles what the next one adds, for all alike: few rounds reach
    /// any packet.
    void begin_turn(const Members& members) {
        std::size_t next = members.find_from(turn_ + 1);
        if (next == Members::kNone) {
            next = members.find_from(0);
            boost_ = served_ ? 0 : std::min(boost_ + 1, kBoostMax);
            served_ = false;
        }
        turn_ = next;
        in_turn_ = true;
    }

    std::size_t turn_ = 0;  ///< whose turn it is, or was last
    bool in_turn_ = false;
    bool served_ = false;  ///< this round of turns sent something
    unsigned boost_ = 0;   ///< log2 of how many quanta a turn adds: grows while quanta are less than packets
};

}  // namespace weir
