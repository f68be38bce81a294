// packed_place_test.cc - worked places of packed rings, and kills of the device at any step of random bursts.
#include "vswitch/ports/virtio/packed_place.h"

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/ports/virtio/guest_area.h"
#include "vswitch/ports/virtio/packed_ring.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;
using namespace weir::virtio::descriptor_flag;

namespace {

constexpr std::uint16_t kUsedInFirst = kAvailable | kUsed;

/// A ring whose descriptors have these flags.
struct Flags {
    explicit Flags(std::initializer_list<std::uint16_t> flags) {
        for (const std::uint16_t one : flags)
            ring.push_back({0, 100, static_cast<std::uint16_t>(ring.size()), one});
    }
    std::optional<std::uint16_t> place(std::uint16_t base, const PackedPlace* noted = nullptr,
                                       bool served = true) {
        return resume(ring, served, base, noted);
    }
    std::vector<PackedDescriptor> ring;
};

std::unique_ptr<PackedPlace> noted_at(std::uint16_t position, PackedPlace::State state) {
    auto noted = std::make_unique<PackedPlace>();
    noted->state = state;
    noted->settle(position);
    return noted;
}

/// A driver and a device, which ends and comes back.
class Pair {
  public:
    explicit Pair(std::uint16_t size) : size_(size), parts_(parts_at(GuestArea::kRegionBytes, size, true)) {
        noted_->state = PackedPlace::kRunning;
        noted_->settle(kWrap);
        start();
    }
    /// The device begins, with the base that a front-end knows that was never asked for the place.
    void start() {
        RingPlace at = place_of(area_, parts_, size_);
        const auto place = resume({descriptors(), size_}, area_.as<std::uint16_t>(parts_.device) == kServed,
                                  kWrap, noted_.get());
        REQUIRE(place);
        at.avail = at.used = *place;
        at.noted = noted_.get();
        noted_->settle(*place);
        device_ = PackedRing();
        REQUIRE(device_.place(at, area_.memory));
        ++starts_;
    }
    /// The driver makes chains of 1 to 3 descriptors available while there is room.
    void offer(std::mt19937& random) {
        for (;;) {
            const auto length = static_cast<std::uint16_t>(1 + random() % 3);
            if (length > size_ - taken_)
                return;
            const std::uint16_t head = next_;
            for (std::uint16_t i = 0; i < length; ++i) {
                const auto flags =
                    static_cast<std::uint16_t>((wrap_ ? kAvailable : kUsed) | (i + 1 < length ? kNext : 0));
                descriptors()[next_] = {GuestArea::kAddress, 100, head, flags};
                if (++next_ == size_)
                    next_ = 0, wrap_ = !wrap_;
            }
            taken_ = static_cast<std::uint16_t>(taken_ + length);
            lengths_.push_back({head, length});
        }
    }
    /// The device uses up to `most` chains. @return how many; the driver does not see them
    std::uint16_t use(std::uint16_t most) {
        std::uint16_t count = 0;
        Chain chain;
        if (device_.ready(most) == 0)
            return 0;
        for (; count < most && device_.peek(chain); ++count) {
            device_.advance(chain);
            device_.use(chain, chain.id % 2 == 0 ? 0 : 60);
        }
        return count;
    }
    void publish() { (void)device_.publish(); }
    /// As after publish(), but the device ended before it noted so.
    void publish_and_forget() {
        const std::uint32_t word = noted_->word;
        publish();
        noted_->word = word;
    }
    /// The driver takes back the chains that it sees used. @return how many; each is the oldest that it gave
    std::size_t reap() {
        std::size_t count = 0;
        for (; !lengths_.empty(); ++count) {
            const auto [head, length] = lengths_.front();
            const PackedDescriptor& slot = descriptors()[head];
            const std::uint16_t wanted = reaped_wrap_ ? kUsedInFirst : 0;
            if ((slot.flags & kUsedInFirst) != wanted)
                break;
            REQUIRE(slot.id == head);
            REQUIRE(slot.bytes == (head % 2 == 0 ? 0U : 60U));
            reaped_wrap_ ^= head + length >= size_;
            taken_ = static_cast<std::uint16_t>(taken_ - length);
            lengths_.pop_front();
        }
        return count;
    }
    [[nodiscard]] std::size_t with_device() const { return lengths_.size(); }
    /// After the first start.
    [[nodiscard]] unsigned restarts() const { return starts_ - 1; }

  private:
    PackedDescriptor* descriptors() { return &area_.as<PackedDescriptor>(parts_.descriptors); }

    GuestArea area_;
    std::uint16_t size_;
    RingParts parts_;
    std::unique_ptr<PackedPlace> noted_ = std::make_unique<PackedPlace>();
    PackedRing device_;
    unsigned starts_ = 0;
    std::uint16_t next_ = 0;
    std::uint16_t taken_ = 0;
    bool wrap_ = true;
    bool reaped_wrap_ = true;
    struct Given {
        std::uint16_t head;
        std::uint16_t length;
    };
    std::deque<Given> lengths_;  // chains that the device has
};

}  // namespace

