// packet_promise_test.cc - promised packets beside a core divided by shares, in cycles chosen by the test.
#include "vswitch/qos/schedulers/packet_promise.h"

#include <algorithm>
#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/qos/schedulers/cycle_share.h"

using namespace weir;

namespace {

constexpr std::uint32_t kPackets = 32;  // of every burst
constexpr Nanos kTurnMax = 50'000;

PacketPromise promise_of(std::uint64_t packets_per_sec, Nanos now = 0) {
    PacketPromise promise;
    promise.set_profile(make_profile(packets_per_sec, burst_for_promise(packets_per_sec)), now);
    return promise;
}

/// A core on which a cycle takes a nanosecond, polled as a worker does: promised rings first in every turn,
/// the others in rounds that turns of 50 us cut short.
struct Core {
    struct Vnic {
        std::uint64_t burst = 0;  ///< cycles; 0 = idle
        PacketPromise promise{};
        std::uint64_t packets = 0;  ///< taken from its ring
        std::uint64_t spent = 0;    ///< cycles, of its share
    };
    CycleShare share;
    std::vector<Vnic> vnics;
    std::size_t next = 0;
    Nanos clock = 0;
    Nanos turn_longest = 0;

    explicit Core(const std::vector<std::uint32_t>& shares) : share(shares.size()), vnics(shares.size()) {
        for (std::size_t i = 0; i < shares.size(); ++i)
            share.add(i, shares[i]);
    }

    void poll_promised(Nanos now) {
        for (bool moved = true; moved;) {
            moved = false;
            for (Vnic& vnic : vnics) {
                if (!vnic.promise.given() || vnic.burst == 0 || !vnic.promise.may_poll(now))
                    continue;
                vnic.promise.pay(kPackets, vnic.burst, now);
                vnic.packets += kPackets;
                clock += vnic.burst;
                moved = true;
            }
        }
    }
    void poll_by_shares(Nanos now) {
        for (; next < vnics.size(); ++next) {
            Vnic& vnic = vnics[next];
            if (vnic.burst == 0 || !share.may_poll(next))
                continue;
            share.charge(next, vnic.burst);
            if (vnic.promise.given())
                vnic.promise.count(kPackets, now);
            vnic.packets += kPackets;
            vnic.spent += vnic.burst;
            clock += vnic.burst;
            if (clock - now >= kTurnMax && next + 1 < vnics.size()) {
                ++next;
                return;
            }
        }
        next = 0;
        share.end_round();
    }
    void turn() {
        const Nanos now = clock;
        poll_promised(now);
        poll_by_shares(now);
        clock += 100;  // an empty turn takes time, too
        turn_longest = std::max(turn_longest, clock - now);
    }
    void run(Nanos duration) {
        for (const Nanos end = clock + duration; clock < end;)
            turn();
    }
};

}  // namespace

