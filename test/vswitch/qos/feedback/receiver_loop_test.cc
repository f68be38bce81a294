// receiver_loop_test.cc - the loop closed: senders that keep to the advertised rate, a link whose drops the
// receiver does not see, feedback that is late.
#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "vswitch/qos/feedback/receiver.h"

using namespace weir;
using weir::testing::kWireFrame;

namespace {

constexpr double kLink = 1.25e9;  // 10 Gbit/s
constexpr double kCapacity = 0.9 * kLink;
constexpr Nanos kLoopStep = 10'000;
constexpr VnicId kVnic = 3;
constexpr VnicId kOther = 4;

/// A source that sends to one vNIC, with a demand and an advertised rate that takes effect `delay` later.
struct LoopSender {
    VnicId to = kVnic;
    double demand = kLink;
    double advertised = kLink;
    double credit = 0;  // bytes not sent yet
    std::deque<std::pair<Nanos, double>> coming{};
};

RateLaw law(bool knows_senders) {
    RateLaw law = RateLawProfile{}.law;
    law.knows_senders = knows_senders;
    return law;
}

class Loop {
  public:
    explicit Loop(Nanos delay, bool knows_senders = true)
        : delay_(delay),
          receiver_({}, {.capacity = static_cast<std::uint64_t>(kCapacity),
                         .line_rate = static_cast<std::uint64_t>(kLink),
                         .period = ReceiverProfile{}.period,
                         .law = {.law = law(knows_senders), .rate_min = 1'250'000}}) {
        receiver_.add(kVnic, {});
        receiver_.add(kOther, {});
    }

    /// Runs for `duration`, step by step.
    void run(Nanos duration) {
        for (const Nanos end = now_ + duration; now_ < end; now_ += kLoopStep)
            step();
    }

    /// Runs for `duration`. @return bytes per second that the vNIC received in it
    double received(Nanos duration, VnicId vnic) {
        const double before = total(vnic);
        run(duration);
        return (total(vnic) - before) * 1e9 / static_cast<double>(duration);
    }
    double total(VnicId vnic) const { return totals_[vnic]; }

    Receiver& receiver() { return receiver_; }
    std::vector<LoopSender> sources;

  private:
    void step() {
        if (receiver_.due(now_))
            receiver_.sweep(now_);
        double offered = 0;
        for (LoopSender& source : sources) {
            for (; !source.coming.empty() && source.coming.front().first <= now_; source.coming.pop_front())
                source.advertised = source.coming.front().second;
            offered += std::min(source.demand, source.advertised);
        }
        const double share = std::min(1.0, kLink / std::max(offered, 1.0));  // drops hit all alike
        for (std::size_t i = 0; i < sources.size(); ++i) {
            LoopSender& source = sources[i];
            source.credit += std::min(source.demand, source.advertised) * share * kLoopStep / 1e9;
            for (; source.credit >= kWireFrame; source.credit -= kWireFrame) {
                totals_[source.to] += kWireFrame;
                Feedback feedback{};
                if (receiver_.received(source.to, i + 1, kWireFrame, 0, now_, feedback))
                    source.coming.emplace_back(now_ + delay_, static_cast<double>(feedback.rate));
            }
        }
    }

    Nanos delay_;
    Nanos now_ = ReceiverProfile{}.period;
    Receiver receiver_;
    std::array<double, 8> totals_{};
};

/// Their frames do not all come at once.
std::vector<LoopSender> line_rate_senders(unsigned count) {
    std::vector<LoopSender> sources(count);
    for (unsigned i = 0; i < count; ++i)
        sources[i].credit = static_cast<double>(kWireFrame) * i / count;
    return sources;
}

/// The largest of all advertised rates against `fair`.
double worst(const Loop& loop, double fair) {
    double worst = 0;
    for (const LoopSender& source : loop.sources)
        worst = std::max(worst, std::abs(std::min(source.advertised, source.demand) / fair - 1));
    return worst;
}

}  // namespace

TEST_CASE("fourteen senders at line rate are at their fair rate within 1 ms, a hundred within 2 ms") {
    for (const auto& [count, time] : {std::pair{14U, Nanos{1'000'000}}, {100U, Nanos{2'000'000}}}) {
        Loop loop(20'000);
        loop.sources = line_rate_senders(count);
        loop.run(time);
        INFO(count << " senders");
        CHECK(loop.received(2'000'000, kVnic) == Approx(kCapacity).epsilon(0.05));
        CHECK(worst(loop, kCapacity / count) < 0.25);
    }
}

TEST_CASE("late feedback, up to three periods, does not make rates swing beyond 10 %") {
    for (const unsigned count : {1U, 2U, 4U, 14U, 100U}) {
        for (Nanos periods = 0; periods <= 3; ++periods) {
            Loop loop(periods * ReceiverProfile{}.period);
            loop.sources = line_rate_senders(count);
            loop.run(10'000'000);
            INFO(count << " senders, " << periods << " periods late");
            double swing = 0;
            for (int i = 0; i < 10; ++i) {
                CHECK(loop.received(4'000'000, kVnic) == Approx(kCapacity).epsilon(0.05));
                swing = std::max(swing, worst(loop, kCapacity / count));
            }
            CHECK(swing <= 0.1);
        }
    }
}

TEST_CASE("senders that want less than their part leave it to the one that wants more") {
    for (Nanos periods = 0; periods <= 3; ++periods) {
        Loop loop(periods * ReceiverProfile{}.period);
        loop.sources = line_rate_senders(1);
        for (int i = 0; i < 13; ++i)
            loop.sources.push_back({.to = kVnic, .demand = 0.02 * kLink});
        loop.run(10'000'000);
        INFO(periods << " periods late");
        CHECK(loop.received(10'000'000, kVnic) == Approx(kCapacity).epsilon(0.05));
        CHECK(loop.sources[0].advertised > (0.9 - 0.26 - 0.07) * kLink);
    }
}

TEST_CASE("a vNIC that falls silent leaves its half to the other within 1 ms, and has it back within 1 ms") {
    Loop loop(20'000);
    loop.sources = line_rate_senders(2);
    loop.sources.push_back({.to = kOther});
    loop.run(20'000'000);
    CHECK(loop.received(5'000'000, kVnic) == Approx(kCapacity / 2).epsilon(0.06));
    CHECK(loop.received(5'000'000, kOther) == Approx(kCapacity / 2).epsilon(0.06));
    loop.sources[2].demand = 0;
    loop.run(1'000'000);
    CHECK(loop.received(1'000'000, kVnic) >= 0.95 * kCapacity);
    loop.run(20'000'000);
    loop.sources[2].demand = kLink;
    loop.run(1'000'000);
    CHECK(loop.received(2'000'000, kOther) == Approx(kCapacity / 2).epsilon(0.1));
}

TEST_CASE("a vNIC that receives little does not hold its part, whatever the mix") {
    for (const double little : {0.001, 0.05, 0.2, 0.4}) {
        Loop loop(20'000);
        loop.sources = line_rate_senders(3);
        loop.sources.push_back({.to = kOther, .demand = little * kLink});
        loop.run(10'000'000);
        const double before = loop.total(kOther);
        const double rate = loop.received(10'000'000, kVnic);
        INFO(little);
        CHECK(rate + (loop.total(kOther) - before) * 100 >= 0.9 * kCapacity);
        CHECK((loop.total(kOther) - before) * 100 == Approx(little * kLink).epsilon(0.02));
    }
}
