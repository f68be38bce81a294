// rings_test.cc - VMs with several receive rings, of which some are full: frames for the others arrive
// complete and in order, and their senders wait or do not.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/output/slow_vm.h"
#include "vswitch/ports/ring_spread.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kBytes = 1514;

/// A VM with several rings, which takes from each as many frames per turn as the test says.
class RingsPort final : public Port {
  public:
    explicit RingsPort(std::uint16_t rings) : count(rings) {}
    ~RingsPort() override {
        for (auto& ring : held)
            for (rte_mbuf* frame : ring)
                rte_pktmbuf_free(frame);
    }
    std::uint16_t rx_burst(rte_mbuf** /*frames*/, std::uint16_t /*max*/) override { return 0; }
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t offered) override {
        if (!attached)
            return 0;
        return spread_by_flow(
            {frames, offered}, count, took_, too_long_,
            [this](std::uint16_t ring, std::span<rte_mbuf*> run, std::uint16_t& /*too_long*/) {
                const std::size_t room = std::min(run.size(), places - held[ring].size());
                held[ring].insert(held[ring].end(), run.begin(),
                                  run.begin() + static_cast<std::ptrdiff_t>(room));
                return static_cast<std::uint16_t>(room);
            });
    }
    [[nodiscard]] std::uint16_t rings() const override { return count; }
    [[nodiscard]] bool up() const override { return attached; }
    [[nodiscard]] PortOffloads offloads() const override { return {}; }
    [[nodiscard]] std::vector<std::string> features() const override { return {}; }

    /// The VM takes frames out of a ring.
    void empty(std::uint16_t ring, std::size_t most) {
        auto& frames = held[ring];
        const auto end = frames.begin() + static_cast<std::ptrdiff_t>(std::min(most, frames.size()));
        for (auto at = frames.begin(); at != end; ++at) {
            const std::uint64_t from = read_head(*at).source;
            const std::uint32_t number = number_of(*at);
            std::uint32_t& last = seen[{from, flow_of(*at)}];
            disordered += number <= last;
            last = std::max(last, number);
            ++got[ring];
            rte_pktmbuf_free(*at);
        }
        frames.erase(frames.begin(), end);
    }
    static std::uint16_t flow_of(const rte_mbuf* frame) {
        return *rte_pktmbuf_mtod_offset(frame, const std::uint16_t*, 34);  // source port
    }

    std::uint16_t count;
    std::size_t places = 64;  // of each ring
    bool attached = true;
    std::array<std::vector<rte_mbuf*>, limits::kQueuesMax> held;
    std::array<std::uint64_t, limits::kQueuesMax> got{};
    std::map<std::pair<std::uint64_t, std::uint16_t>, std::uint32_t> seen;
    unsigned disordered = 0;
};

/// A numbered frame of a flow that has this ring, of `rings`.
rte_mbuf* to_ring(std::uint64_t to, std::uint64_t from, std::uint16_t ring, std::uint16_t rings,
                  std::uint32_t number, std::size_t bytes = kBytes) {
    FrameBytes frame = numbered(to, from, bytes, number);
    for (std::uint16_t port = 1000;; ++port) {
        write16(frame, 34, port);
        if (FlowHash::ring(FlowHash::of(frame), rings) == ring)
            return to_mbuf(buffer_pool(), frame);
    }
}

/// vm<n> has always another frame for vm9, of the rings in turn.
void mix(SwitchHarness& host, VnicId id, unsigned n, std::vector<std::uint16_t> rings, std::uint16_t of) {
    host.port(id).source = [=, number = 0U]() mutable {
        ++number;
        return to_ring(mac(9), mac(n), rings[number % rings.size()], of, number);
    };
}

/// `count` frames in each turn of 10 us.
void offer(SwitchHarness& host, VnicId id, unsigned n, const std::vector<std::uint16_t>& rings,
           std::uint16_t of, unsigned count, std::uint32_t& number) {
    for (unsigned i = 0; i < count; ++i) {
        ++number;
        host.port(id).offered.push_back(to_ring(mac(9), mac(n), rings[number % rings.size()], of, number));
    }
}

