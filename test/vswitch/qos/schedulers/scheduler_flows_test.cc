// scheduler_flows_test.cc - flows with limiters inside a class: each pays, none is in another's way, order
// holds.
#include <array>
#include <map>
#include <memory>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

using namespace weir;
using weir::testing::kGbit;
using weir::testing::kWireFrame;

namespace {

constexpr VnicId kVnics = 4;
constexpr std::uint32_t kFlows = 64;

/// Packets carry vNIC, destination and number in their pointer.
struct Tag {
    std::uint64_t vnic, peer, number;

    [[nodiscard]] void* pointer() const {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): opaque to the scheduler
        return reinterpret_cast<void*>(vnic << 56 | peer << 40 | number);
    }
    static Tag of(const PacketRef& packet) {
        const auto word = reinterpret_cast<std::uintptr_t>(packet.packet);
        return {word >> 56, word >> 40 & 0xFFFF, word & 0xFF'FFFF'FFFF};
    }
};

/// A scheduler and its flows, called as a worker calls them.
class Link {
  public:
    explicit Link(std::uint64_t capacity, std::uint32_t destination_packets = 4096)
        : wheel(kVnics + kFlows),
          flows(kFlows, kVnics, {.rate_min = kGbit / 100, .line_rate = 10 * kGbit}),
          scheduler(make_scheduler(kSchedulers.front(), {.classes = kVnics,
                                                         .queue_packets = 1024,
                                                         .wheel = &wheel,
                                                         .destinations = kFlows,
                                                         .destination_packets = destination_packets,
                                                         .destination_wheel_id = kVnics})) {
        scheduler->set_capacity(capacity, 0);
        for (VnicId id = 0; id < kVnics; ++id)
            scheduler->add(id, {}, &limiters[id], 0);
    }

    void on_feedback(VnicId vnic, std::uint64_t peer, std::uint64_t rate) {
        const auto [change, flow] = flows.on_feedback(vnic, peer, rate, ++sequence, now);
        if (change == DestinationLimits::Change::kOpened &&
            !scheduler->open_destination(
                flow, vnic, &flows.limiter(flow), now,
                [peer](const PacketRef& packet) { return Tag::of(packet).peer == peer; }))
            flows.erase(flow);
        else if (change == DestinationLimits::Change::kChanged)
            scheduler->rate_changed(flow, now);
    }

    bool offer(VnicId vnic, std::uint64_t peer, std::uint32_t bytes = kWireFrame) {
        const DestinationId flow = flows.find(vnic, peer);
        if (flow == kNoDestination && scheduler->room(vnic) == 0)
            return false;
        const PacketRef packet{Tag{vnic, peer, next_in[{vnic, peer}]}.pointer(), now, bytes, 1, 1};
        const bool taken = flow == kNoDestination ? scheduler->enqueue(vnic, packet, now)
                                                  : scheduler->enqueue(vnic, flow, packet, now);
        next_in[{vnic, peer}] += taken;
        queued += taken;
        return taken;
    }