TEST_CASE("100,000 packets/s: 128 at once, then one every 10 us") {
    PacketPromise promise = promise_of(100'000);
    for (int i = 0; i < 4; ++i) {
        REQUIRE(promise.may_poll(0));
        promise.pay(kPackets, 3'200, 0);
    }
    CHECK_FALSE(promise.may_poll(9'999));
    CHECK(promise.may_poll(10'000));
}

TEST_CASE("a poll that used more than 1,024 cycles per packet pays by its cycles, by all of them") {
    PacketPromise promise = promise_of(100'000);
    promise.pay(1, 102'400, 0);
    promise.pay(28, 3'200, 0);
    CHECK_FALSE(promise.may_poll(9'999));
    CHECK(promise.may_poll(10'000));
    promise = promise_of(100'000);
    promise.pay(1, 10'240'000, 0);
    CHECK_FALSE(promise.may_poll(98'729'999));
    CHECK(promise.may_poll(98'730'000));  // 10,000 - 128 + 1 packets later
}

TEST_CASE("packets that were paid with credit count, as far as one burst of debt") {
    PacketPromise promise = promise_of(100'000);
    for (int i = 0; i < 1000; ++i)
        promise.count(kPackets, 0);
    CHECK_FALSE(promise.may_poll(1'289'999));
    CHECK(promise.may_poll(1'290'000));
}

TEST_CASE("without a promise none is given; a promise that ends and returns starts anew") {
    PacketPromise promise;
    CHECK_FALSE(promise.given());
    promise.set_profile(make_profile(1'000'000, burst_for_promise(1'000'000)), 0);
    CHECK(promise.given());
    promise.set_profile(unlimited_profile(), 0);
    CHECK_FALSE(promise.given());
    CHECK(burst_for_promise(1'000'000) == 1'000);
}

TEST_CASE("a vNIC of small frames keeps its packets beside 16 whose bursts take 200 us each") {
    std::vector<std::uint32_t> shares(17, 100);
    shares[0] = 1;
    Core core(shares);
    for (Core::Vnic& vnic : core.vnics)
        vnic.burst = 200'000;
    core.vnics[0].burst = 4'000;
    core.run(kNanosPerSec);
    const std::uint64_t by_shares = core.vnics[0].packets;
    CHECK(by_shares < 10'000);  // 1 of 1,601 shares: 0.6 ms of the core are 5,000 packets
    core.vnics[0].promise = promise_of(400'000, core.clock);
    core.run(kNanosPerSec);
    CHECK(static_cast<double>(core.vnics[0].packets - by_shares) == Approx(400'000).epsilon(0.01));
}

TEST_CASE("a promise below what shares give changes nothing: it is a floor, not an addition") {
    Core core({100, 100});
    core.vnics[0].burst = 6'400;  // half of the core: 2.5 million packets per second
    core.vnics[1].burst = 50'000;
    core.vnics[0].promise = promise_of(1'000'000);
    core.run(kNanosPerSec);
    CHECK(static_cast<double>(core.vnics[0].packets) == Approx(2'500'000).epsilon(0.01));
    CHECK(static_cast<double>(core.vnics[1].spent) == Approx(0.5e9).epsilon(0.01));
}

TEST_CASE("bursts that are not small frames take no more of the core than the promise is worth") {
    Core core({1, 10'000});
    core.vnics[0].burst = 320'000;  // 10,000 cycles per packet
    core.vnics[1].burst = 20'000;
    core.vnics[0].promise = promise_of(100'000);
    core.run(kNanosPerSec);
    const double used = static_cast<double>(core.vnics[0].packets / kPackets * core.vnics[0].burst);
    CHECK(used / 1e9 < 0.1024 + 0.002);
}

TEST_CASE("property: promises hold in every interval, and shares divide the rest") {
    weir::testing::Random32 random(41);
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<std::uint32_t> shares(4 + random() % 12);
        for (std::uint32_t& s : shares)
            s = 100 + random() % 400;
        shares[0] = shares[1] = 1;
        Core core(shares);
        std::vector<std::uint64_t> rates(2);
        for (std::size_t i = 0; i < shares.size(); ++i)
            core.vnics[i].burst = i < 2 ? 1'000 + random() % 16'000 : 500 + random() % 120'000;
        for (std::size_t i = 0; i < 2; ++i) {  // up to a quarter of the core each
            const std::uint64_t most = kNanosPerSec / 4 * kPackets / core.vnics[i].burst;
            rates[i] = 10'000 + random() % (most - 10'000);
            core.vnics[i].promise = promise_of(rates[i]);
        }
        struct Mark {
            Nanos at;
            std::uint64_t packets[2];
        };
        std::vector<Mark> marks;
        while (core.clock < 5 * kNanosPerSec) {
            if (random() % 16 == 0)
                marks.push_back({core.clock, {core.vnics[0].packets, core.vnics[1].packets}});
            core.turn();
        }
        for (int pair = 0; pair < 1000; ++pair) {
            const std::size_t a = random() % marks.size();
            const std::size_t b = random() % marks.size();
            const Mark& from = marks[std::min(a, b)];
            const Mark& to = marks[std::max(a, b)];
            for (std::size_t i = 0; i < 2; ++i) {
                const auto rate = static_cast<double>(rates[i]);
                const double earned = rate * static_cast<double>(to.at - from.at) / kNanosPerSec;
                const double late = rate * static_cast<double>(core.turn_longest) / kNanosPerSec;
                const auto burst = static_cast<double>(burst_for_promise(rates[i]));
                REQUIRE(static_cast<double>(to.packets[i] - from.packets[i]) >=
                        earned - burst - late - kPackets);
            }
        }
        double per_share = 0;
        std::uint64_t all = 0;
        for (std::size_t i = 2; i < shares.size(); ++i) {
            per_share += static_cast<double>(core.vnics[i].spent);
            all += shares[i];
        }
        per_share /= static_cast<double>(all);
        for (std::size_t i = 2; i < shares.size(); ++i)
            REQUIRE(static_cast<double>(core.vnics[i].spent) == Approx(per_share * shares[i]).epsilon(0.01));
    }
}
