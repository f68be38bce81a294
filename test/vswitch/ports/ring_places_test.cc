// ring_places_test.cc - guests with packed rings whose connection, or whose switch, ends without a word.
#include "vswitch/ports/ring_places.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "test/support/catch.h"
#include "test/vswitch/ports/vhost_switch.h"

using namespace weir;
using namespace weir::testing;

namespace {

using hostile::Guest;

const Guest::Shape kPackedGuest{.features = Guest::kWanted | hostile::mask(hostile::kPackedRing)};

/// A folder in memory.
struct Kept {
    Kept() { std::filesystem::create_directory(folder); }
    ~Kept() { std::filesystem::remove_all(folder); }
    std::string folder = "/dev/shm/weir-places-" + std::to_string(getpid());
};

/// Two guests, and a switch that may end while they live.
struct Pair {
    explicit Pair(const std::string& kept) : folder(kept) { begin(); }
    void begin() {
        where.reset();  // before the next one: the library has one driver
        where = std::make_unique<VhostSwitch>(2, folder);
        where->start();
        for (std::uint8_t n = 1; n <= 2; ++n)
            endpoints[n - 1].emplace(where->socket(n), false);
        if (!guests[0])
            for (std::uint8_t n = 0; n < 2; ++n)
                guests[n] = std::make_unique<Guest>(*endpoints[n], tally);
    }
    /// @return whether `count` frames of the first guest arrived at the second one
    bool exchange(unsigned count) {
        Arrivals arrivals;
        const std::uint32_t first = number;
        while (number < first + count) {
            if (!until([&] { return guests[0]->transmit({}, Arrivals::frame(2, 1, number)); }) ||
                !until([&] { return guests[0]->taken(); }))
                return false;
            ++number;
            guests[1]->receive([&](std::span<const std::uint8_t> frame) { arrivals.count(frame, 1); });
        }
        return until([&] {
            guests[1]->receive([&](std::span<const std::uint8_t> frame) { arrivals.count(frame, 1); });
            return arrivals.each_once(first, number);
        });
    }
    bool each_up() {
        return until([&] { return where->rings(1).up() && where->rings(2).up(); });
    }

    std::string folder;
    hostile::Tally tally;
    std::unique_ptr<VhostSwitch> where;
    std::array<std::optional<hostile::Endpoint>, 2> endpoints;
    std::array<std::unique_ptr<Guest>, 2> guests;
    std::uint32_t number = 0;
};

bool start(Pair& pair) {
    for (auto& guest : pair.guests) {
        if (!guest->restart(kPackedGuest))
            return false;
        guest->offer_buffers();
    }
    return pair.each_up();
}

}  // namespace

TEST_CASE("packed rings go on behind a connection, and a switch, that ended without a word", "[long]") {
    const Kept kept;
    Pair pair(kept.folder);
    REQUIRE(start(pair));
    REQUIRE(pair.exchange(700));  // more than two rounds of the rings, and not a whole number of them
    for (auto& guest : pair.guests)
        REQUIRE(guest->rejoin());
    REQUIRE(pair.each_up());
    CHECK(pair.exchange(100));
    pair.begin();
    for (auto& guest : pair.guests)
        REQUIRE(guest->rejoin());
    REQUIRE(pair.each_up());
    CHECK(pair.exchange(700));
}

TEST_CASE("the places of all rings that a front-end stops are its own from then on", "[long]") {
    const Kept kept;
    Pair pair(kept.folder);
    REQUIRE(start(pair));
    REQUIRE(pair.exchange(10));
    for (const std::uint32_t ring : {hostile::kReceive, hostile::kTransmit})
        REQUIRE(pair.guests[0]->frontend.send_ring(hostile::kGetVringBase, ring, 0));
    RingPlaces places(kept.folder + "/vm1", 2);
    for (std::uint16_t ring = 0; ring < 2; ++ring)
        CHECK(until([&] { return places.of(ring).state == virtio::PackedPlace::kStopped; }));
    pair.guests[0]->frontend.drain();
    REQUIRE(start(pair));  // a new driver
    CHECK(pair.exchange(100));
}

TEST_CASE(
    "a vNIC whose packed rings have no known place is never up, says so, and comes up with a new driver",
    "[long]") {
    Pair pair("");
    REQUIRE(start(pair));
    REQUIRE(pair.exchange(100));
    pair.begin();
    for (auto& guest : pair.guests)
        REQUIRE(guest->rejoin());
    for (unsigned n = 1; n <= 2; ++n) {
        CHECK(until([&] { return !pair.where->port(n).ring_fault().empty(); }));
        CHECK_THAT(pair.where->port(n).ring_fault(), ContainsSubstring("its place is not known"));
        CHECK_FALSE(pair.where->rings(n).up());
    }
    REQUIRE(start(pair));
    CHECK(pair.where->port(1).ring_fault().empty());
    CHECK(pair.exchange(100));
}

TEST_CASE("places are kept in a file of memory, and its content outlives the mapping") {
    const Kept kept;
    const std::string path = kept.folder + "/deeper/vm1";
    {
        RingPlaces places(path, 4);
        CHECK(places.fault().empty());
        places.of(3).settle(0x8007);
    }
    CHECK(RingPlaces(path, 4).of(3).word == 0x8007'0000);
    CHECK(RingPlaces(path, 8).of(3).word == 0x8007'0000);  // `queues` has grown
    std::ofstream(path) << "something else";
    CHECK(RingPlaces(path, 4).of(3).word == 0);
}

TEST_CASE("without a folder, or on a disk, places outlive no process, and the reason is named") {
    const weir::test::TempFolder disk;
    CHECK(RingPlaces("", 2).fault().empty());
    RingPlaces nowhere("/proc/weir/vm1", 2);
    CHECK_THAT(nowhere.fault(), ContainsSubstring("cannot be used"));
    nowhere.of(1).settle(5);
    CHECK(nowhere.of(1).word == 5U << 16);
    const Kept kept;
    std::filesystem::create_symlink("/etc/passwd", kept.folder + "/vm1");
    CHECK_THAT(RingPlaces(kept.folder + "/vm1", 2).fault(), ContainsSubstring("cannot be used"));
}