    void poll() {
        if (wheel.next_due() <= now)
            wheel.advance(now, 1024, [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids) {
                    if (id < kVnics)
                        scheduler->wake(static_cast<VnicId>(id), now);
                    else
                        scheduler->wake_destination(id - kVnics, now);
                }
            });
        std::array<PacketRef, 32> out;
        for (std::size_t n = out.size(); n == out.size();) {
            n = scheduler->dequeue_burst(now, out);
            for (std::size_t i = 0; i < n; ++i)
                depart(out[i]);
        }
    }

    /// Keeps the given destinations of a vNIC backlogged.
    void run(Nanos duration, const std::vector<std::pair<VnicId, std::uint64_t>>& greedy) {
        for (const Nanos end = now + duration; now < end; now += 2000) {
            for (const auto& [vnic, peer] : greedy)
                while (offer(vnic, peer)) {
                }
            poll();
        }
    }

    void take_out(const PacketRef& packet) {
        const Tag tag = Tag::of(packet);
        ++next_out[{static_cast<VnicId>(tag.vnic), tag.peer}];
        --queued;
    }

    [[nodiscard]] double gbit(VnicId vnic, std::uint64_t peer, Nanos duration) {
        return static_cast<double>(sent[{vnic, peer}]) * 8 / static_cast<double>(duration);
    }

    Nanos now = 1'000'000;
    TimingWheel wheel;
    DestinationLimits flows;
    std::array<Limiter, kVnics> limiters;
    std::unique_ptr<LinkScheduler> scheduler;
    std::map<std::pair<VnicId, std::uint64_t>, std::uint64_t> next_in, next_out, sent;
    std::uint64_t queued = 0;
    std::uint32_t sequence = 0;
    bool in_order = true;

  private:
    void depart(const PacketRef& packet) {
        const Tag tag = Tag::of(packet);
        const std::pair key{static_cast<VnicId>(tag.vnic), tag.peer};
        in_order &= tag.number == next_out[key];
        ++next_out[key];
        sent[key] += packet.bytes;
        --queued;
    }
};

}  // namespace

TEST_CASE("two limited flows get their rates, a third the rest of the link, within 0.5 %") {
    Link link(9 * kGbit);
    link.on_feedback(0, 1, kGbit);
    link.on_feedback(0, 2, 2 * kGbit);
    link.run(10'000'000, {{0, 1}, {0, 2}, {0, 3}});
    link.sent.clear();
    link.run(100'000'000, {{0, 1}, {0, 2}, {0, 3}});
    CHECK(link.gbit(0, 1, 100'000'000) == Approx(1).epsilon(0.005));
    CHECK(link.gbit(0, 2, 100'000'000) == Approx(2).epsilon(0.005));
    CHECK(link.gbit(0, 3, 100'000'000) == Approx(6).epsilon(0.005));
    CHECK(link.in_order);
}

TEST_CASE("a congested destination fills its own queue and holds nothing else back") {
    Link link(10 * kGbit);
    link.on_feedback(0, 1, kGbit / 100);
    while (link.offer(0, 1)) {
    }
    CHECK(link.scheduler->destination(link.flows.find(0, 1)).bytes >= 128 * 1024);
    link.poll();
    CHECK(link.offer(0, 2));
    link.poll();
    CHECK(link.sent[{0, 2}] == kWireFrame);
    CHECK(link.scheduler->room(0) > 0);
    CHECK(link.scheduler->can_bypass(0, kWireFrame, link.now));
    CHECK_FALSE(link.scheduler->destination_pays(link.flows.find(0, 1), kWireFrame, link.now));
}

TEST_CASE("a flow that opens takes along what waits for its destination: order holds, the limit too") {
    Link link(kGbit / 10);
    for (int i = 0; i < 40; ++i) {
        CHECK(link.offer(0, 1));
        CHECK(link.offer(0, 2));
    }
    link.on_feedback(0, 1, kGbit / 100);
    CHECK(link.scheduler->destination(link.flows.find(0, 1)).packets == 40);
    CHECK(link.scheduler->backlog_packets(0) == 40);
    link.run(100'000'000, {});
    CHECK(link.sent[{0, 1}] == 40 * kWireFrame);
    CHECK(link.sent[{0, 2}] == 40 * kWireFrame);
    CHECK(link.in_order);
}

TEST_CASE("the vNIC's limit holds over the sum of its flows") {
    Link link(10 * kGbit);
    link.limiters[0].set_profiles(make_profile(kGbit, burst_for_rate(kGbit)), unlimited_profile(), link.now);
    link.on_feedback(0, 1, kGbit);
    link.on_feedback(0, 2, kGbit);
    link.run(10'000'000, {{0, 1}, {0, 2}, {0, 3}});
    link.sent.clear();
    link.run(100'000'000, {{0, 1}, {0, 2}, {0, 3}});
    const double total =
        link.gbit(0, 1, 100'000'000) + link.gbit(0, 2, 100'000'000) + link.gbit(0, 3, 100'000'000);
    CHECK(total == Approx(1).epsilon(0.005));
    CHECK(link.gbit(0, 1, 100'000'000) == Approx(1.0 / 3).epsilon(0.02));  // flows take turns
}

