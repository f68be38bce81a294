// growing_count_test.cc - counters of a device that is reset.
#include "vswitch/ports/growing_count.h"

#include <initializer_list>

#include "test/support/catch.h"

using namespace weir;

namespace {

std::uint64_t total(std::initializer_list<std::uint64_t> readings) {
    GrowingCount count;
    std::uint64_t before = 0;
    for (const std::uint64_t reading : readings) {
        count.read(reading);
        CHECK(count.total() >= before);
        before = count.total();
    }
    return before;
}

}  // namespace

TEST_CASE("a device's counter that only grows is taken as it is") {
    CHECK(total({}) == 0);
    CHECK(total({0, 0, 5, 5, 9}) == 9);
    CHECK(total({UINT64_MAX}) == UINT64_MAX);
}

TEST_CASE("a device's counter that begins again at 0 is added to what it had counted") {
    CHECK(total({5, 9, 2, 3}) == 12);
    CHECK(total({5, 0, 0, 5}) == 10);
    CHECK(total({5, 0, 5, 0, 5, 4}) == 19);
}
