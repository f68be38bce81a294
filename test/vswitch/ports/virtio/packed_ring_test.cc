// packed_ring_test.cc - wraps, chains that break rules, and wishes for notifications, with worked numbers.
#include "vswitch/ports/virtio/packed_ring.h"

#include "test/support/catch.h"
#include "test/vswitch/ports/virtio/guest_area.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;
using namespace weir::virtio::descriptor_flag;

namespace {

constexpr std::uint16_t kOddEntries = 6;  // no power of two

/// A packed ring of 6 entries as its driver writes it.
struct PackedDriver {
    explicit PackedDriver(std::uint16_t position = kWrap, bool event_index = true) {
        RingPlace at = place_of(area, parts, kOddEntries);
        at.event_index = event_index;
        at.indirect = true;
        at.avail = at.used = position;
        REQUIRE(ring.place(at, area.memory));
        next = position & ~kWrap;
        wrap = (position & kWrap) != 0;
    }
    PackedDescriptor& descriptor(std::size_t index) {
        return (&area.as<PackedDescriptor>(parts.descriptors))[index];
    }
    void publish(std::uint32_t bytes, std::uint16_t id, std::uint16_t flags = 0) {
        const auto state = static_cast<std::uint16_t>(wrap ? kAvailable : kUsed);
        descriptor(next) = {GuestArea::kAddress + kBuffersAt, bytes, id,
                            static_cast<std::uint16_t>(flags | state)};
        if (++next == kOddEntries) {
            next = 0;
            wrap = !wrap;
        }
    }
    /// Takes one chain and returns it. @return its id
    std::uint16_t turn(std::uint32_t written = 0) {
        Chain chain{};
        REQUIRE(ring.ready(1) == 1);
        REQUIRE(ring.peek(chain));
        ring.advance(chain);
        ring.use(chain, written);
        notified = ring.publish();
        return chain.id;
    }

    GuestArea area;
    RingParts parts = parts_at(GuestArea::kRegionBytes, kOddEntries, true);
    PackedRing ring;
    std::uint16_t next = 0;
    bool wrap = true;
    bool notified = false;
};

}  // namespace

TEST_CASE("virtio: a packed ring of six entries goes round and marks what it used") {
    PackedDriver driver;
    CHECK(driver.ring.ready(32) == 0);
    for (std::uint16_t i = 0; i < 3 * kOddEntries; ++i) {
        const bool wrap = driver.wrap;
        const auto watch = driver.ring.watch();
        REQUIRE(watch);
        CHECK_FALSE(watch->changed());
        driver.publish(100, static_cast<std::uint16_t>(40 + i));
        CHECK(watch->changed());
        CHECK_FALSE(driver.ring.watch());  // a chain is there
        CHECK(driver.turn(77) == 40 + i);
        const PackedDescriptor& used = driver.descriptor(i % kOddEntries);
        CHECK(used.id == 40 + i);
        CHECK(used.bytes == 77);
        CHECK(used.flags == ((wrap ? kAvailable | kUsed : 0) | kWrite));
        CHECK(driver.ring.ready(32) == 0);
    }
    CHECK(driver.ring.avail() == (0 | 0));  // three rounds: the wrap counter is 0
}

TEST_CASE("virtio: a chain of a packed ring over its end has the id of its last descriptor") {
    PackedDriver driver(kWrap | 4);
    driver.publish(12, 1, kNext);
    driver.publish(100, 2, kNext);
    driver.publish(200, 3);
    Chain chain{};
    Pieces pieces;
    REQUIRE(driver.ring.ready(32) != 0);
    REQUIRE(driver.ring.peek(chain));
    CHECK(chain.descriptors == 3);
    CHECK(chain.id == 3);
    REQUIRE(driver.ring.collect(chain, 0, driver.area.memory, pieces));
    CHECK(pieces.bytes() == 312);
    driver.ring.advance(chain);
    CHECK(driver.ring.avail() == 1);
    driver.ring.retreat(chain);
    CHECK(driver.ring.avail() == (kWrap | 4));
}

TEST_CASE("virtio: a packed ring whose chain has no end is stopped") {
    PackedDriver driver;
    for (std::uint16_t i = 0; i < kOddEntries; ++i)
        driver.publish(1, i, kNext);
    Chain chain{};
    REQUIRE(driver.ring.ready(32) != 0);
    CHECK_FALSE(driver.ring.peek(chain));
    CHECK(driver.ring.fault() == RingFault::kChain);
    CHECK(driver.ring.ready(32) == 0);
}

