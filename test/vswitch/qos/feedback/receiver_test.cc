// receiver_test.cc - the split, the meter, and when a sender gets feedback.
#include "vswitch/qos/feedback/receiver.h"

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kGbit;

namespace {

const Nanos kPeriod = ReceiverProfile{}.period;

ReceiverProfile profile() {
    return {
        .capacity = 9 * kGbit, .line_rate = 10 * kGbit, .period = kPeriod, .law = {.rate_min = kGbit / 100}};
}

/// `gbit` of one sender to a vNIC, in this period.
bool receive(Receiver& receiver, VnicId vnic, std::uint64_t sender, double gbit, Nanos now,
             Feedback& feedback, std::uint32_t marked = 0) {
    const auto bytes = static_cast<std::uint32_t>(gbit * 1e9 / 8 * 200e-6);
    return receiver.received(vnic, sender, bytes, marked, now, feedback);
}

double gbit(std::uint64_t rate) {
    return static_cast<double>(rate) / kGbit;
}

}  // namespace

TEST_CASE("with shares in proportion to reservations the split is EyeQ's") {
    Receiver receiver({}, profile());
    receiver.add(0, {.reservation = 2 * kGbit, .shares = 200});
    receiver.add(1, {.reservation = 4 * kGbit, .shares = 400});
    receiver.add(2, {.reservation = 3 * kGbit, .shares = 300});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 3; ++i, now += kPeriod) {
        (void)receive(receiver, 0, 1, 5, now, feedback);
        (void)receive(receiver, 1, 1, 5, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    CHECK(gbit(receiver.read(0).capacity) == Approx(3).epsilon(0.001));  // 2/6 of 9
    CHECK(gbit(receiver.read(1).capacity) == Approx(6).epsilon(0.001));
    CHECK(receiver.read(2).capacity == 0);  // not active
}

TEST_CASE("a vNIC's limit holds for what it receives; the rest is the others'") {
    Receiver receiver({}, profile());
    receiver.add(0, {.limit = kGbit});
    receiver.add(1, {});
    Feedback feedback{};
    for (Nanos now = kPeriod; now < 5 * kPeriod; now += kPeriod) {
        (void)receive(receiver, 0, 1, 5, now, feedback);
        (void)receive(receiver, 1, 1, 5, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    CHECK(gbit(receiver.read(0).capacity) == Approx(1));
    CHECK(gbit(receiver.read(1).capacity) == Approx(8));
    CHECK(gbit(receiver.read(0).advertised) < 1.1);
}

TEST_CASE("no vNIC's part is below its guarantee, however little it receives") {
    Receiver receiver({}, profile());
    receiver.add(0, {.reservation = 6 * kGbit});
    receiver.add(1, {});
    Feedback feedback{};
    for (Nanos now = kPeriod; now < 20 * kPeriod; now += kPeriod) {
        (void)receive(receiver, 0, 1, 0.01, now, feedback);
        (void)receive(receiver, 1, 1, 9, now, feedback);
        receiver.sweep(now + kPeriod);
        CHECK(receiver.read(0).capacity >= 6 * kGbit);
    }
    CHECK(gbit(receiver.read(1).capacity) > 8.5);
}

TEST_CASE("a sender gets feedback every 10 kB, but not twice within 100 us") {
    Receiver receiver({}, profile());
    receiver.add(0, {.limit = kGbit});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 10; ++i, now += kPeriod) {  // until it is limited
        (void)receive(receiver, 0, 1, 5, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    now += 1'000'000;
    (void)receiver.received(0, 1, 20'000, 0, now, feedback);
    const std::uint32_t sequence = feedback.sequence;
    CHECK_FALSE(receiver.received(0, 1, 9'999, 0, now + 150'000, feedback));
    CHECK(receiver.received(0, 1, 1, 0, now + 150'000, feedback));
    CHECK(feedback.sequence == sequence + 1);
    CHECK_FALSE(receiver.received(0, 1, 10'000, 0, now + 249'999, feedback));
    CHECK(receiver.received(0, 1, 1, 0, now + 250'000, feedback));
    CHECK(receiver.received(0, 2, 10'000, 0, now + 250'000, feedback));  // another sender
}

TEST_CASE("a rate that has fallen is advertised with the next packet") {
    Receiver receiver({}, profile());
    receiver.add(0, {});
    receiver.add(1, {});
    Feedback feedback{};
    Nanos now = kPeriod;
    receiver.sweep(now);
    CHECK(receive(receiver, 0, 1, 9.8, now, feedback));
    CHECK(feedback.rate == Feedback::kFree);  // it has the whole link
    (void)receive(receiver, 1, 1, 5, now, feedback);
    receiver.sweep(now + kPeriod);
    REQUIRE(receiver.read(0).advertised < 6 * kGbit);
    CHECK(receiver.received(0, 1, 64, 0, now + kPeriod, feedback));
    CHECK(feedback.rate == receiver.read(0).advertised);
}

TEST_CASE(
    "a vNIC that begins to receive lifts limits that may be left from before a restart, then sends nothing") {
    Receiver receiver({}, profile());
    receiver.add(0, {});
    Feedback feedback{};
    unsigned times = 0;
    Nanos now = kPeriod;
    for (; now < 12'000'000'000; now += kPeriod) {
        if (receive(receiver, 0, 1, 2, now, feedback)) {
            ++times;
            CHECK(feedback.rate == Feedback::kFree);
            CHECK(now < 10'100'000'000);
        }
        receiver.sweep(now + kPeriod);
    }
    CHECK(times > 300);
    CHECK(times < 500);
}

TEST_CASE("a sender of little gets feedback again before its limiter halves its rate in silence") {
    Receiver receiver({}, profile());
    receiver.add(0, {.limit = kGbit});
    Feedback feedback{};
    Nanos last = 0;
    Nanos longest = 0;
    for (Nanos now = kPeriod; now < 1'000'000'000; now += kPeriod) {
        (void)receive(receiver, 0, 1, 8, now, feedback);  // a flood, so that the vNIC is held to its limit
        if (now % (10 * kPeriod) == 0 && receiver.received(0, 2, 100, 0, now, feedback)) {
            longest = std::max(longest, last == 0 ? 0 : now - last);
            last = now;
        }
        receiver.sweep(now + kPeriod);
    }
    CHECK(last > 900'000'000);
    CHECK(longest < 30'000'000);
}

TEST_CASE("a sender with a limiter gets \"no limit\" with its next packet, also when long forgotten") {
    for (const Nanos silence : {10'000'000U, 60'000'000U, 1'500'000'000U}) {
        Receiver receiver({}, profile());
        receiver.add(0, {.limit = kGbit});
        Feedback feedback{};
        Nanos now = kPeriod;
        for (; now < 20'000'000; now += kPeriod) {
            (void)receive(receiver, 0, 1, 8, now, feedback);
            (void)receiver.received(0, 2, 100, 0, now, feedback);
            receiver.sweep(now + kPeriod);
        }
        REQUIRE(feedback.rate < kGbit);
        for (const Nanos end = now + silence; now < end; now += kPeriod)
            receiver.sweep(now);
        CHECK(receiver.received(0, 2, 100, 0, now, feedback));
        INFO(silence << " ns of silence");
        CHECK((silence < 50'000'000 || feedback.rate == Feedback::kFree));
        now += 20'000'000'000;
        receiver.sweep(now);
        CHECK_FALSE(receiver.received(0, 3, 100, 0, now, feedback));  // no sender can have a limiter any more
    }
}

TEST_CASE("congestion marks lower the rate although the capacity is not reached") {
    Receiver receiver({}, profile());
    receiver.add(0, {});
    Feedback feedback{};
    for (Nanos now = kPeriod; now < 20 * kPeriod; now += kPeriod) {
        (void)receive(receiver, 0, 1, 8, now, feedback, 100'000);
        receiver.sweep(now + kPeriod);
    }
    CHECK(gbit(receiver.read(0).advertised) < 8);
}

TEST_CASE("a silent endpoint forgets: its rate returns to the line's, its senders go") {
    Receiver receiver({}, profile());
    receiver.add(0, {.limit = kGbit});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 10; ++i, now += kPeriod) {
        (void)receive(receiver, 0, 1, 9, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    CHECK(receiver.senders() == 1);
    for (int i = 0; i < 150; ++i, now += kPeriod)
        receiver.sweep(now);
    CHECK(receiver.read(0).advertised == 10 * kGbit);
    CHECK(receiver.senders() == 0);
}

TEST_CASE("a removed vNIC takes its senders along; others may add senders again") {
    Receiver receiver({.senders = 16}, profile());
    receiver.add(0, {});
    receiver.add(1, {});
    Feedback feedback{};
    for (std::uint64_t sender = 1; sender <= 100; ++sender)
        (void)receive(receiver, 0, sender, 1, kPeriod, feedback);
    CHECK(receiver.senders() == 8);
    for (std::uint64_t sender = 1; sender <= 100; ++sender)
        (void)receive(receiver, 1, sender, 1, kPeriod, feedback);
    CHECK(receiver.senders() == 12);
    receiver.remove(0);
    CHECK(receiver.senders() == 4);
    for (std::uint64_t sender = 1; sender <= 100; ++sender)
        (void)receive(receiver, 1, sender, 1, kPeriod, feedback);
    CHECK(receiver.senders() == 8);
    receiver.remove(1);
    CHECK(receiver.senders() == 0);
}

TEST_CASE("senders without an entry are advertised to as if they were one") {
    Receiver receiver({.senders = 2}, profile());
    receiver.add(0, {.limit = kGbit});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 10; ++i, now += kPeriod) {  // until it is limited
        (void)receive(receiver, 0, 1, 5, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    REQUIRE(receiver.senders() == 1);
    CHECK(receiver.received(0, 2, 64, 0, now, feedback));
    CHECK(feedback.rate == receiver.read(0).advertised);
    CHECK_FALSE(receiver.received(0, 3, 9'999, 0, now + 150'000, feedback));
    CHECK(receiver.received(0, 4, 1, 0, now + 150'000, feedback));
    CHECK(receiver.senders() == 1);
}

TEST_CASE("random traffic never moves a rate out of its bounds, nor more parts than there is capacity") {
    Receiver receiver({}, profile());
    std::uint64_t random = 1;
    const auto next = [&random](std::uint64_t below) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (random >> 33) % below;
    };
    for (VnicId vnic = 0; vnic < 20; ++vnic)
        receiver.add(vnic, {.reservation = next(3) * kGbit / 10,
                            .limit = next(2) != 0 ? Claim::kNoLimit : (1 + next(5)) * kGbit,
                            .shares = static_cast<std::uint32_t>(1 + next(500))});
    Feedback feedback{};
    for (Nanos now = kPeriod; now < 400'000'000; now += 20'000) {
        const auto vnic = static_cast<VnicId>(next(20));
        if (receiver.received(vnic, next(30), static_cast<std::uint32_t>(next(60'000)),
                              static_cast<std::uint32_t>(next(2) * next(60'000)), now, feedback)) {
            CHECK(feedback.rate >= kGbit / 100);
            CHECK((feedback.rate < 10 * kGbit || feedback.rate == Feedback::kFree));
        }
        if (receiver.due(now))
            receiver.sweep(now);
    }
}

TEST_CASE(
    "a flood is cut within 60 us, each sender gets feedback with its next frame, and the queue may drain") {
    Receiver receiver({}, profile());
    receiver.add(0, {.reservation = 4 * kGbit});
    receiver.add(1, {.reservation = 4 * kGbit});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 3; ++i, now += kPeriod) {  // the other vNIC has the link for itself
        (void)receive(receiver, 1, 1, 9, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    unsigned informed = 0;
    // 14 senders in turn fill the link of 10 Gbit/s: a frame each 1.23 us.
    for (unsigned frame = 0; frame < 48; ++frame, now += 1'230)
        informed +=
            receiver.received(0, 1 + frame % 14, 1538, 0, now, feedback) && feedback.rate < 10 * kGbit;
    CHECK(informed >= 14);
    CHECK(gbit(receiver.read(0).advertised) == Approx(4.5 / 14).epsilon(0.1));
    for (unsigned frame = 0; frame < 115; ++frame, now += 1'230)  // until the period ends
        (void)receiver.received(0, 1 + frame % 14, 1538, 0, now, feedback);
    receiver.sweep(now);
    CHECK(gbit(receiver.read(0).advertised) < 0.8 * 4.5 / 14);
}

TEST_CASE("a rate that has risen by a third is advertised although little came since") {
    Receiver receiver({}, profile());
    receiver.add(0, {.limit = kGbit});
    Feedback feedback{};
    Nanos now = kPeriod;
    for (int i = 0; i < 20; ++i, now += kPeriod) {  // twenty senders share 1 Gbit/s
        for (std::uint64_t sender = 1; sender <= 20; ++sender)
            (void)receive(receiver, 0, sender, 0.2, now, feedback);
        receiver.sweep(now + kPeriod);
    }
    const std::uint64_t low = receiver.read(0).advertised;
    for (int i = 0; i < 10; ++i, now += kPeriod) {  // one goes on, held to its rate
        (void)receive(receiver, 0, 1, gbit(low), now, feedback);
        receiver.sweep(now + kPeriod);
    }
    CHECK(receiver.read(0).advertised > 2 * low);
    CHECK(feedback.rate > 2 * low);
}

TEST_CASE("a sender without a limit is advertised one at once, then not before the usual gap") {
    Receiver receiver({}, profile());
    receiver.add(0, {});
    receiver.add(1, {});
    Feedback feedback{};
    Nanos now = kPeriod;
    receiver.sweep(now);
    REQUIRE(receive(receiver, 0, 1, 9.8, now, feedback));
    CHECK(feedback.rate == Feedback::kFree);
    (void)receive(receiver, 1, 1, 5, now, feedback);
    now += kPeriod;
    receiver.sweep(now);
    CHECK(receiver.received(0, 1, 1538, 0, now, feedback));
    CHECK(feedback.rate < 6 * kGbit);
    CHECK_FALSE(receiver.received(0, 1, 20'000, 0, now + 99'000, feedback));  // from now on it is a limit
}
