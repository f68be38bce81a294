// link_scheduler_test.cc - classes come, change, wait, go; the way past the queues.
#include "vswitch/qos/schedulers/link_scheduler.h"

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/vswitch/qos/schedulers/link_harness.h"

using namespace weir;
using namespace weir::testing;

TEST_CASE("an idle link is bypassed until its burst is spent, and again when it was earned") {
    LinkHarness h(kGbit, {Source{}});
    CHECK(h.link->can_bypass(1538, h.now));
    std::uint64_t sent = 0;
    while (h.link->can_bypass(0, 1538, h.now)) {
        h.link->bypass(0, 1538, h.now);
        sent += 1538;
    }
    CHECK(sent >= burst_for_link(kGbit) - 1538);
    CHECK(sent <= burst_for_link(kGbit));
    CHECK_FALSE(h.link->can_bypass(1538, h.now));
    CHECK(h.link->can_bypass(1538, h.now + 1538 * 8));
}

TEST_CASE("a run of frames is bypassed at once up to a super-frame's bytes") {
    LinkHarness h(kGbit, {Source{.profile = {.reservation = kGbit / 2}}});
    CHECK(h.link->can_bypass(0, 32 * 1538, h.now));
    CHECK(h.link->can_bypass(0, 65'536 + 44 * 78, h.now));
    CHECK_FALSE(h.link->can_bypass(0, 2 * 65'536, h.now));
    CHECK_FALSE(h.link->can_bypass(2 * 65'536, h.now));
}

TEST_CASE("nothing is bypassed past a class's own queue, nor past others that wait for the link") {
    LinkHarness h(kGbit, {Source{}, Source{}});
    REQUIRE(h.offer(0));
    CHECK_FALSE(h.link->can_bypass(100, h.now));
    CHECK_FALSE(h.link->can_bypass(0, 100, h.now));
    CHECK_FALSE(h.link->can_bypass(1, 100, h.now));
    CHECK(h.poll(kUs) == 1538);
    CHECK(h.link->can_bypass(100, h.now));
    CHECK(h.link->can_bypass(1, 100, h.now));
}

TEST_CASE("a class that waits for its own limit is in no other's way") {
    LinkHarness h(kGbit, {Source{.limit = kGbit / 100}, Source{}});
    h.run(20 * kMs, 10 * kUs);
    h.sources[0].greedy = h.sources[1].greedy = false;
    for (int i = 0; i < 2000; ++i)
        h.poll(kUs);
    REQUIRE(h.link->backlog_packets(1) == 0);
    REQUIRE(h.link->is_limited(0));
    CHECK(h.link->backlogged());
    CHECK_FALSE(h.link->can_bypass(1538, h.now));
    CHECK(h.link->can_bypass(1, 1538, h.now));
    CHECK_FALSE(h.link->can_bypass(0, 1538, h.now));
    CHECK(h.link->next_ready(h.now) == kNever);
}

TEST_CASE("a reserved packet bypasses others' backlog while its reservation pays") {
    LinkHarness h(kGbit, {Source{.profile = {.reservation = kGbit / 4}, .greedy = false}, Source{}});
    h.run(10 * kMs, kUs);
    CHECK(h.link->can_bypass(0, 1538, h.now));
    CHECK_FALSE(h.link->can_bypass(1, 1538, h.now));
    const std::int64_t before = h.link->reservation(0).level(h.now);
    h.link->bypass(0, 1538, h.now);
    CHECK(h.link->reservation(0).level(h.now) == before - 1538);
}

TEST_CASE("room is 0 once the backlog reached its bound, and one burst over it is not lost") {
    LinkHarness h(kGbit, {Source{.profile = {.queue_bytes_max = 10'000}}});
    for (int i = 0; i < 7; ++i) {
        REQUIRE(h.link->room(0) == 256 - static_cast<unsigned>(i));
        REQUIRE(h.link->enqueue(0, {nullptr, 0, 1538, 1, 2}, 0));
    }
    CHECK(h.link->room(0) == 0);
    CHECK(h.link->enqueue(0, {nullptr, 0, 1538, 1, 2}, 0));
    CHECK(h.link->backlog_bytes(0) == 8 * 1538);
    CHECK(h.link->backlog_packets(0) == 8);
    CHECK(h.link->backlog_buffers(0) == 16);
    for (int i = 8; i < 256; ++i)
        REQUIRE(h.link->enqueue(0, {nullptr, 0, 64, 1, 1}, 0));
    CHECK_FALSE(h.link->enqueue(0, {nullptr, 0, 64, 1, 1}, 0));
    CHECK(h.link->backlog_packets(0) == 256);
}

TEST_CASE("draining gives all packets in order; then the class can go and come again") {
    LinkHarness h(kGbit, {Source{.limit = kGbit / 100}, Source{}});
    h.run(5 * kMs, 10 * kUs);
    const std::uint32_t queued = h.link->backlog_packets(0);
    REQUIRE(queued > 10);
    std::uint64_t expected = h.sources[0].next_out;
    std::uint32_t drained = 0;
    h.link->drain(0, [&](const PacketRef& p) {
        REQUIRE((reinterpret_cast<std::uintptr_t>(p.packet) & 0xFFFF'FFFF'FFFF) == expected++);
        ++drained;
    });
    CHECK(drained == queued);
    CHECK(h.link->backlog_bytes(0) == 0);
    h.link->remove(0, h.now);
    CHECK(h.wheel.size() == 0);
    h.sources[0] = Source{};
    h.limiters[0] = Limiter{};
    h.link->add(0, {.reservation = kGbit / 2}, &h.limiters[0], h.now);
    h.forget();
    h.run(100 * kMs, 2 * kUs);
    CHECK(h.sources[0].in_order);
    CHECK(h.rate(0) == Approx(kGbit / 2).epsilon(0.01));
}

TEST_CASE("a class parked by its limit leaves the wheel alone until its limit changes") {
    LinkHarness h(kGbit, {Source{}});
    h.limiters[0].set_profiles(make_profile(0, 0), unlimited_profile(), 0);
    h.run(kMs, kUs);
    CHECK(h.sources[0].sent == 0);
    CHECK(h.wheel.size() == 0);
    CHECK(h.link->is_limited(0));
    h.limiters[0].set_profiles(make_profile(kGbit / 10, 3076), unlimited_profile(), h.now);
    h.link->change(0, {}, h.now);
    h.forget();
    h.run(100 * kMs, kUs);
    CHECK(h.rate(0) == Approx(kGbit / 10).epsilon(0.02));
}

TEST_CASE("a limit that is raised wakes its class at once, not when the old rate would have paid") {
    LinkHarness h(kGbit, {Source{.limit = 1000}});
    h.run(10 * kMs, kUs);
    REQUIRE(h.link->is_limited(0));
    h.limiters[0].set_profiles(make_profile(kGbit, 12'500), unlimited_profile(), h.now);
    h.link->change(0, {}, h.now);
    h.forget();
    h.run(10 * kMs, kUs);
    CHECK(h.rate(0) > 0.95 * kGbit);
}

TEST_CASE("a wait beyond the wheel's horizon is checked again, and the packet leaves in time") {
    LinkHarness h(kGbit,
                  {Source{.limit = 10'000, .greedy = false}});  // a frame in 154 ms; the wheel spans 4 ms
    const Nanos start = h.now;
    for (int i = 0; i < 3; ++i)
        REQUIRE(h.offer(0));
    h.poll(kUs);
    CHECK(h.sources[0].next_out == 2);  // the burst of two frames
    while (h.sources[0].next_out < 3)
        h.poll(kUs);
    CHECK(static_cast<double>(h.now - start) == Approx(1538e9 / 10'000).epsilon(0.001));
    CHECK(h.wheel.beyond_horizon() > 10);
}

TEST_CASE("without a capacity nothing leaves and nothing is lost") {
    LinkHarness h(0, {Source{}});
    h.run(10 * kMs, kUs);
    CHECK(h.sources[0].sent == 0);
    CHECK(h.link->next_ready(h.now) == kNever);
    h.link->set_capacity(kGbit, h.now);
    CHECK(h.link->next_ready(h.now) <= h.now + 13 * kUs);
    h.run(10 * kMs, kUs);
    CHECK(h.sources[0].sent > 0);
    CHECK(h.sources[0].offered == h.sources[0].sent + h.link->backlog_bytes(0));
}

TEST_CASE("schedulers have names; an unknown name is none") {
    TimingWheel wheel(1);
    for (const SchedulerEntry& entry : kSchedulers) {
        CHECK(find_scheduler(entry.name) == &entry);
        CHECK(make_scheduler(entry, {.classes = 1, .wheel = &wheel}) != nullptr);
    }
    CHECK(find_scheduler("fifo") == nullptr);
}