TEST_CASE("virtio: a burst takes no more descriptors than a packed ring has, whatever the flags say") {
    PackedDriver driver;
    for (std::uint16_t i = 0; i < kOddEntries; ++i)
        driver.publish(1, i);
    Chain chain{};
    REQUIRE(driver.ring.ready(32) == kOddEntries);
    for (std::uint16_t i = 0; i < kOddEntries; ++i) {
        REQUIRE(driver.ring.peek(chain));
        driver.ring.advance(chain);
        driver.descriptor(i).flags = kUsed;  // available in the next round, too
    }
    CHECK_FALSE(driver.ring.peek(chain));
    CHECK(driver.ring.fault() == RingFault::kNone);
}

TEST_CASE("virtio: a packed ring with one chain asks for the buffers of one line of descriptors") {
    PackedDriver driver(kWrap | 5);  // over the end
    driver.publish(1, 0);
    CHECK(driver.ring.bound(driver.ring.ready(32)) == 4);
    CHECK(driver.ring.bound(driver.ring.ready(1)) == 1);
    for (std::uint16_t i = 1; i < 4; ++i)
        driver.publish(1, i);
    CHECK(driver.ring.bound(driver.ring.ready(32)) == 4);
    driver.publish(1, 4);
    CHECK(driver.ring.bound(driver.ring.ready(32)) == kOddEntries);
}

TEST_CASE("virtio: tables and directions of a packed ring") {
    PackedDriver driver;
    auto* table = &driver.area.as<PackedDescriptor>(kBuffersAt);
    table[0] = {GuestArea::kAddress + 0x2'0000, 12, 0, 0};
    table[1] = {GuestArea::kAddress + 0x2'1000, 60, 0, 0};
    const auto collected = [&](std::uint32_t bytes, std::uint16_t flags, std::uint16_t direction) {
        driver.publish(bytes, 9, flags);
        Chain chain{};
        Pieces pieces;
        REQUIRE(driver.ring.ready(1) == 1);
        REQUIRE(driver.ring.peek(chain));
        const bool good = driver.ring.collect(chain, direction, driver.area.memory, pieces);
        driver.ring.advance(chain);
        return good ? pieces.bytes() : 0;
    };
    CHECK(collected(2 * 16, kIndirect, 0) == 72);
    CHECK(collected(2 * 16 + 1, kIndirect, 0) == 0);
    CHECK(collected((kOddEntries + 1) * 16, kIndirect, 0) == 0);
    table[1].flags = kWrite;
    CHECK(collected(2 * 16, kIndirect, 0) == 0);
    table[1].flags = kIndirect;
    CHECK(collected(2 * 16, kIndirect, 0) == 0);
    CHECK(collected(100, kWrite, 0) == 0);
}

TEST_CASE("virtio: notifications of a packed ring: never, always, at a position of this or the last round") {
    PackedDriver driver;
    std::uint16_t& position = driver.area.as<std::uint16_t>(driver.parts.driver);
    std::uint16_t& wish = driver.area.as<std::uint16_t>(driver.parts.driver + 2);
    const auto notifies = [&](std::uint16_t at, std::uint16_t how) {
        position = at;
        wish = how;
        driver.publish(1, 1);
        (void)driver.turn();
        return driver.notified;
    };
    CHECK(notifies(0, 0));
    CHECK_FALSE(notifies(0, 1));
    CHECK(notifies(kWrap | 2, 2));        // from 2 to 3
    CHECK_FALSE(notifies(kWrap | 2, 2));  // from 3 to 4
    CHECK_FALSE(notifies(kWrap | 5, 2));  // from 4 to 5
    CHECK(notifies(kWrap | 5, 2));        // from 5 over the end to 0
    CHECK(notifies(0, 2));                // from 0 to 1 in the second round
    CHECK_FALSE(notifies(kWrap | 1, 2));  // from 1 to 2, wanted at 1 of the round before
}

TEST_CASE("virtio: a packed ring has to lie in one region, and its indices in the ring") {
    GuestArea area;
    const RingParts parts = parts_at(GuestArea::kRegionBytes, kOddEntries, true);
    RingPlace at = place_of(area, parts, kOddEntries);
    at.avail = at.used = kWrap | (kOddEntries - 1);
    PackedRing ring;
    CHECK(ring.place(at, area.memory));
    at.used = kOddEntries;
    CHECK_FALSE(ring.place(at, area.memory));
    at.used = 0;
    at.device_area = area.host(0) + GuestArea::kRegionBytes - 2;
    CHECK_FALSE(ring.place(at, area.memory));
}

TEST_CASE("virtio: kicks of a packed ring are wished by the device's event suppression") {
    PackedDriver driver;
    const std::uint16_t& flags = (&driver.area.as<std::uint16_t>(driver.parts.device))[1];
    driver.ring.wish_kicks(false);
    CHECK(flags == 1);
    CHECK(ask_for_kick(driver.ring));
    CHECK(flags == 0);
    driver.publish(64, 0);
    CHECK_FALSE(ask_for_kick(driver.ring));
}
