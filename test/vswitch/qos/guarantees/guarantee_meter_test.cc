// guarantee_meter_test.cc - dynamic guarantees by worked numbers and by property; a period's record.
#include "vswitch/qos/guarantees/guarantee_meter.h"

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

constexpr Promise kDynamic{
    .kind = GuaranteeKind::kDynamic, .rate = 100, .size = 1000, .time = 10 * kNanosPerSec};

Nanos seconds(std::uint64_t s) {
    return s * kNanosPerSec;
}

}  // namespace

TEST_CASE("1000 bytes in 10 s: 100/s, less after a fast second, never more after a slow one, 0 when sent") {
    GuaranteeMeter meter(kDynamic, 5000, seconds(1));
    CHECK(meter.rate() == 100);
    auto period = meter.end_period(5280, seconds(2));
    REQUIRE(period);
    CHECK(period->kind == GuaranteeKind::kDynamic);
    CHECK(period->promised == 100);
    CHECK(period->delivered == 280);
    CHECK(period->began == seconds(1));
    CHECK(period->ended == seconds(2));
    CHECK(meter.rate() == 80);  // 720 in 9 s
    CHECK(meter.left() == 720);
    CHECK(meter.time_left() == seconds(9));
    meter.end_period(5280, seconds(5));
    CHECK(meter.rate() == 100);  // 720 in 6 s would be 120
    period = meter.end_period(6000, seconds(6));
    CHECK(period->kind == GuaranteeKind::kDynamic);
    CHECK(meter.rate() == 0);  // all sent
    CHECK(meter.kind() == GuaranteeKind::kFairness);
    period = meter.end_period(6100, seconds(7));
    CHECK(period->kind == GuaranteeKind::kFairness);
    CHECK(period->promised == 0);
}

TEST_CASE("what there was no room for is owed, and is no reason to promise more for what was not sent") {
    GuaranteeMeter meter(kDynamic, 0, 0);
    meter.end_period(40, seconds(1), true);
    CHECK(meter.rate() == 107);  // 960 in 9 s
    meter.end_period(40, seconds(2), false);
    CHECK(meter.rate() == 108);  // 100 and the 60 that are owed in 8 s; 960 in 8 s would be 120
    meter.end_period(440, seconds(4), true);
    CHECK(meter.rate() == 94);  // 560 in 6 s: it has caught up
    meter.end_period(440, seconds(5), false);
    CHECK(meter.rate() == 100);

    GuaranteeMeter idle(kDynamic, 0, 0);
    idle.end_period(40, seconds(1), false);
    CHECK(idle.rate() == 100);
}

TEST_CASE("a period without a byte counts if the vNIC has a guarantee and frames waited") {
    GuaranteeMeter strict({.kind = GuaranteeKind::kStrict, .rate = 100}, 0, 0);
    auto starved = strict.end_period(0, seconds(1), true);
    REQUIRE(starved);
    CHECK(starved->counts());
    CHECK(starved->promised == 100);
    const auto idle = strict.end_period(0, seconds(2), false);
    CHECK_FALSE(idle->counts());
    auto joined = *idle;
    CHECK(joined.extend(*strict.end_period(0, seconds(3), true)));
    CHECK(joined.counts());  // it waited in one second of both
    CHECK(strict.change({.kind = GuaranteeKind::kStrict, .rate = 50}, 0, seconds(4), true)->counts());
    CHECK(strict.end_period(1, seconds(5), false)->counts());

    GuaranteeMeter fair({}, 0, 0);
    CHECK_FALSE(fair.end_period(0, seconds(1), true)->counts());  // nothing was promised
}

TEST_CASE("a guarantee that is held for a period has the more afterwards, and is billed as promised") {
    GuaranteeMeter meter(kDynamic, 0, 0);
    meter.hold(30);
    CHECK(meter.rate() == 30);
    CHECK(meter.due() == 100);
    const auto period = meter.end_period(30, seconds(1), true);
    CHECK(period->promised == 100);
    CHECK(meter.rate() == 108);  // 970 in 9 s
    meter.hold(0);
    CHECK(meter.kind() == GuaranteeKind::kDynamic);
    CHECK(meter.end_period(30, seconds(2), true)->kind == GuaranteeKind::kDynamic);
    CHECK(meter.rate() == 122);  // 970 in 8 s
    meter.hold(1000);
    CHECK(meter.rate() == 122);
}

