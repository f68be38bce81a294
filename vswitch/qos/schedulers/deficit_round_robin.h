// deficit_round_robin.h - deficit round robin over the members of a set of classes.
// Source: DRR (SIGCOMM'95); docs/algorithms.md 3.2. Units: bytes. Threads: one owner.
//
// Members take turns in the order of their numbers. A turn adds the member's quantum to its deficit; the
// member may send while its deficit covers its first packet, and keeps the rest for its next turn. So members
// send bytes in proportion to their quanta, independent of their packets' sizes. With quanta of 3,000 and
// 1,000 bytes and packets of 1,500 bytes three rounds send 2 + 0, 2 + 1 and 2 + 1 packets: 6 to 2.
//
// A round in which no deficit covered a packet doubles the bytes that the next one adds, for all members
// alike, so that a quantum of one byte reaches a 64 KiB packet in 17 rounds and not in 65,536.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "vswitch/qos/buckets/bitmap_tree.h"

namespace weir {

struct DrrAccount {
    std::uint64_t deficit = 0;  ///< bytes that the member may still send in its turn
    std::uint64_t quantum = 0;  ///< bytes that a turn adds
};

template <std::size_t N>
class DeficitRoundRobin {
  public:
    using Members = BitmapTree<N>;

    struct Turn {
        std::size_t member;
        DrrAccount& account;
        std::uint32_t bytes;  ///< of the member's first packet; its deficit covers them
    };
    /// The turn of the member whose deficit covers its first packet: the one in turn, or the first after it.
    /// @param members not empty  @param account (member) gives its DrrAccount&
    /// @param first_bytes (member) gives the bytes of its first packet
    template <class Account, class FirstBytes>
    [[nodiscard]] Turn select(const Members& members, Account&& account, FirstBytes&& first_bytes) {
        for (;;) {
            if (!in_turn_) {
                begin_turn(members);
                DrrAccount& next = account(turn_);
                next.deficit += next.quantum << boost_;
            }
            const Turn turn{turn_, account(turn_), first_bytes(turn_)};
            if (turn.account.deficit >= turn.bytes)
                return turn;
            in_turn_ = false;
        }
    }
    /// The selected member has sent; the caller has charged its deficit.
    void sent() { sent_ = true; }
    /// The member left the set, or may send no more in this turn.
    void end_turn(std::size_t member) { in_turn_ = in_turn_ && turn_ != member; }
    /// The member that select() looks at first.
    [[nodiscard]] std::size_t next(const Members& members) const {
        return in_turn_ ? turn_ : members.find_cyclic(turn_ + 1);
    }

  private:
    /// 2^16 quanta of one byte are a super-frame.
    static constexpr unsigned kBoostMax = 16;

    void begin_turn(const Members& members) {
        std::size_t next = members.find_from(turn_ + 1);
        if (next == Members::kNone) {  // a round is over
            next = members.find_from(0);
            boost_ = sent_ ? 0 : std::min(boost_ + 1, kBoostMax);
            sent_ = false;
        }
        turn_ = next;
        in_turn_ = true;
    }

    std::size_t turn_ = 0;  ///< member in turn, or that was last
    bool in_turn_ = false;
    bool sent_ = false;   ///< in this round
    unsigned boost_ = 0;  ///< log2 of the quanta that a turn adds
};

}  // namespace weir
