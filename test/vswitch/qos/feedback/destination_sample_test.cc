// destination_sample_test.cc - addresses that a sample finds, and those that it leaves out.
#include "vswitch/qos/feedback/destination_sample.h"

#include <set>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::uint64_t kUnicast = 0x0100'0000'5452;  // 52:54:00:00:00:01

}  // namespace

TEST_CASE("an address is in the next sample once, and in no later one", "[feedback]") {
    DestinationSample sample;
    for (int i = 0; i < 5; ++i)
        sample.note(3, kUnicast);
    DestinationSample::Taken taken;
    sample.take(taken);
    REQUIRE(taken.count == 1);
    CHECK(taken.seen[0].address == kUnicast);
    CHECK(taken.seen[0].vnic == 3);
    sample.take(taken);
    CHECK(taken.count == 0);
}

TEST_CASE("addresses of groups are left out", "[feedback]") {
    DestinationSample sample;
    sample.note(3, 0xFFFF'FFFF'FFFF);
    sample.note(3, kUnicast | 1);
    DestinationSample::Taken taken;
    sample.take(taken);
    CHECK(taken.count == 0);
}

TEST_CASE("of 1,000 addresses with equal frames all are found, if those found send no more", "[feedback]") {
    DestinationSample sample;
    DestinationSample::Taken taken;
    std::set<std::uint64_t> found;
    unsigned takes = 0;
    for (; found.size() < 1'000 && takes < 200; ++takes) {
        for (std::uint64_t i = 0; i < 1'000; ++i)
            if (const std::uint64_t address = kUnicast + (i << 40); !found.contains(address))
                sample.note(3, address);
        sample.take(taken);
        for (std::size_t i = 0; i < taken.count; ++i)
            found.insert(taken.seen[i].address);
    }
    CHECK(found.size() == 1'000);
    CHECK(takes < 100);
}

TEST_CASE("an address that shares its place with a busier one has it to itself in a later sample",
          "[feedback]") {
    DestinationSample sample;
    DestinationSample::Taken taken;
    for (std::uint64_t other = 1; other < 100; ++other) {
        unsigned takes = 0;
        for (bool is_found = false; !is_found; ++takes) {
            REQUIRE(takes < 20);
            sample.note(3, kUnicast);
            sample.note(3, kUnicast + (other << 40));
            sample.take(taken);
            for (std::size_t i = 0; i < taken.count; ++i)
                is_found = is_found || taken.seen[i].address == kUnicast;
        }
    }
}
