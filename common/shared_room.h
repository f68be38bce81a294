// shared_room.h - room that many users share: for each a part of its own, which no other user can take, and
// the rest for users that need more.
// Source: Choudhury and Hahne (ToN'98); docs/algorithms.md 3.7. Units: those of the owner: places, buffers,
// records. Threads: one owner. Allocates only when built.
//
// Of the common part a user holds no more than it leaves free. So one user alone has half of it, a second one
// a quarter, and however many there are, some of it is free for the next. The sum of all that is held cannot
// exceed users * own + common, which is the whole room.
//
// Example: 1,024 users have 32 places each, and 32,768 are common. One that needs many gets 32 + 16,384, the
// next one 32 + 8,192. A user that comes when a hundred others hold all they can still has 32.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir {

class SharedRoom {
  public:
    struct Size {
        std::uint32_t users = 1;   ///< 0 .. users-1
        std::uint32_t own = 0;     ///< of each user
        std::uint32_t common = 0;  ///< of all together
        [[nodiscard]] constexpr std::uint32_t total() const { return users * own + common; }
    };
    /// The same for a room of `total` units: those beyond the users' own are common.
    [[nodiscard]] static constexpr Size divide(std::uint32_t total, std::uint32_t users, std::uint32_t own) {
        return {users, own, total - std::min(total, users * own)};
    }

    explicit SharedRoom(const Size& size) : own_(size.own), free_(size.common), used_(size.users) {}

    /// Whether the user may hold `amount` more.
    [[nodiscard]] bool fits(std::size_t user, std::uint32_t amount) const {
        const std::uint32_t after = beyond_own(used_[user] + amount);
        const std::uint32_t more = after - beyond_own(used_[user]);
        return more == 0 || (more <= free_ && after <= free_ - more);
    }
    /// fits() was true.
    void take(std::size_t user, std::uint32_t amount) {
        free_ -= beyond_own(used_[user] + amount) - beyond_own(used_[user]);
        used_[user] += amount;
    }
    void give_back(std::size_t user, std::uint32_t amount) {
        free_ += beyond_own(used_[user]) - beyond_own(used_[user] - amount);
        used_[user] -= amount;
    }
    [[nodiscard]] std::uint32_t used(std::size_t user) const { return used_[user]; }
    [[nodiscard]] std::size_t memory_bytes() const { return used_.capacity() * sizeof(used_[0]); }

  private:
    [[nodiscard]] std::uint32_t beyond_own(std::uint32_t used) const { return used - std::min(used, own_); }

    std::uint32_t own_;
    std::uint32_t free_;  // of the common part
    std::vector<std::uint32_t> used_;
};

}  // namespace weir
