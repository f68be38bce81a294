// water_fill.cc - the search of the level: rounds that freeze claims at their floor or at their cap.
#include "common/water_fill.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace weir {
namespace {

/// Rounds after which every second one halves the interval that contains the level. Freezing alone takes as
/// many rounds as there are claims when each frozen claim frees just enough to freeze the next.
constexpr unsigned kPlainRounds = 8;
/// By this round the interval is as small as rounding errors.
constexpr unsigned kRoundsMost = 400;

template <typename C>
auto cap_of(const C& c) {
    return std::min(std::max(c.limit, c.reservation), c.demand);
}
template <typename C>
auto floor_of(const C& c) {
    return std::min(c.reservation, cap_of(c));
}

/// part * amount / whole, which never overflows. A division of 128 bits takes several times as long as one
/// of 64.
std::uint64_t share_of(std::uint64_t amount, std::uint64_t part, Wide whole) {
    std::uint64_t product = 0;
    if (whole <= UINT64_MAX && !__builtin_mul_overflow(amount, part, &product)) [[likely]]
        return product / static_cast<std::uint64_t>(whole);
    return static_cast<std::uint64_t>(Wide{amount} * part / whole);
}
double share_of(double amount, double part, double whole) {
    return amount * (part / whole);
}

/// Interval that contains the level; halved for real numbers only.
struct Bracket {
    double low = 0;
    double high = INFINITY;
};

template <typename C>
class Filling {
  public:
    static constexpr bool kIsReal = std::is_same_v<C, RealClaim>;
    using Amount = typename C::Amount;
    using Sum = std::conditional_t<kIsReal, double, Wide>;              // of amounts
    using Shares = std::conditional_t<kIsReal, double, std::uint64_t>;  // a sum of shares

    Filling(Amount capacity, std::span<const C> claims, std::span<Amount> allocation)
        : amount_(capacity), claims_(claims), allocation_(allocation) {}

    [[nodiscard]] Amount run() {
        assert(claims_.size() == allocation_.size());
        Sum floors = 0;
        for (const C& c : claims_)
            floors += floor_of(c);
        if (floors >= static_cast<Sum>(amount_))
            return scale(floors);
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            allocation_[i] = kOpen;
            if (claims_[i].shares > 0)
                shares_ += claims_[i].shares;
            else
                freeze(i, floor_of(claims_[i]));
        }
        unsigned round = 0;
        while (shares_ > 0 && round < kRoundsMost && freeze_round(round))
            round += kIsReal ? 1 : 0;
        return give();
    }

  private:
    static constexpr Amount kOpen = C::kNoLimit;  // marks an allocation that is not frozen yet

    void freeze(std::size_t i, Amount at) {
        allocation_[i] = at;
        amount_ -= at;
    }

    /// For floors that exceed the capacity: the same fraction for each.
    Amount scale(Sum floors) {
        Amount left = amount_;
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            allocation_[i] = floors > 0 ? share_of(amount_, floor_of(claims_[i]), floors) : 0;
            left -= allocation_[i];
        }
        return kIsReal ? (floors > 0 ? Amount{0} : amount_) : left;
    }

    /// The amount that this round divides by shares: all that is left, or the amount at the middle of the
    /// bracket.
    [[nodiscard]] Amount tested(unsigned round) const {
        if constexpr (kIsReal) {
            const bool halves = round >= kPlainRounds && round % 2 == 1 && std::isfinite(bracket_.high);
            return halves ? (bracket_.low + bracket_.high) / 2 * shares_ : amount_;
        }
        return amount_;
    }

    /// Freezes the claims below their floor if the tested level is too high, else the claims above their cap.
    /// @return false when no claim was frozen and the rest can be divided by shares
    bool freeze_round(unsigned round) {
        const Amount amount = tested(round);
        const Shares shares = shares_;
        Sum raised = 0;
        Sum saved = 0;
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            if (allocation_[i] != kOpen)
                continue;
            const Amount part = share_of(amount, claims_[i].shares, shares);
            raised += part < floor_of(claims_[i]) ? floor_of(claims_[i]) - part : 0;
            saved += part > cap_of(claims_[i]) ? part - cap_of(claims_[i]) : 0;
        }
        const bool floors = amount + raised >= amount_ + saved;
        if constexpr (kIsReal)
            (floors ? bracket_.high : bracket_.low) = amount / shares;
        Shares open = 0;
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            if (allocation_[i] != kOpen)
                continue;
            const Amount part = share_of(amount, claims_[i].shares, shares);
            const Amount bound = floors ? floor_of(claims_[i]) : cap_of(claims_[i]);
            if (floors ? part < bound : part > bound)
                freeze(i, bound);
            else
                open += claims_[i].shares;
        }
        shares_ = open;
        return raised > 0 || saved > 0 || amount != amount_;
    }

    /// Divides the rest among the claims that are not frozen. @return capacity that no claim can use
    Amount give() {
        if constexpr (kIsReal) {
            if (shares_ <= 0)
                return std::max(amount_, 0.0);
            for (std::size_t i = 0; i < claims_.size(); ++i)
                if (allocation_[i] == kOpen)
                    allocation_[i] = std::clamp(share_of(amount_, claims_[i].shares, shares_),
                                                floor_of(claims_[i]), cap_of(claims_[i]));
            return 0;
        }
        for (std::size_t i = 0; i < claims_.size() && shares_ > 0; ++i) {  // no token lost to rounding
            if (allocation_[i] != kOpen)
                continue;
            const Shares own = claims_[i].shares;
            freeze(i, share_of(amount_, claims_[i].shares, shares_));
            shares_ -= own;
        }
        return amount_;
    }

    Amount amount_;
    std::span<const C> claims_;
    std::span<Amount> allocation_;
    Shares shares_ = 0;  // of the claims that are not frozen
    Bracket bracket_;
};

}  // namespace

std::uint64_t water_fill(std::uint64_t capacity, std::span<const Claim> claims,
                         std::span<std::uint64_t> allocation) {
    return Filling<Claim>(capacity, claims, allocation).run();
}

double water_fill(double capacity, std::span<const RealClaim> claims, std::span<double> allocation) {
    return Filling<RealClaim>(capacity, claims, allocation).run();
}

}  // namespace weir