TEST_CASE("packed place: a ring that a driver began goes on where the front-end says") {
    const auto old = noted_at(2, PackedPlace::kRunning);
    CHECK(Flags({0, 0, 0, 0}).place(kWrap, nullptr, false) == kWrap);
    CHECK(Flags({kAvailable, kAvailable, 0, 0}).place(kWrap, nullptr, false) == kWrap);
    CHECK(Flags({kAvailable, kAvailable, 0, 0}).place(kWrap, old.get(), false) == kWrap);
}

TEST_CASE("packed place: a ring whose used descriptors look like a driver's first ones goes on at the note") {
    const auto noted =
        noted_at(3, PackedPlace::kRunning);  // its last descriptor ended a chain of the first round
    CHECK(Flags({0, 0, 0, kAvailable}).place(kWrap, noted.get()) == 3);
}

TEST_CASE("packed place: a ring that runs goes on at the note and not at a stale base") {
    const auto noted = noted_at(2 | kWrap, PackedPlace::kRunning);
    CHECK(Flags({kUsedInFirst, kUsedInFirst, kAvailable, 0}).place(kWrap, noted.get()) == (2 | kWrap));
    CHECK(Flags({kUsed, kUsed, kAvailable, kAvailable}).place(kWrap, noted.get()) == (2 | kWrap));
}

TEST_CASE("packed place: of a ring that was stopped the front-end knows the place") {
    const auto noted = noted_at(2 | kWrap, PackedPlace::kStopped);
    Flags ring({kUsedInFirst, kUsedInFirst, kAvailable, kAvailable});
    CHECK(ring.place(2 | kWrap, noted.get()) == (2 | kWrap));
    CHECK(ring.place(3 | kWrap, noted.get()) == (3 | kWrap));
    CHECK_FALSE(ring.place(1 | kWrap, noted.get()));
}

TEST_CASE("packed place: without a note a base that the ring contradicts is refused") {
    CHECK_FALSE(Flags({kUsedInFirst, kUsedInFirst, kAvailable, 0}).place(kWrap));
    CHECK_FALSE(Flags({kUsed, kUsed, kAvailable, kAvailable}).place(kWrap));  // the driver is a round ahead
    CHECK(Flags({kUsedInFirst, kUsedInFirst, kAvailable, 0}).place(2 | kWrap) == (2 | kWrap));  // a migration
    CHECK(Flags({0, kUsed, kUsedInFirst, kUsedInFirst}).place(1) == 1);
}

TEST_CASE("packed place: a note that is none, or of a ring of another size, counts for nothing") {
    const auto noted = noted_at(9 | kWrap, PackedPlace::kRunning);
    CHECK_FALSE(Flags({kUsedInFirst, 0, 0, 0}).place(kWrap, noted.get()));
    noted->word = 0x8000'FFFF;
    CHECK_FALSE(Flags({kUsedInFirst, 0, 0, 0}).place(kWrap, noted.get()));
    noted->word = 0x8000'0001;
    noted->used[0] = {4, 5, 0, 0};
    CHECK_FALSE(Flags({kUsedInFirst, 0, 0, 0}).place(kWrap, noted.get()));
}

TEST_CASE("packed place: the chains of a burst that was not shown are shown") {
    auto noted = noted_at(kWrap, PackedPlace::kRunning);
    noted->used[0] = {kWrap, 1 | kWrap, 7, 60};
    noted->used[1] = {1 | kWrap, 3 | kWrap, 8, 0};
    noted->commit(kWrap, 2);
    Flags ring(
        {kAvailable | kWrite, kUsedInFirst, kAvailable, kAvailable});  // the second one is marked already
    CHECK(ring.place(kWrap, noted.get()) == (3 | kWrap));
    CHECK(
        (ring.ring[0].flags == (kUsedInFirst | kWrite) && ring.ring[0].id == 7 && ring.ring[0].bytes == 60));
    CHECK((ring.ring[1].flags == kUsedInFirst && ring.ring[1].id == 8 && ring.ring[1].bytes == 0));
}

TEST_CASE(
    "packed place: property: of 10,000 devices that end at any step the next goes on, and each chain comes "
    "back once") {
    std::mt19937 random(20261128);
    unsigned restarts = 0;
    for (int round = 0; restarts < 10'000; ++round) {
        const auto size = static_cast<std::uint16_t>(3 + random() % 30);
        CAPTURE(round, size);
        Pair pair(size);
        for (int step = 0; step < 40; ++step) {
            if (random() % 4 != 0)
                pair.offer(random);
            const std::uint16_t used = pair.use(static_cast<std::uint16_t>(1 + random() % 8));
            switch (used == 0 ? 3 : random() % 3) {
                case 0:
                    pair.publish();
                    if (random() % 2 == 0)
                        pair.start();
                    break;
                case 1:
                    pair.publish_and_forget();
                    if (random() % 2 == 0) {  // the driver goes on meanwhile
                        pair.reap();
                        pair.offer(random);
                    }
                    pair.start();
                    break;
                case 2:
                    pair.start();  // in the middle of the burst
                    break;
                default:
                    break;
            }
            pair.reap();
        }
        while (pair.use(8) != 0)
            pair.publish();
        pair.reap();
        REQUIRE(pair.with_device() == 0);
        restarts += pair.restarts();
    }
}
