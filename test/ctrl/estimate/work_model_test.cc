// work_model_test.cc - work of a token of each kind, from mixes that filled an appliance.
#include "ctrl/estimate/work_model.h"

#include <vector>

#include "common/water_fill.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir::estimate;
using weir::RealClaim;
using weir::water_fill;

namespace {

// The key-value store of Pulsar 6.2: tokens/s of each kind alone.
constexpr double kD = 6840;
constexpr double kC = 2795;

std::vector<double> filled(double d, double c) {
    const double all = 1 / (d / kD + c / kC);
    return {all * d, all * c};
}

}  // namespace

TEST_CASE("a full appliance shows the work of its kinds, and so the capacity for another mix", "[work]") {
    WorkModel model;
    CHECK(model.capacity(std::vector<double>{1, 0}) == 0);
    CHECK(model.error(std::vector<double>{1, 0}) == 1);
    model.learn(filled(1, 0), true, 0);
    CHECK(model.capacity(std::vector<double>{1, 0}) == Approx(kD));
    CHECK(model.capacity(std::vector<double>{1, 2}) == 0);  // the other kind is not known
    // A new tenant has a fifteenth of the tokens: the rest of the appliance is its work.
    model.learn(filled(14, 1), true, 0);
    CHECK(model.capacity(std::vector<double>{1, 2}) == Approx(3 / (1 / kD + 2 / kC)).epsilon(0.01));
    CHECK(model.capacity(std::vector<double>{1, 2}) == Approx(3485).epsilon(0.01));
    CHECK(model.error(std::vector<double>{1, 2}) < 0.06);
}

TEST_CASE("an appliance that is not full only bounds the work", "[work]") {
    WorkModel model;
    model.learn(std::vector<double>{1000, 0}, false, 1e-4);
    CHECK(model.capacity(std::vector<double>{1, 0}) == 0);  // the appliance may be far from full
    model.learn(filled(1, 0), true, 0);
    model.learn(std::vector<double>{1000, 1000}, false, 1 / kD);
    CHECK(model.capacity(std::vector<double>{1, 1}) == Approx(kD));  // the typical work, until it shows
    CHECK(model.error(std::vector<double>{1, 1}) > 0.2);
    // A higher throughput than that bounds the work from above.
    model.learn(std::vector<double>{4500, 4500}, false, 1 / kD);
    CHECK(model.capacity(std::vector<double>{1, 1}) == Approx(9000).epsilon(0.01));
    CHECK(model.error(std::vector<double>{1, 1}) > 0.15);
}

TEST_CASE("kinds that always came together are separated when one leaves, and not before", "[work]") {
    WorkModel model;
    model.learn(filled(1, 1), true, 0);
    const std::vector<double> together{1, 1};
    const std::vector<double> alone{1, 0};
    CHECK(model.capacity(together) == Approx(2 / (1 / kD + 1 / kC)).epsilon(0.01));
    CHECK(model.error(alone) > 0.2);
    for (int i = 0; i < 3; ++i)
        model.learn(filled(1, 0), true, 0);
    CHECK(model.capacity(alone) == Approx(kD).epsilon(0.01));
    CHECK(model.error(alone) < 0.02);
    model.learn(filled(1, 1), true, 0);
    CHECK(model.capacity(std::vector<double>{0, 1}) == Approx(kC).epsilon(0.05));
}

TEST_CASE("errors of a percent are averaged, and an appliance that changes is followed", "[work]") {
    WorkModel model;
    weir::testing::Random32 random(7);
    const auto noisy = [&](double times) {
        std::vector<double> rates = filled(1 + random() % 4, 1 + random() % 4);
        for (double& rate : rates)
            rate *= times * (0.99 + 0.02 * static_cast<double>(random()) * 0x1p-32);
        return rates;
    };
    for (int i = 0; i < 40; ++i)
        model.learn(noisy(1), true, 0);
    CHECK(model.capacity(std::vector<double>{1, 2}) == Approx(3485).epsilon(0.015));
    for (int i = 0; i < 40; ++i)
        model.learn(noisy(2), true, 0);
    CHECK(model.capacity(std::vector<double>{1, 2}) == Approx(2 * 3485).epsilon(0.05));
}

TEST_CASE("tokens are shared by weight, each part at most what is wanted", "[work]") {
    const auto shared = [](const std::vector<RealClaim>& claims) {
        std::vector<double> out(claims.size());
        (void)water_fill(600, claims, out);
        return out;
    };
    CHECK(
        shared({{.demand = 1000, .shares = 3}, {.demand = 1000, .shares = 2}, {.demand = 50, .shares = 1}}) ==
        std::vector<double>{330, 220, 50});
    CHECK(shared({{.demand = 1000, .shares = 3},
                  {.demand = 0, .shares = 0},
                  {.demand = 50, .shares = 1},
                  {.demand = 1000, .shares = 2}}) == std::vector<double>{330, 0, 50, 220});
    CHECK(shared({{.demand = 10, .shares = 3}, {.demand = 0, .shares = 2}, {.demand = 50, .shares = 1}}) ==
          std::vector<double>{10, 0, 50});
    CHECK(
        shared({{.demand = 100, .shares = 0}, {.demand = 100, .shares = 0}, {.demand = 100, .shares = 0}}) ==
        std::vector<double>{0, 0, 0});
}

TEST_CASE("kinds that get other numbers keep their work and their parts", "[work]") {
    WorkModel model;
    for (int i = 0; i < 50; ++i) {
        model.learn(std::vector<double>{900, 100}, true, 1e-3);
        model.learn(std::vector<double>{500, 300}, true, 1e-3);
    }
    RequestMix mix;
    mix.remember(std::vector<double>{900, 100});
    const double capacity = model.capacity(std::vector<double>{1, 1});
    const std::vector<std::size_t> before{2, 1, 0};  // a new kind, then the two in reverse
    model.renumber(before);
    mix.renumber(before);
    CHECK(model.capacity(std::vector<double>{0, 1, 1}) == Approx(capacity));
    CHECK(model.capacity(std::vector<double>{1, 1, 1}) == 0);
    CHECK(mix.moved(std::vector<double>{0, 100, 900}) == Approx(0).margin(1e-9));
    CHECK(mix.moved(std::vector<double>{500, 50, 450}) == Approx(0.5));
    model.learn(std::vector<double>{0, 100, 900}, true, 1e-3);
    CHECK(model.capacity(std::vector<double>{0, 1, 1}) == Approx(capacity).epsilon(0.01));
}
