// split_ring_test.cc - indices that lie, chains that break rules, and wishes for notifications, with worked
// numbers.
#include "vswitch/ports/virtio/split_ring.h"

#include <random>

#include "test/support/catch.h"
#include "test/vswitch/ports/virtio/guest_area.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;
using namespace weir::virtio::descriptor_flag;

namespace {

constexpr std::uint16_t kEntries = 8;

/// A ring of 8 entries in a guest's memory, as its driver writes it.
struct SplitDriver {
    explicit SplitDriver(bool event_index = false, std::uint16_t used = 0) {
        RingPlace at = place_of(area, parts, kEntries);
        at.event_index = event_index;
        at.indirect = true;
        at.avail = used;
        at.used = used;
        avail(1) = used;
        REQUIRE(ring.place(at, area.memory));
    }
    std::uint16_t& avail(std::size_t half) { return (&area.as<std::uint16_t>(parts.driver))[half]; }
    Descriptor& descriptor(std::size_t index) { return (&area.as<Descriptor>(parts.descriptors))[index]; }
    void publish(std::uint16_t head) {
        avail(2 + avail(1) % kEntries) = head;
        ++avail(1);
    }
    /// The next chain's buffers: distance from the area's begin, bytes. None when the chain breaks a rule.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> collect(std::uint16_t direction) {
        Chain chain{};
        Pieces pieces;
        REQUIRE(ring.ready(1) == 1);
        REQUIRE(ring.peek(chain));
        std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
        if (ring.collect(chain, direction, area.memory, pieces))
            for (const Piece& piece : pieces.all())
                found.emplace_back(piece.address - GuestArea::kAddress, piece.bytes);
        ring.advance(chain);
        return found;
    }

    GuestArea area;
    RingParts parts = parts_at(GuestArea::kRegionBytes, kEntries, false);
    SplitRing ring;
};

constexpr std::uint64_t address(std::uint64_t at) {
    return GuestArea::kAddress + at;
}
using Buffers = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

}  // namespace

TEST_CASE("virtio: a split ring that claims one entry more than it has is stopped") {
    SplitDriver driver;
    driver.avail(1) = kEntries;
    CHECK(driver.ring.ready(32) == kEntries);
    CHECK(driver.ring.ready(4) == 4);
    for (const std::uint16_t claim :
         {std::uint16_t{kEntries + 1}, std::uint16_t{64}, std::uint16_t{30'000}, std::uint16_t{65'535}}) {
        SplitDriver liar;
        liar.avail(1) = claim;
        CHECK(liar.ring.ready(32) == 0);
        CHECK(liar.ring.fault() == RingFault::kIndex);
        liar.avail(1) = 1;
        CHECK(liar.ring.ready(32) == 0);  // until it is set up again
    }
}