/// VM 9 empties its rings so far per turn.
void run(SwitchHarness& host, RingsPort& vm9, const std::vector<std::size_t>& takes, Nanos duration,
         const std::function<void()>& each = {}) {
    for (const Nanos end = host.now + duration; host.now < end; host.now += kStep) {
        if (each)
            each();
        host.turn();
        for (std::uint16_t ring = 0; ring < takes.size(); ++ring)
            vm9.empty(ring, takes[ring]);
    }
}

Nanos held(const VnicStats& stats) {
    return stats.held_ns[static_cast<std::size_t>(HoldReason::kReceiver)];
}

}  // namespace

TEST_CASE(
    "a burst leaves at its end, ring by ring, what full rings and then what short buffers did not take") {
    // Ring 0 has buffers for 1000 bytes; ring 1 has two places.
    std::vector<rte_mbuf*> burst;
    const std::array<std::pair<std::uint16_t, std::size_t>, 10> offered{{{0, 100},
                                                                         {0, 1200},
                                                                         {0, 100},
                                                                         {1, 1200},
                                                                         {1, 100},
                                                                         {1, 100},
                                                                         {0, 1300},
                                                                         {1, 100},
                                                                         {0, 100},
                                                                         {1, 100}}};
    for (std::uint32_t number = 0; number < offered.size(); ++number)
        burst.push_back(to_ring(mac(9), mac(1), offered[number].first, 2, number, offered[number].second));
    const std::vector<rte_mbuf*> offered_frames = burst;
    std::vector<std::uint32_t> taken;
    std::size_t places = 2;
    std::uint32_t took = 0;
    std::uint16_t too_long = 0;
    const std::uint16_t count = spread_by_flow(
        burst, 2, took, too_long, [&](std::uint16_t ring, std::span<rte_mbuf*> run, std::uint16_t& longer) {
            std::ranges::stable_partition(
                run, [&](const rte_mbuf* one) { return ring == 1 || one->pkt_len <= 1000; });
            std::uint16_t sent = 0;
            for (const rte_mbuf* one : run) {
                longer = static_cast<std::uint16_t>(longer + (ring == 0 && one->pkt_len > 1000));
                if (ring == 1 ? places == 0 : one->pkt_len > 1000)
                    continue;
                places -= ring;
                taken.push_back(number_of(one));
                ++sent;
            }
            return sent;
        });
    CHECK((taken == std::vector<std::uint32_t>{0, 2, 8, 3, 4}));
    CHECK(count == 5);
    CHECK(took == 3);
    CHECK(too_long == 2);
    CHECK((std::set{number_of(burst[8]), number_of(burst[9])} == std::set<std::uint32_t>{1, 6}));
    for (const std::size_t at : {5U, 6U, 7U})
        CHECK(number_of(burst[at]) == std::array<std::uint32_t, 3>{5, 7, 9}[at - 5]);
    for (rte_mbuf* one : offered_frames)
        rte_pktmbuf_free(one);
}