TEST_CASE(
    "property: a vNIC that was short while it waited, and then gets what is guaranteed, has sent S by T") {
    weir::testing::Random32 random(418);
    for (int trial = 0; trial < 200; ++trial) {
        Promise promise{.kind = GuaranteeKind::kDynamic};
        const std::uint64_t length = 5 + random() % 100;
        promise.time = seconds(length);
        promise.rate = 1'000 + random() % 1'000'000;
        promise.size = promise.rate * length;
        GuaranteeMeter meter(promise, 0, 0);
        std::uint64_t sent = 0;
        for (std::uint64_t now = 0; now < length; ++now) {
            sent += now < length / 2 ? random() % (meter.rate() + 1) : meter.rate();
            meter.end_period(sent, seconds(now + 1), true);
        }
        CHECK(sent + length >= promise.size);
    }
}

TEST_CASE("after its time a dynamic guarantee is fairness, whatever is left") {
    GuaranteeMeter meter(kDynamic, 0, 0);
    meter.end_period(10, seconds(10));
    CHECK(meter.rate() == 0);
    CHECK(meter.left() == 990);
    CHECK(meter.kind() == GuaranteeKind::kFairness);
}

TEST_CASE("another promise begins its time when it is made; the same one goes on") {
    GuaranteeMeter meter(kDynamic, 0, 0);
    auto period = meter.change(kDynamic, 600, seconds(1));
    CHECK(period->delivered == 600);
    CHECK(meter.left() == 400);
    period = meter.change({.kind = GuaranteeKind::kStrict, .rate = 77}, 700, seconds(2));
    CHECK(period->kind == GuaranteeKind::kDynamic);
    CHECK(period->delivered == 100);
    CHECK(meter.rate() == 77);
    CHECK(meter.left() == 0);
    meter.change(kDynamic, 800, seconds(3));
    CHECK(meter.left() == 1000);
    CHECK(meter.time_left() == seconds(10));
}

TEST_CASE("a period that runs backwards is refused, and loses nothing") {
    GuaranteeMeter meter(kDynamic, 0, seconds(5));
    CHECK_FALSE(meter.end_period(100, seconds(5)));
    CHECK_FALSE(meter.end_period(100, seconds(4)));
    CHECK(meter.end_period(100, seconds(6))->delivered == 100);
    CHECK(meter.end_period(30, seconds(7))->delivered == 0);  // the counter began anew
    CHECK(meter.end_period(50, seconds(8))->delivered == 20);
}

TEST_CASE("periods of one promise add up to one of the bill; another promise begins another") {
    GuaranteeMeter::Period period{
        .began = 10, .ended = 20, .kind = GuaranteeKind::kStrict, .promised = 5, .delivered = 7};
    const GuaranteeMeter::Period next{
        .began = 20, .ended = 40, .kind = GuaranteeKind::kStrict, .promised = 5, .delivered = 3};
    CHECK(period.extend(next));
    CHECK(period.began == 10);
    CHECK(period.ended == 40);
    CHECK(period.delivered == 10);
    CHECK_FALSE(period.extend({.began = 40, .ended = 50, .kind = GuaranteeKind::kFairness, .promised = 5}));
    CHECK_FALSE(period.extend({.began = 40, .ended = 50, .kind = GuaranteeKind::kStrict, .promised = 6}));
    CHECK(period.ended == 40);
}

TEST_CASE(
    "property: a vNIC that gets at least what is guaranteed has sent S by T, and it never exceeds S / T") {
    weir::testing::Random32 random(417);
    for (int trial = 0; trial < 200; ++trial) {
        Promise promise{.kind = GuaranteeKind::kDynamic};
        promise.time = seconds(5 + random() % 100);
        promise.rate = 1'000 + random() % 1'000'000;
        promise.size = promise.rate * (promise.time / kNanosPerSec);
        GuaranteeMeter meter(promise, 0, 0);
        std::uint64_t sent = 0;
        for (Nanos now = 0; now < promise.time;) {
            CHECK(meter.rate() <= promise.rate);
            const std::uint64_t least = meter.rate();
            const Nanos step = std::min<Nanos>(seconds(1), promise.time - now);
            now += step;
            sent += least * step / kNanosPerSec + (random() % 3 == 0 ? random() % promise.rate : 0);
            meter.end_period(sent, now);
        }
        CHECK(sent + promise.time / kNanosPerSec >= promise.size);
    }
}
