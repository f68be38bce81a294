// histogram_test.cc - bounds of buckets, and percentiles within 6.25 % of the true ones.
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "common/metrics.h"
#include "test/support/catch.h"

using namespace weir;

TEST_CASE("every bucket holds exactly the values between its neighbor's bound and its own") {
    for (std::size_t bucket = 0; bucket < HistogramScale::kBuckets; ++bucket) {
        const Nanos last = HistogramScale::upper_bound(bucket);
        REQUIRE(HistogramScale::bucket_of(last) == bucket);
        REQUIRE((last == HistogramScale::kMax || HistogramScale::bucket_of(last + 1) == bucket + 1));
    }
    CHECK(HistogramScale::upper_bound(HistogramScale::kBuckets - 1) == HistogramScale::kMax);
    CHECK(HistogramScale::bucket_of(kNever) == HistogramScale::kBuckets - 1);
}

TEST_CASE("values up to 31 ns are kept exactly") {
    Histogram h;
    for (Nanos v = 0; v <= 31; ++v)
        h.add(v);
    const HistogramSnapshot s = h.snapshot();
    CHECK(s.count() == 32);
    CHECK(s.percentile(0.5) == 15);
    CHECK(s.percentile(1.0) == 31);
    CHECK(s.max() == 31);
}

TEST_CASE("percentiles of random delays are within 6.25 % above the true ones") {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> delays(9.0, 2.0);
    const auto h = std::make_unique<Histogram>();
    std::vector<Nanos> values(100'000);
    for (Nanos& v : values) {
        v = static_cast<Nanos>(delays(random));
        h->add(v);
    }
    std::ranges::sort(values);
    const HistogramSnapshot s = h->snapshot();
    for (const double p : {0.01, 0.5, 0.9, 0.99, 0.999}) {
        const auto truth = static_cast<double>(values[static_cast<std::size_t>(p * 100'000) - 1]);
        const auto found = static_cast<double>(s.percentile(p));
        CHECK(found >= truth);
        CHECK(found <= truth * 1.0625 + 1);
    }
    CHECK(s.max() == values.back());
}

TEST_CASE("an empty histogram has no percentile and no maximum") {
    const HistogramSnapshot s = Histogram{}.snapshot();
    CHECK(s.count() == 0);
    CHECK(s.percentile(0.99) == 0);
    CHECK(s.max() == 0);
}

TEST_CASE("the difference of two snapshots is the interval between them") {
    Histogram h;
    h.add(1'000'000);
    const HistogramSnapshot before = h.snapshot();
    for (int i = 0; i < 10; ++i)
        h.add(20);
    const HistogramSnapshot interval = h.snapshot().since(before);
    CHECK(interval.count() == 10);
    CHECK(interval.percentile(0.99) == 20);
    CHECK(interval.max() == 20);
}

TEST_CASE("a snapshot counts all values and divides them by percentile") {
    Histogram h;
    h.add(10);
    h.add(30);
    h.add(30);
    const HistogramSnapshot both = h.snapshot();
    CHECK(both.count() == 3);
    CHECK(both.percentile(0.3) == 10);
    CHECK(both.percentile(0.5) == 30);
    CHECK(both.max() == 30);
}
