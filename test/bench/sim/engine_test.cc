// engine_test.cc - events fire in order, however they are added.
#include "bench/sim/engine.h"

#include <algorithm>
#include <vector>

#include "bench/sim/random.h"
#include "bench/sim/samples.h"
#include "test/support/catch.h"

using namespace weir;
using namespace weir::sim;

namespace {

struct Fired {
    Nanos at;
    std::uint32_t what;
    bool operator==(const Fired&) const = default;
};

struct Log final : Handler {
    explicit Log(Engine& clock) : engine(clock) {}
    void fire(std::uint32_t what) override { fired.push_back({engine.now(), what}); }
    Engine& engine;
    std::vector<Fired> fired;
};

/// Every event begets two more, until there are enough.
struct Breeder final : Handler {
    explicit Breeder(Engine& clock) : engine(clock) {}
    void fire(std::uint32_t) override {
        in_order &= engine.now() >= last;
        last = engine.now();
        ++count;
        for (int child = 0; child < 2 && added < 10'000; ++child, ++added)
            engine.after(random.below(1'000), *this);
    }
    Engine& engine;
    Random random{1, 0};
    Nanos last = 0;
    std::uint64_t count = 0;
    std::uint64_t added = 0;
    bool in_order = true;
};

}  // namespace

TEST_CASE("events fire by time, and at one time in the order in which they were added") {
    Engine engine;
    Log log(engine);
    engine.at(30, log, 0);
    engine.at(10, log, 1);
    engine.at(30, log, 2);
    engine.at(10, log, 3);
    engine.at(20, log, 4);
    engine.run_until(30);
    CHECK(log.fired == std::vector<Fired>{{10, 1}, {10, 3}, {20, 4}});
    CHECK(engine.now() == 30);
    engine.run_until(31);
    CHECK(log.fired.size() == 5);
    CHECK(log.fired[3] == Fired{30, 0});
    CHECK(log.fired[4] == Fired{30, 2});
    CHECK(engine.fired() == 5);
}

TEST_CASE("events that are added while others fire find their place") {
    Engine engine;
    Breeder breeder(engine);
    engine.at(0, breeder);
    engine.run_until(kNever);
    CHECK(breeder.count == 10'001);
    CHECK(breeder.in_order);
}

TEST_CASE("ten thousand random times come out sorted") {
    Engine engine;
    Log log(engine);
    Random random(7, 1);
    std::vector<Nanos> times;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        times.push_back(random.below(100'000));
        engine.at(times.back(), log, i);
    }
    std::stable_sort(times.begin(), times.end());
    engine.run_until(kNever);
    REQUIRE(log.fired.size() == times.size());
    bool same = true;
    for (std::size_t i = 0; i < times.size(); ++i)
        same &= log.fired[i].at == times[i];
    CHECK(same);
}

TEST_CASE("random numbers are those of SplitMix64 on every machine, and streams differ") {
    CHECK(mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF);  // the published first output for seed 0
    CHECK(Random(1, 0).next() == Random(1, 0).next());
    CHECK(Random(1, 0).next() != Random(1, 1).next());
    CHECK(Random(1, 0).next() != Random(2, 0).next());
    Random random(3, 0);
    double sum = 0;
    for (int i = 0; i < 100'000; ++i)
        sum += random.exponential(50);
    CHECK(sum / 100'000 == Approx(50).epsilon(0.02));
}

TEST_CASE("a percentile is the smallest value that so many do not exceed") {
    Samples samples;
    for (std::uint64_t value = 1000; value >= 1; --value)
        samples.add(value);
    CHECK(samples.percentile(0.5) == 500);
    CHECK(samples.percentile(0.99) == 990);
    CHECK(samples.percentile(0.999) == 999);
    CHECK(samples.percentile(1) == 1000);
    CHECK(samples.percentile(0) == 1);
    CHECK(samples.mean() == 500);
    CHECK(Samples().percentile(0.5) == 0);
}
