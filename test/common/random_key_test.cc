// random_key_test.cc - keys of hash tables differ from call to call, in every word.
#include "common/random_key.h"

#include <array>
#include <set>

#include "test/support/catch.h"

TEST_CASE("no word of a random key comes twice, and none is zero") {
    using Key = std::array<std::uint64_t, 3>;
    std::set<std::uint64_t> words{0};
    for (int i = 0; i < 100; ++i)
        for (const std::uint64_t word : weir::random_key<Key>())
            CHECK(words.insert(word).second);
}
