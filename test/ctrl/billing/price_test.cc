// price_test.cc - SoftBW Table 2 with the numbers of its text.
#include "ctrl/billing/price.h"

#include "test/support/catch.h"

using namespace weir::billing;
using weir::dynamic_rate;

namespace {

constexpr Prices kPrices{.p0 = 2, .beta = 0.5, .link = 1000};

double money(GuaranteeKind kind, double promised, double delivered) {
    return charge_of(kPrices, {kind, promised, delivered}).money;
}

}  // namespace

TEST_CASE("price: the four lines of Table 2") {
    CHECK(money(GuaranteeKind::kStrict, 100, 80) == Approx(80 * 1.1 * 2));
    CHECK(money(GuaranteeKind::kDynamic, 100, 80) == Approx(80 * 1.1 * 0.5 * 2));
    CHECK(money(GuaranteeKind::kFairness, 0, 80) == Approx(80 * 0.08 * 0.5 * 2));
    CHECK(money(GuaranteeKind::kBestEffort, 0, 80) == 0);
}

TEST_CASE("price: 150 delivered of 100 promised are 100 Ps + 50 Pf (4.3)") {
    CHECK(money(GuaranteeKind::kStrict, 100, 150) == Approx(100 * 1.1 * 2 + 50 * 0.15 * 0.5 * 2));
    CHECK(money(GuaranteeKind::kDynamic, 100, 150) == Approx(100 * 1.1 * 0.5 * 2 + 50 * 0.15 * 0.5 * 2));
}

TEST_CASE("price: 8 and 4 on a link of 10 get 6.7 and 3.3, and both a discount of 5/6 (1)") {
    const Prices prices{.p0 = 1, .beta = 0.5, .link = 10};
    for (const double promised : {8.0, 4.0}) {
        const double full = charge_of(prices, {GuaranteeKind::kStrict, promised, promised}).money;
        const Charge charge = charge_of(prices, {GuaranteeKind::kStrict, promised, promised * 10 / 12});
        CHECK(*charge.fulfillment == Approx(5.0 / 6));
        CHECK(charge.money / full == Approx(5.0 / 6));
    }
}

TEST_CASE("price: the same gigabit costs more in five seconds than in ten (4.3)") {
    CHECK(10 * money(GuaranteeKind::kStrict, 100, 100) == Approx(2200));
    CHECK(5 * money(GuaranteeKind::kStrict, 200, 200) == Approx(2400));
}

TEST_CASE("price: fulfillment may exceed 1, and there is none without a guaranteed rate") {
    CHECK(*charge_of(kPrices, {GuaranteeKind::kStrict, 100, 150}).fulfillment == Approx(1.5));
    CHECK(*charge_of(kPrices, {GuaranteeKind::kDynamic, 100, 0}).fulfillment == 0);
    CHECK_FALSE(charge_of(kPrices, {GuaranteeKind::kStrict, 0, 10}).fulfillment);
    CHECK_FALSE(charge_of(kPrices, {GuaranteeKind::kFairness, 0, 10}).fulfillment);
    CHECK_FALSE(charge_of(kPrices, {GuaranteeKind::kBestEffort, 0, 10}).fulfillment);
}

TEST_CASE("price: fair bandwidth never costs more per unit than a dynamic guarantee") {
    for (const double rate : {1.0, 999.0, 1000.0, 5000.0})
        CHECK(money(GuaranteeKind::kFairness, 0, rate) / rate <=
              unit_price(kPrices, GuaranteeKind::kDynamic, 0) * (1 + 1e-12));
}

TEST_CASE("price: a dynamic rate is the rest of the size over the rest of the time, at most S / T (4.2)") {
    CHECK(dynamic_rate(1000, 10, 1000, 10) == Approx(100));
    CHECK(dynamic_rate(1000, 10, 400, 8) == Approx(50));
    CHECK(dynamic_rate(1000, 10, 1000, 5) == Approx(100));           // the VM did not send: at most S / T
    CHECK(dynamic_rate(1000, 10, 960, 9, 60) == Approx(960.0 / 9));  // for 60 of it there was no room
    CHECK(dynamic_rate(1000, 10, 960, 8, 60) == Approx(107.5));      // and 100 were not sent
    CHECK(dynamic_rate(1000, 10, 0, 5) == 0);
    CHECK(dynamic_rate(1000, 10, 10, 0) == 0);  // the time is over
}
