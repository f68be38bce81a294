// bitmap_tree_test.cc - find-next over one, two and three levels.
#include "vswitch/qos/buckets/bitmap_tree.h"

#include <memory>
#include <set>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

template <std::size_t N>
void agrees_with_a_set() {
    weir::testing::Random32 random(5);
    const auto tree = std::make_unique<BitmapTree<N>>();
    std::set<std::size_t> model;
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t member = random() % N;
        if (random() % 3 == 0) {
            tree->set(member);
            model.insert(member);
        } else {
            const std::size_t victim = model.empty() ? member : *model.begin();
            tree->clear(victim);
            model.erase(victim);
        }
        const std::size_t from = random() % (N + 2);
        const auto next = model.lower_bound(from);
        REQUIRE(tree->find_from(from) == (next == model.end() ? SIZE_MAX : *next));
        const std::size_t round = next != model.end() ? *next : model.empty() ? SIZE_MAX : *model.begin();
        REQUIRE(tree->find_cyclic(from) == round);
        REQUIRE(tree->test(member) == model.contains(member));
        REQUIRE(tree->empty() == model.empty());
    }
}

}  // namespace

TEST_CASE("a bitmap tree of one level agrees with an ordered set") {
    agrees_with_a_set<64>();
}
TEST_CASE("a bitmap tree of two levels agrees with an ordered set") {
    agrees_with_a_set<2048>();
}
TEST_CASE("a bitmap tree of three levels agrees with an ordered set") {
    agrees_with_a_set<262'144>();
}
TEST_CASE("a bitmap tree of 128 and of 8192 agrees with an ordered set") {
    agrees_with_a_set<128>();
    agrees_with_a_set<8192>();
}
