// rate_law_test.cc - the worked numbers of both laws, and where the published code went wrong.
#include "vswitch/qos/feedback/rate_law.h"

#include <vector>

#include "test/support/catch.h"

using namespace weir;

namespace {

RateLawProfile profile(std::string_view law) {
    RateLawProfile profile{.law = make_rate_law(*find_rate_law(law)), .rate_min = 10, .rate_max = 1'000'000};
    profile.law.gain = 0.5;
    return profile;
}

/// `senders` take the rate that was advertised in the period before. Rates in thousands keep the digits.
std::vector<double> run(std::string_view law, double capacity, unsigned senders, double start,
                        unsigned steps) {
    RateLawProfile scaled = profile(law);
    scaled.rate_max *= 1000;
    std::vector<double> rates;
    auto rate = static_cast<std::uint64_t>(start * 1000);
    for (unsigned i = 0; i < steps; ++i) {
        rate = next_rate(scaled, rate, static_cast<double>(rate * senders) / (capacity * 1000));
        rates.push_back(static_cast<double>(rate) / 1000);
    }
    return rates;
}

void check_rates(const std::vector<double>& found, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("the log law brings four senders from the whole link to their quarters in a few halving steps") {
    check_rates(run("log", 9000, 4, 9000, 6), {4500, 3181.98, 2675.72, 2453.64, 2349.62, 2299.27});
}

TEST_CASE("the linear law climbs as in the paper, within 0.01 % at step 17") {
    const auto rates = run("linear", 9000, 2, 1000, 17);
    check_rates(rates, {1388.89, 1869.00, 2415.37, 2974.83, 3478.96, 3873.64, 4143.23});
    CHECK(rates[16] == Approx(4500).epsilon(1e-4));
}

TEST_CASE("a silent endpoint's rate grows: by half in the linear law, at most doubled in the log law") {
    CHECK(next_rate(profile("linear"), 1000, 0) == 1500);
    CHECK(next_rate(profile("log"), 1000, 0) == 2000);
    CHECK(next_rate(profile("log"), 1000, 1) == 1000);
}

TEST_CASE("three times the capacity and more cuts to the floor and never wraps to the ceiling") {
    CHECK(next_rate(profile("linear"), 1000, 3) == 10);
    CHECK(next_rate(profile("linear"), 1000, 9.8) == 10);
    CHECK(next_rate(profile("log"), 1000, 4) == 500);
    CHECK(next_rate(profile("log"), 1000, 1e12) == 10);
}

TEST_CASE(
    "from the floor the linear law needs nineteen steps to within 5 %, the log law five from the ceiling") {
    const auto within = [](const std::vector<double>& rates, double fair) {
        for (std::size_t i = 0; i < rates.size(); ++i)
            if (std::abs(rates[i] / fair - 1) <= 0.05)
                return i + 1;
        return rates.size() + 1;
    };
    CHECK(within(run("log", 9000, 4, 9000, 30), 2250) == 5);
    CHECK(within(run("log", 9000, 14, 10, 30), 9000.0 / 14) <= 16);
    CHECK(within(run("linear", 9000, 4, 10, 30), 2250) == 18);
}

TEST_CASE("a rate stays between its floor and its ceiling") {
    CHECK(next_rate(profile("log"), 1'000'000, 0.1) == 1'000'000);
    CHECK(next_rate(profile("log"), 11, 1e6) == 10);
}

TEST_CASE("rate laws have names; an unknown name is none") {
    for (const RateLawEntry& entry : kRateLaws) {
        CHECK(find_rate_law(entry.name) == &entry);
        CHECK(make_rate_law(entry).factor(0.5, 1) == Approx(1));
    }
    CHECK(RateLawProfile{}.law.factor == make_rate_law(*find_rate_law("log")).factor);
    CHECK(find_rate_law("cubic") == nullptr);
}
