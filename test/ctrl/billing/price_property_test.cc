// price_property_test.cc - SoftBW 4.3 on seeded random links: a false declaration gains nothing.
#include <algorithm>
#include <vector>

#include "ctrl/billing/price.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir::billing;
using weir::dynamic_rate;
using weir::testing::Random32;

namespace {

struct Vm {
    double promised;
    double demand;
};

double part(Random32& random) {
    return static_cast<double>(random()) / 4294967296.0;
}

/// Equal fulfillment (3.2): every VM has min(demand, F x B), F as large as the link allows.
std::vector<double> rates(const std::vector<Vm>& vms, double link) {
    std::vector<double> found(vms.size());
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        double sum = 0;
        for (const Vm& vm : vms)
            sum += std::min(vm.demand, middle * vm.promised);
        (sum <= link ? low : high) = middle;
    }
    for (std::size_t i = 0; i < vms.size(); ++i)
        found[i] = std::min(vms[i].demand, low * vms[i].promised);
    return found;
}

Prices random_prices(Random32& random) {
    return {.p0 = 0.01 + part(random), .beta = part(random), .link = 100 + 900 * part(random)};
}

}  // namespace

TEST_CASE("property: for what is delivered, a larger promise never costs less and never fulfills more") {
    Random32 random(601);
    for (int trial = 0; trial < 20'000; ++trial) {
        const Prices prices = random_prices(random);
        const GuaranteeKind kind = random() % 2 == 0 ? GuaranteeKind::kStrict : GuaranteeKind::kDynamic;
        const double delivered = part(random) * prices.link * 1.1;
        const double less = (0.001 + 0.999 * part(random)) * prices.link;
        const double more = less + part(random) * (prices.link - less);
        const Charge honest = charge_of(prices, {kind, less, delivered});
        const Charge raised = charge_of(prices, {kind, more, delivered});
        REQUIRE(raised.money >= honest.money * (1 - 1e-12));
        REQUIRE(*raised.fulfillment <= *honest.fulfillment * (1 + 1e-12));
        REQUIRE(charge_of(prices, {GuaranteeKind::kFairness, 0, delivered}).money <=
                honest.money * (1 + 1e-12));
    }
}

TEST_CASE("property: on a shared link, a VM that declares more pays more and lowers its fulfillment") {
    Random32 random(607);
    for (int trial = 0; trial < 3'000; ++trial) {
        const Prices prices = random_prices(random);
        std::vector<Vm> vms(2 + random() % 10);
        for (Vm& vm : vms)
            vm = {.promised = (0.01 + 0.3 * part(random)) * prices.link,
                  .demand = part(random) * prices.link};
        const std::vector<double> honest = rates(vms, prices.link);
        const double truth = vms[0].promised;
        const double lie = truth * (1 + 2 * part(random));
        vms[0].promised = std::min(lie, prices.link);
        const std::vector<double> raised = rates(vms, prices.link);
        const Charge before = charge_of(prices, {GuaranteeKind::kStrict, truth, honest[0]});
        const Charge after = charge_of(prices, {GuaranteeKind::kStrict, vms[0].promised, raised[0]});
        REQUIRE(*after.fulfillment <= *before.fulfillment * (1 + 1e-9));
        REQUIRE(raised[0] >= honest[0] * (1 - 1e-9));  // a smaller declaration never gets more
        REQUIRE(after.money >= before.money * (1 - 1e-9));
    }
}

TEST_CASE("property: the same data in less time by a higher promise never costs less") {
    Random32 random(613);
    for (int trial = 0; trial < 10'000; ++trial) {
        const Prices prices = random_prices(random);
        const double slow = (0.01 + 0.9 * part(random)) * prices.link;
        const double fast = slow + part(random) * (prices.link - slow);
        const double data = 1000 * part(random) + 1;
        for (const GuaranteeKind kind : {GuaranteeKind::kStrict, GuaranteeKind::kDynamic})
            REQUIRE(data / fast * charge_of(prices, {kind, fast, fast}).money >=
                    data / slow * charge_of(prices, {kind, slow, slow}).money * (1 - 1e-12));
    }
}

TEST_CASE("property: a false size or time of a dynamic guarantee promises no more than was declared") {
    Random32 random(617);
    for (int trial = 0; trial < 5'000; ++trial) {
        const double size = 1 + 1000 * part(random);
        const double time = 1 + std::floor(100 * part(random));
        const double declared = size * part(random);  // less than it intends to send
        double sent_by_guarantee = 0;
        for (double t = 0; t < 2 * time; t += 1) {
            // The worst case for the provider: the VM sends nothing at times, then all that it may.
            const double rate = dynamic_rate(declared, time, declared - sent_by_guarantee, time - t);
            REQUIRE(rate <= declared / time * (1 + 1e-12));
            sent_by_guarantee += random() % 2 == 0 ? rate : 0;
        }
        REQUIRE(sent_by_guarantee <= declared * (1 + 1e-9));
    }
}