TEST_CASE("a raised rate sends what waits at once, a lowered one delays it") {
    Link link(10 * kGbit);
    link.on_feedback(0, 1, kGbit / 100);
    for (int i = 0; i < 20; ++i)
        CHECK(link.offer(0, 1));
    link.poll();
    const std::uint64_t before = link.sent[{0, 1}];
    CHECK(before < 5 * kWireFrame);
    link.on_feedback(0, 1, 5 * kGbit);
    link.now += 50'000;
    link.poll();
    CHECK(link.sent[{0, 1}] == 20 * kWireFrame);
}

TEST_CASE("a super-frame of 64 KiB passes a flow of 10 Mbit/s and is paid back") {
    Link link(10 * kGbit);
    link.on_feedback(0, 1, kGbit / 100);
    CHECK(link.offer(0, 1, 65'536));
    CHECK(link.offer(0, 1, 65'536));
    link.run(4'000'000, {});  // a new limiter has less than a frame of credit
    CHECK(link.sent[{0, 1}] == 65'536);
    link.run(52'000'000, {});  // beyond the wheel's horizon: 65536 bytes take 52.4 ms
    CHECK(link.sent[{0, 1}] == 2 * 65'536);
}

TEST_CASE("property: whatever opens, changes and goes, nothing is lost, doubled or overtaken") {
    for (unsigned seed = 1; seed <= weir::testing::rounds(20); ++seed) {
        weir::testing::Random32 random(seed);
        Link link((1 + random() % 20) * kGbit / 2, seed % 2 == 0 ? 20 : 4096);
        for (int step = 0; step < 20'000; ++step) {
            const auto vnic = static_cast<VnicId>(random() % kVnics);
            const std::uint64_t peer = random() % 6;
            switch (random() % 16) {
                case 0:
                    link.on_feedback(vnic, peer, (1 + random() % 1000) * kGbit / 100);
                    break;
                case 1:
                    if (random() % 64 == 0)
                        link.flows.erase_vnic(vnic, [&](DestinationId flow) {
                            link.scheduler->close_destination(
                                flow, link.now, [&](const PacketRef& packet) { link.take_out(packet); });
                        });
                    break;
                case 2:
                    link.limiters[vnic].set_profiles(
                        make_profile((1 + random() % 500) * kGbit / 100, 100'000), unlimited_profile(),
                        link.now);
                    link.scheduler->change(vnic, {.reservation = random() % 3 * kGbit / 10}, link.now);
                    break;
                case 3:
                    link.flows.sweep(
                        link.now, 8,
                        [&](DestinationId flow) {
                            if (!link.scheduler->destination(flow).empty())
                                return false;
                            link.scheduler->close_destination(flow, link.now, [](const PacketRef&) {});
                            return true;
                        },
                        [&](DestinationId flow) { link.scheduler->rate_changed(flow, link.now); });
                    break;
                case 4:
                    link.now += random() % 20'000;
                    link.poll();
                    break;
                default:
                    (void)link.offer(vnic, peer, 60 + random() % 9000);
            }
        }
        for (VnicId vnic = 0; vnic < kVnics; ++vnic) {
            link.limiters[vnic].set_profiles(unlimited_profile(), unlimited_profile(), link.now);
            link.scheduler->change(vnic, {}, link.now);
        }
        link.run(3'000'000'000, {});
        INFO("seed " << seed);
        CHECK(link.queued == 0);
        CHECK_FALSE(link.scheduler->backlogged());
        CHECK(link.in_order);
        CHECK(link.next_in == link.next_out);
    }
}
