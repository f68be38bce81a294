// use_table_test.cc - the bill's periods as measured use, and what it says of links.
#include "ctrl/billing/use_table.h"

#include <array>

#include "test/support/catch.h"

using namespace weir::billing;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Record period(const char* vnic, std::int64_t began, std::int64_t length, double used) {
    return {.vnic = vnic,
            .guarantee = GuaranteeKind::kStrict,
            .began = began * kSecond,
            .ended = (began + length) * kSecond,
            .promised = 1000,
            .delivered = static_cast<std::uint64_t>(used * 1000 * static_cast<double>(length))};
}

/// A day of it.
MeasuredUse always(double used) {
    MeasuredUse use;
    use.add(used, MeasuredUse::kEnough);
    return use;
}

constexpr std::array kTwo{Sharer{"a", 60}, Sharer{"b", 60}};

}  // namespace

TEST_CASE("a period counts as what was used in it, the time before it as idle") {
    UseTable table;
    table.add(period("a", 100, 1, 0.5), 0);
    table.add(period("a", 101, 1, 0.5), 0);
    table.add(period("a", 110, 1, 1), 0);
    const MeasuredUse& use = table.all().at("a");
    CHECK(use.seconds() == Approx(11));
    CHECK(use.bins()[0] == Approx(8));
    CHECK(use.bins()[33] == Approx(2));
    CHECK(use.bins()[64] == Approx(1));
}

TEST_CASE("what its host could not say is nobody's idleness; what was said twice counts once") {
    UseTable table;
    table.add(period("a", 100, 1, 0.5), 0);
    table.add(period("a", 100, 1, 0.5), 0);
    table.add(period("a", 500, 1, 0.5), 400 * kSecond);
    CHECK(table.all().at("a").seconds() == Approx(2));
    table.add(period("a", 600, 60, 0.5), 0);  // a mean of a minute says nothing of its seconds
    CHECK(table.all().at("a").seconds() == Approx(2 + 99));
    Record nothing = period("b", 100, 1, 0.5);
    nothing.promised = 0;
    table.add(nothing, 0);
    CHECK_FALSE(table.all().contains("b"));
}

TEST_CASE("nothing is said before there is a day of it") {
    UseTable table;
    table.add(period("a", 100, 1, 1), 0);
    CHECK_FALSE(table.failure(120, 100, kTwo));
    CHECK_FALSE(UseTable().failure(120, 100, kTwo));
}

TEST_CASE("who was measured counts as measured, who was not as the others do") {
    CHECK(*UseTable({{"a", always(1)}, {"b", always(1)}}).failure(120, 100, kTwo) == Approx(1));
    CHECK(*UseTable({{"a", always(1)}}).failure(120, 100, kTwo) == Approx(1));
    CHECK(*UseTable({{"a", always(1)}, {"b", always(0)}}).failure(120, 100, kTwo) == 0);
    CHECK(*UseTable({{"a", always(1)}, {"b", always(0)}}).failure(90, 100, kTwo) == 0);
    // b counts like a and c together: busy half of the time.
    CHECK(*UseTable({{"a", always(1)}, {"c", always(0)}}).failure(120, 100, kTwo) == Approx(0.5));
}

TEST_CASE("of what talks within a host only the part that leaves it counts") {
    const UseTable table({{"a", always(1)}, {"b", always(1)}});
    CHECK(*table.failure(101, 100, kTwo) == Approx(1));
    CHECK(*table.failure(120, 0, kTwo) == 1);
}