TEST_CASE("one full ring of a VM with two does not stop the other, and takes bounded memory", "[long]") {
    const unsigned before = buffers_in_use();
    {
        const std::uint16_t burst = GENERATE(std::uint16_t{2}, std::uint16_t{32});
        RingsPort port(2);
        SwitchHarness host;
        const VnicId vm1 = host.add(vm(1));
        const VnicId vm9 = host.add(vm(9), port);
        std::uint32_t number = 0;
        std::uint32_t most = 0;
        run(host, port, {64, 0}, 300 * kMs, [&] {
            offer(host, vm1, 1, {0, 1}, 2, burst, number);
            most = std::max(most, host.path(vm1).queued_buffers);
        });
        run(host, port, {64, 0}, kMs);
        CHECK(port.got[0] == number / 2);
        CHECK(port.disordered == 0);
        CHECK(held(host.snapshot(vm1)) == 0);
        CHECK(most <= 512 * 1024 / kBytes + 1);
        CHECK(host.stats(vm9).to_vm.dropped.packets == drops(host.stats(vm9).to_vm, DropReason::kVmRingFull));
        // Ring 1 works again: nothing of it is lost any more.
        const std::uint64_t dropped = host.stats(vm9).to_vm.dropped.packets;
        port.empty(1, 64);
        run(host, port, {64, 64}, 110 * kMs, [&] { offer(host, vm1, 1, {0, 1}, 2, burst, number); });
        run(host, port, {64, 64}, kMs);
        CHECK(host.stats(vm9).to_vm.dropped.packets == dropped);
        CHECK(port.got[0] + port.got[1] + dropped == number);
        CHECK(port.disordered == 0);
        CHECK(balanced(host.stats(vm9).to_vm));
        CHECK(balanced(host.stats(vm1).from_vm));
        CHECK_FALSE(host.path(vm9).pressure.receives_slowly);
        CHECK(host.path(vm1).queued_buffers == 0);
        host.remove(vm9);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a VM whose flows all have one slow ring, or all of them, is held back and loses nothing") {
    const auto rings = GENERATE(std::vector<std::uint16_t>{1}, std::vector<std::uint16_t>{0, 1});
    const WorkerId sender = GENERATE(WorkerId{0}, WorkerId{1});
    SwitchConfig config;
    config.workers = {1, 2};
    RingsPort port(2);
    SwitchHarness host(config);
    VnicConfig from = vm(1);
    from.worker = sender;
    const VnicId vm1 = host.add(from);
    const VnicId vm9 = host.add(vm(9), port);
    mix(host, vm1, 1, rings, 2);
    run(host, port, {1, 1}, 200 * kMs);
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
    CHECK(held(host.snapshot(vm1)) > 50 * kMs);
    CHECK(port.got[1] > 19'000);
    CHECK(port.disordered == 0);
    host.remove(vm9);
}

TEST_CASE("a full ring does not stop what comes from the wire or from another worker for the others",
          "[long]") {
    SwitchConfig config;
    config.workers = {1, 2};
    config.uplink.rate_bps = 10'000'000'000;
    RingsPort port(4);
    RingNic nic(2);
    SwitchHarness host(config, &nic);
    VnicConfig other = vm(1);
    other.worker = 1;
    const VnicId vm1 = host.add(other);
    const VnicId vm9 = host.add(vm(9), port);
    std::uint32_t number = 0;
    std::uint32_t wire = 0;
    run(host, port, {64, 64, 64, 0}, 250 * kMs, [&] {
        offer(host, vm1, 1, {0, 3}, 4, 4, number);
        for (unsigned i = 0; i < 4; ++i, ++wire)
            nic.arrive(to_ring(mac(9), kFar, wire % 2 == 0 ? 1 : 3, 4, wire + 1));
    });
    run(host, port, {64, 64, 64, 0}, kMs);
    CHECK(port.got[0] == number / 2);
    CHECK(port.got[1] == wire / 2);
    CHECK(port.disordered == 0);
    CHECK(host.path(vm9).drain_rate == UINT64_MAX);  // no slower rate is advertised
    host.remove(vm9);
}

TEST_CASE("a receive limit of a VM with several rings holds, and a full ring of it stops no other") {
    RingsPort port(2);
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    VnicConfig limited = vm(9);
    limited.receive_limit_bps = 1'000'000'000;
    const VnicId vm9 = host.add(limited, port);
    mix(host, vm1, 1, {0, 1}, 2);
    run(host, port, {64, 64}, 100 * kMs);
    const std::uint64_t both = port.got[0] + port.got[1];
    CHECK(static_cast<double>(both) * kWireFrame * 8 / 0.1 == Approx(1e9).epsilon(0.03));
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    run(host, port, {64, 0}, 300 * kMs);
    const std::uint64_t before = port.got[0];
    run(host, port, {64, 0}, 100 * kMs);
    CHECK(static_cast<double>(port.got[0] - before) * kWireFrame * 8 / 0.1 > 0.45e9);
    CHECK(port.disordered == 0);
    CHECK(balanced(host.stats(vm9).to_vm));
    host.remove(vm9);
}

TEST_CASE(
    "neighbors' broadcasts that fill a ring cost the wire's frames to the same VM nothing on other rings",
    "[long]") {
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    config.flood_limit_pps = 1'000'000;
    RingsPort port(2);
    RingNic nic;
    SwitchHarness host(config, &nic);
    std::array<VnicId, 4> ids{};
    for (unsigned n = 1; n <= 4; ++n) {
        ids[n - 1] = host.add(vm(n));
        host.port(ids[n - 1]).read_at_once();
        host.port(ids[n - 1]).source = [n, number = 0U]() mutable {
            return to_ring(kBroadcast, mac(n), 1, 2, ++number, 60);
        };
    }
    const VnicId vm9 = host.add(vm(9), port);
    std::uint32_t wire = 0;
    run(host, port, {64, 1}, 100 * kMs, [&] {
        for (unsigned i = 0; i < 4; ++i, ++wire)
            nic.arrive(to_ring(mac(9), kFar, wire % 20 == 0 ? 1 : 0, 2, wire + 1));
        nic.drain();
    });
    run(host, port, {64, 1}, kMs, [&] { nic.drain(); });
    CHECK(port.got[0] == wire - wire / 20);
    CHECK(port.disordered == 0);
    for (const VnicId id : ids)
        host.port(id).source = nullptr;
    host.remove(vm9);
}

TEST_CASE("a VM that changes the number of its rings while frames wait gets each flow in order") {
    RingsPort port(2);
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm9 = host.add(vm(9), port);
    std::uint32_t number = 0;
    run(host, port, {64, 0}, 20 * kMs, [&] { offer(host, vm1, 1, {0, 1}, 2, 4, number); });
    for (std::uint16_t ring = 0; ring < 2; ++ring)
        port.empty(ring, port.places);
    port.count = GENERATE(std::uint16_t{1}, std::uint16_t{4});
    run(host, port, {8, 8, 8, 8}, 50 * kMs, [&] { offer(host, vm1, 1, {0, 1}, 2, 4, number); });
    run(host, port, {64, 64, 64, 64}, 5 * kMs);
    CHECK(port.disordered == 0);
    CHECK(host.stats(vm9).to_vm.queued.packets == 0);
    CHECK(balanced(host.stats(vm9).to_vm));
    host.remove(vm9);
}

TEST_CASE("when more rings are full than a worker has lines, their frames wait as if each VM had one ring") {
    const unsigned before = buffers_in_use();
    {
        constexpr unsigned kVms = limits::kRingLinesMax / 16 + 1;
        std::vector<std::unique_ptr<RingsPort>> ports;
        SwitchHarness host;
        const VnicId vm1 = host.add(vm(1));
        std::vector<VnicId> ids;
        for (unsigned n = 0; n < kVms; ++n) {
            ports.push_back(std::make_unique<RingsPort>(std::uint16_t{16}));
            ports.back()->places = 4;
            ids.push_back(host.add(vm(20 + n), *ports.back()));
        }
        std::uint32_t number = 0;
        for (unsigned turn = 0; turn < 16; ++turn, host.now += kStep) {
            for (unsigned n = 0; n < kVms; ++n)
                for (std::uint16_t ring = 0; ring < 16; ++ring)
                    host.port(vm1).offered.push_back(to_ring(mac(20 + n), mac(1), ring, 16, ++number, 60));
            host.turn();
        }
        host.settle();
        for (const auto& port : ports)
            for (std::uint16_t ring = 0; ring < 16; ++ring)
                CHECK(port->held[ring].size() == port->places);
        for (unsigned turn = 0; turn < 1000; ++turn, host.now += kStep) {
            host.turn();
            for (const auto& port : ports)
                for (std::uint16_t ring = 0; ring < 16; ++ring)
                    port->empty(ring, port->places);
        }
        for (unsigned n = 0; n < kVms; ++n) {
            CHECK(ports[n]->disordered == 0);
            CHECK(host.stats(ids[n]).to_vm.queued.packets == 0);
            CHECK(balanced(host.stats(ids[n]).to_vm));
        }
        for (const VnicId id : ids)
            host.remove(id);
    }
    CHECK(buffers_in_use() == before);
}
