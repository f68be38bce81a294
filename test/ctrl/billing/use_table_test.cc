// use_table_test.cc - billing periods as measured use, and failures of links by it.
#include <array>

#include "ctrl/billing/overcommit.h"
#include "test/support/catch.h"

using namespace weir::billing;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Record period(const char* vnic, std::int64_t began, std::int64_t length, double used) {
    return {.vnic = vnic,
            .guarantee_kind = GuaranteeKind::kStrict,
            .began = began * kSecond,
            .ended = (began + length) * kSecond,
            .promised = 1000,
            .delivered = static_cast<std::uint64_t>(used * 1000 * static_cast<double>(length))};
}

/// A day of constant use.
MeasuredUse always(double used) {
    MeasuredUse use;
    use.add(used, MeasuredUse::kSecondsEnough);
    return use;
}

constexpr std::array kTwo{Sharer{"a", 60}, Sharer{"b", 60}};

}  // namespace

TEST_CASE("a period counts as its use, the time before it as idle") {
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

TEST_CASE("time of which a report may be lost is not idle, and a repeated period counts once") {
    UseTable table;
    table.add(period("a", 100, 1, 0.5), 0);
    table.add(period("a", 100, 1, 0.5), 0);
    table.add(period("a", 500, 1, 0.5), 400 * kSecond);
    CHECK(table.all().at("a").seconds() == Approx(2));
    table.add(period("a", 600, 60, 0.5), 0);  // the mean of a minute does not show its seconds
    CHECK(table.all().at("a").seconds() == Approx(2 + 99));
    Record nothing = period("b", 100, 1, 0.5);
    nothing.promised = 0;
    table.add(nothing, 0);
    CHECK_FALSE(table.all().contains("b"));
}

TEST_CASE("there is no probability before a day of measurement") {
    UseTable table;
    table.add(period("a", 100, 1, 1), 0);
    CHECK_FALSE(table.failure(120, 100, kTwo));
    CHECK_FALSE(UseTable().failure(120, 100, kTwo));
}

TEST_CASE("a measured vNIC counts as measured, another as the average of the measured ones") {
    CHECK(*UseTable({{"a", always(1)}, {"b", always(1)}}).failure(120, 100, kTwo) == Approx(1));
    CHECK(*UseTable({{"a", always(1)}}).failure(120, 100, kTwo) == Approx(1));
    CHECK(*UseTable({{"a", always(1)}, {"b", always(0)}}).failure(120, 100, kTwo) == 0);
    CHECK(*UseTable({{"a", always(1)}, {"b", always(0)}}).failure(90, 100, kTwo) == 0);
    // b counts as the average of a and c: busy half of the time.
    CHECK(*UseTable({{"a", always(1)}, {"c", always(0)}}).failure(120, 100, kTwo) == Approx(0.5));
}

TEST_CASE("of traffic within a host only the part that leaves the host counts") {
    const UseTable table({{"a", always(1)}, {"b", always(1)}});
    CHECK(*table.failure(101, 100, kTwo) == Approx(1));
    CHECK(*table.failure(120, 0, kTwo) == 1);
}