TEST_CASE(
    "virtio: the watched word of an empty split ring changes with the next chain, over the index's end too") {
    for (const std::uint16_t used : {std::uint16_t{0}, std::uint16_t{65'535}}) {
        SplitDriver driver(false, used);
        const auto watch = driver.ring.watch();
        REQUIRE(watch);
        CHECK_FALSE(watch->changed());
        driver.publish(0);
        CHECK(watch->changed());
        CHECK_FALSE(driver.ring.watch());  // there is one
    }
}

TEST_CASE("virtio: the avail index of a split ring wraps at 65,536") {
    SplitDriver driver(false, 65'534);
    for (int i = 0; i < 4; ++i)
        driver.publish(0);
    CHECK(driver.avail(1) == 2);
    CHECK(driver.ring.ready(32) == 4);
}

TEST_CASE("virtio: an avail entry beyond the split ring stops it") {
    SplitDriver driver;
    driver.publish(kEntries);
    Chain chain{};
    REQUIRE(driver.ring.ready(32) == 1);
    CHECK_FALSE(driver.ring.peek(chain));
    CHECK(driver.ring.fault() == RingFault::kHead);
}

TEST_CASE("virtio: a split ring has to lie in one region, aligned, with a size that is a power of two") {
    GuestArea area;
    const RingParts parts = parts_at(GuestArea::kRegionBytes, kEntries, false);
    SplitRing ring;
    CHECK(ring.place(place_of(area, parts, kEntries), area.memory));
    CHECK_FALSE(ring.place(place_of(area, parts, 0), area.memory));
    CHECK_FALSE(ring.place(place_of(area, parts, 6), area.memory));
    CHECK_FALSE(ring.place(place_of(area, parts, 2 * kEntries), area.memory));  // its used ring ends outside
    RingPlace odd = place_of(area, parts, kEntries);
    odd.descriptors = area.host(parts.descriptors - 8);
    CHECK_FALSE(ring.place(odd, area.memory));
    RingPlace nowhere = place_of(area, parts, kEntries);
    nowhere.driver_area = nullptr;
    CHECK_FALSE(ring.place(nowhere, area.memory));
}

TEST_CASE("virtio: the buffers of a split ring's chain, in one region and in two") {
    SplitDriver driver;
    driver.descriptor(3) = {address(kBuffersAt), 100, kNext, 5};
    driver.descriptor(5) = {address(GuestArea::kRegionBytes - 10), 30, 0, 7};
    driver.publish(3);
    CHECK(driver.collect(0) ==
          Buffers{{kBuffersAt, 100}, {GuestArea::kRegionBytes - 10, 10}, {GuestArea::kRegionBytes, 20}});
    driver.publish(3);
    CHECK(driver.collect(kWrite).empty());
}

TEST_CASE("virtio: chains of a split ring that break a rule are refused") {
    SplitDriver driver;
    SECTION("a loop") {
        driver.descriptor(0) = {address(kBuffersAt), 1, kNext, 1};
        driver.descriptor(1) = {address(kBuffersAt), 1, kNext, 0};
    }
    SECTION("a next beyond the ring") {
        driver.descriptor(0) = {address(kBuffersAt), 1, kNext, kEntries};
    }
    SECTION("an address outside") {
        driver.descriptor(0) = {address(GuestArea::kBytes), 1, 0, 0};
    }
    SECTION("an end outside") {
        driver.descriptor(0) = {address(GuestArea::kBytes - 1), 2, 0, 0};
    }
    SECTION("a sum that overflows") {
        driver.descriptor(0) = {~0ULL - 3, 8, 0, 0};
    }
    SECTION("a device-writable one") {
        driver.descriptor(0) = {address(kBuffersAt), 1, kWrite, 0};
    }
    SECTION("a table of no whole entry") {
        driver.descriptor(0) = {address(kBuffersAt), 15, kIndirect, 0};
    }
    SECTION("an empty table") {
        driver.descriptor(0) = {address(kBuffersAt), 0, kIndirect, 0};
    }
    SECTION("a table larger than the ring") {
        driver.descriptor(0) = {address(kBuffersAt), 16 * (kEntries + 1), kIndirect, 0};
    }
    SECTION("a table that goes on") {
        driver.descriptor(0) = {address(kBuffersAt), 16, kIndirect | kNext, 1};
    }
    SECTION("a table in a table") {
        driver.descriptor(0) = {address(kBuffersAt), 16, kIndirect, 0};
        driver.area.as<Descriptor>(kBuffersAt) = {address(kBuffersAt), 16, kIndirect, 0};
    }
    SECTION("more parts than a frame may have") {
        driver.descriptor(0) = {address(kBuffersAt), 16 * kEntries, kIndirect, 0};
        for (std::uint16_t i = 0; i < kEntries; ++i)
            (&driver.area.as<Descriptor>(kBuffersAt))[i] = {address(kBuffersAt), 1, kNext,
                                                            static_cast<std::uint16_t>((i + 1) % kEntries)};
    }
    driver.publish(0);
    CHECK(driver.collect(0).empty());
    CHECK(driver.ring.fault() == RingFault::kNone);
}

TEST_CASE("virtio: an indirect table of a split ring") {
    SplitDriver driver;
    auto* table = &driver.area.as<Descriptor>(kBuffersAt);
    table[0] = {address(kBuffersAt + 0x1000), 12, kNext, 2};
    table[2] = {address(kBuffersAt + 0x2000), 60, 0, 0};
    driver.descriptor(1) = {address(kBuffersAt), 3 * 16, kIndirect, 0};
    driver.publish(1);
    CHECK(driver.collect(0) == Buffers{{kBuffersAt + 0x1000, 12}, {kBuffersAt + 0x2000, 60}});
}

TEST_CASE("virtio: a split ring's used entries and index") {
    SplitDriver driver(false, 65'535);
    driver.ring.use({.id = 3, .descriptors = 1, .flags = 0, .bytes = 0, .address = 0}, 0);
    driver.ring.use({.id = 5, .descriptors = 1, .flags = 0, .bytes = 0, .address = 0}, 1500);
    auto* used = &driver.area.as<std::uint16_t>(driver.parts.device);
    const auto* elements = reinterpret_cast<const UsedElement*>(used + 2);
    CHECK(driver.ring.publish());
    CHECK(used[1] == 1);
    CHECK((elements[7].head == 3 && elements[7].bytes == 0));
    CHECK((elements[0].head == 5 && elements[0].bytes == 1500));
}

TEST_CASE("virtio: notifications of a split ring: by flag, and by index when the used index passes it") {
    const Chain chain{};
    SplitDriver flag;
    flag.ring.use(chain, 0);
    CHECK(flag.ring.publish());
    flag.avail(0) = 1;
    flag.ring.use(chain, 0);
    CHECK_FALSE(flag.ring.publish());

    SplitDriver index(true, 0);
    std::uint16_t& event = index.avail(2 + kEntries);
    event = 30'000;
    index.ring.use(chain, 0);
    CHECK(index.ring.publish());  // the first time nothing is known
    index.ring.use(chain, 0);
    CHECK_FALSE(index.ring.publish());  // used goes from 1 to 2
    event = 2;
    index.ring.use(chain, 0);
    CHECK(index.ring.publish());  // 2 to 3 passes 2
    index.ring.use(chain, 0);
    CHECK_FALSE(index.ring.publish());
    event = 5;
    for (int i = 0; i < 3; ++i)
        index.ring.use(chain, 0);
    CHECK(index.ring.publish());  // 4 to 7 passes 5
}

TEST_CASE("virtio: kicks of a split ring are wished by the used ring's flags, or at the next avail index") {
    SplitDriver flag;
    const std::uint16_t& flags = flag.area.as<std::uint16_t>(flag.parts.device);
    flag.ring.wish_kicks(false);
    CHECK(flags == 1);
    CHECK(ask_for_kick(flag.ring));
    CHECK(flags == 0);
    flag.publish(0);
    CHECK_FALSE(ask_for_kick(flag.ring));

    SplitDriver index(true, 7);
    const std::uint64_t behind_elements = index.parts.device + 4 + 8 * std::uint64_t{kEntries};
    const std::uint16_t& event = index.area.as<std::uint16_t>(behind_elements);
    index.ring.wish_kicks(false);
    CHECK(event == 0);
    CHECK(ask_for_kick(index.ring));
    CHECK(event == 7);  // the driver kicks when it makes entry 7 available
}

namespace {

/// A driver and a device of a split ring. The device ends and comes back where the used index is.
class SplitPair {
  public:
    explicit SplitPair(std::uint16_t size)
        : size_(size), parts_(parts_at(GuestArea::kRegionBytes, size, false)) {
        start();
    }
    void start() {
        RingPlace at = place_of(area_, parts_, size_);
        at.avail = at.used = used_index();
        device_ = SplitRing();
        REQUIRE(device_.place(at, area_.memory));
        ++starts_;
    }
    /// Chains of one descriptor, each with a number of its own, while there is room.
    void offer(std::uint16_t most) {
        auto* avail = &area_.as<std::uint16_t>(parts_.driver);
        for (; most != 0 && offered_ - reaped_ < size_; --most) {
            const auto slot = static_cast<std::uint16_t>(offered_ % size_);
            (&area_.as<Descriptor>(parts_.descriptors))[slot] = {GuestArea::kAddress, 100, 0, 0};
            avail[2 + static_cast<std::uint16_t>(offered_) % size_] = slot;
            avail[1] = static_cast<std::uint16_t>(++offered_);
        }
    }
    /// The device uses up to `most` chains, which the driver does not see yet. @return how many
    std::uint16_t use(std::uint16_t most) {
        const std::uint16_t ready = device_.ready(most);
        Chain chain{};
        for (std::uint16_t i = 0; i < ready; ++i) {
            REQUIRE(device_.peek(chain));
            device_.advance(chain);
            device_.use(chain, chain.id + 1U);
        }
        return ready;
    }
    void publish() { (void)device_.publish(); }
    /// The driver takes back the chains that it sees used: each once, in order.
    void reap() {
        const auto* elements = reinterpret_cast<const UsedElement*>(area_.host(parts_.device + 4));
        for (; static_cast<std::uint16_t>(reaped_) != used_index(); ++reaped_) {
            REQUIRE(reaped_ < offered_);
            const UsedElement& element = elements[static_cast<std::uint16_t>(reaped_) % size_];
            REQUIRE(element.head == reaped_ % size_);
            REQUIRE(element.bytes == element.head + 1);
        }
    }
    [[nodiscard]] bool all_came_back() const { return reaped_ == offered_; }
    [[nodiscard]] unsigned restarts() const { return starts_ - 1; }

  private:
    [[nodiscard]] std::uint16_t used_index() { return area_.as<std::uint16_t>(parts_.device + 2); }

    GuestArea area_;
    std::uint16_t size_;
    RingParts parts_;
    SplitRing device_;
    unsigned starts_ = 0;
    std::uint64_t offered_ = 0;
    std::uint64_t reaped_ = 0;
};

}  // namespace

TEST_CASE(
    "virtio: property: of 10,000 devices of split rings that end at any step the next goes on, and each "
    "chain comes back once") {
    std::mt19937 random(20261128);
    unsigned restarts = 0;
    for (int round = 0; restarts < 10'000; ++round) {
        const auto size = static_cast<std::uint16_t>(1U << random() % 9);
        CAPTURE(round, size);
        SplitPair pair(size);
        for (int step = 0; step < 400; ++step) {
            pair.offer(static_cast<std::uint16_t>(random() % 40));
            (void)pair.use(static_cast<std::uint16_t>(1 + random() % 32));
            if (random() % 3 != 0)
                pair.publish();
            if (random() % 2 == 0)
                pair.start();  // with chains that were used and not shown
            if (random() % 3 != 0)
                pair.reap();
        }
        while (pair.use(32) != 0)
            pair.publish();
        pair.publish();
        pair.reap();
        REQUIRE(pair.all_came_back());
        restarts += pair.restarts();
    }
}
