// shared_room_test.cc - a room that many users share: each has its own part, however much the others hold.
#include "common/shared_room.h"

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

/// Takes all places that the user may hold, one by one. @return how many
std::uint32_t fill(SharedRoom& room, std::size_t user) {
    std::uint32_t taken = 0;
    for (; room.fits(user, 1); ++taken)
        room.take(user, 1);
    return taken;
}

}  // namespace

TEST_CASE("a user alone has its own part and half of the common one, the next a quarter, then an eighth") {
    SharedRoom room({.users = 8, .own = 10, .common = 800});
    CHECK(fill(room, 0) == 10 + 400);
    CHECK(fill(room, 1) == 10 + 200);
    CHECK(fill(room, 2) == 10 + 100);
    CHECK_FALSE(room.fits(0, 1));
    for (std::uint32_t left = room.used(0); left != 0; --left)
        room.give_back(0, 1);
    CHECK(fill(room, 1) == 150);  // it held 200 of the common part and 500 were free: now 350 and 350
    CHECK(room.used(0) == 0);
}

TEST_CASE("every user has its own part after all others hold what they can, and the sum is the room") {
    constexpr SharedRoom::Size kSize{.users = 1024, .own = 32, .common = 4096};
    SharedRoom room(kSize);
    std::uint32_t held = 0;
    for (std::size_t user = 0; user < kSize.users; ++user) {
        const std::uint32_t taken = fill(room, user);
        CHECK(taken >= kSize.own);
        held += taken;
    }
    CHECK(held <= kSize.total());
    CHECK(SharedRoom::divide(100, 3, 20).common == 40);
    CHECK(SharedRoom::divide(100, 3, 20).total() == 100);
}

TEST_CASE("amounts fit whole or not at all, and whatever is taken and given back, the room stays its size") {
    testing::Random32 random(5);
    constexpr SharedRoom::Size kSize{.users = 5, .own = 33, .common = 200};
    SharedRoom room(kSize);
    for (unsigned step = 0; step < 100'000; ++step) {
        const std::size_t user = random() % 5;
        const std::uint32_t amount = 1 + random() % 33;
        if (random() % 2 == 0 && room.fits(user, amount))
            room.take(user, amount);
        else if (room.used(user) >= amount)
            room.give_back(user, amount);
        std::uint32_t held = 0;
        for (std::size_t each = 0; each < 5; ++each)
            held += room.used(each);
        REQUIRE(held <= kSize.total());
    }
    for (std::size_t user = 0; user < 5; ++user)
        room.give_back(user, room.used(user));
    CHECK(fill(room, 0) == 33 + 100);
}
