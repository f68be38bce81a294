// change_keys_test.cc - keys of changes by token, by number and by age.
#include "ctrl/api/change_keys.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE(
    "a token's key is used once, whatever other tokens do, until 1,000 newer ones or ten minutes later") {
    ChangeKeys keys;
    ChangeKeys::Clock::time_point now{};
    keys.note("ops", "first", now);
    CHECK(keys.has("ops", "first"));
    CHECK_FALSE(keys.has("other", "first"));
    for (int i = 0; i < 20'000; ++i)
        keys.note("busy", std::to_string(i), now);
    CHECK(keys.has("ops", "first"));
    CHECK(keys.has("busy", "19999"));
    CHECK(keys.has("busy", "19000"));
    CHECK_FALSE(keys.has("busy", "18999"));
    now += ChangeKeys::kLife;
    keys.note("ops", "second", now);
    CHECK(keys.has("ops", "first"));
    keys.note("ops", "third", now + std::chrono::seconds(1));
    CHECK_FALSE(keys.has("ops", "first"));
    CHECK(keys.has("ops", "second"));
    CHECK_FALSE(keys.has("busy", "19999"));
}
