// guarantee_round_test.cc - which class is held when more is promised than the link has, by worked numbers.
#include "test/support/catch.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"

using namespace weir;

namespace {

constexpr Nanos kSecond = kNanosPerSec;

/// Has sent at S / T for a second, and has `more` seconds to go on like that.
GuaranteeMeter dynamic(std::uint64_t rate, std::uint64_t more) {
    return {{.kind = GuaranteeKind::kDynamic,
             .rate = rate,
             .size = rate * (more + 1),
             .time = (more + 1) * kSecond},
            0,
            0};
}

void end(GuaranteeRound& round, GuaranteeMeter& meter, std::uint64_t delivered) {
    const auto period = meter.end_period(delivered, kSecond, true);
    REQUIRE(period);
    round.add(meter, *period);
}

}  // namespace

TEST_CASE("strict guarantees keep what they used, dynamic ones get of the rest what they need, by deadline") {
    GuaranteeMeter strict({.kind = GuaranteeKind::kStrict, .rate = 400}, 0, 0);
    GuaranteeMeter fair({}, 0, 0);
    GuaranteeMeter late = dynamic(200, 20);
    GuaranteeMeter middle = dynamic(500, 10);
    GuaranteeMeter early = dynamic(300, 5);
    GuaranteeRound round(1000);
    end(round, late, 200);
    end(round, strict, 250);
    end(round, fair, 700);
    end(round, middle, 500);
    end(round, early, 300);
    round.settle();
    CHECK(early.rate() == 300);
    CHECK(middle.rate() == 450);
    CHECK(middle.due() == 500);
    CHECK(late.rate() == 0);
    CHECK(late.kind() == GuaranteeKind::kDynamic);
    CHECK(strict.rate() == 400);
    CHECK(fair.rate() == 0);
}

TEST_CASE("a strict guarantee that used more than it was promised keeps its promise, not more") {
    GuaranteeMeter strict({.kind = GuaranteeKind::kStrict, .rate = 400}, 0, 0);
    GuaranteeMeter other = dynamic(700, 5);
    GuaranteeRound round(1000);
    end(round, strict, 900);
    end(round, other, 700);
    round.settle();
    CHECK(other.rate() == 600);
}

TEST_CASE("nothing is held while all fits, and an over-used link leaves dynamic ones nothing") {
    GuaranteeMeter a = dynamic(400, 5);
    GuaranteeMeter b = dynamic(600, 5);
    GuaranteeRound round(1000);
    end(round, a, 400);
    end(round, b, 600);
    round.settle();
    CHECK(a.rate() == 400);
    CHECK(b.rate() == 600);

    GuaranteeMeter strict({.kind = GuaranteeKind::kStrict, .rate = 2000}, 0, 0);
    GuaranteeMeter c = dynamic(400, 5);
    GuaranteeRound full(1000);
    end(full, strict, 1500);
    end(full, c, 400);
    full.settle();
    CHECK(c.rate() == 0);
}
