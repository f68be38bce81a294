// many_limiters_test.cc - 10,000 destinations that have each asked for a rate: all get it, nothing is lost,
// and the limiters go when they are idle.
// Source: EyeQ 5.1.
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/feedback_frame.h"
#include "vswitch/datapath/frame/frame.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kFlows = 10'000;
constexpr std::size_t kPayload = 258;
constexpr std::uint64_t kFrame = 14 + 20 + 8 + kPayload + limits::kWireOverheadBytes;
constexpr Nanos kTurn = 5000;

/// Address of flow `n`'s destination: locally administered, first wire byte lowest.
constexpr std::uint64_t peer(unsigned n) {
    return 0x02 | std::uint64_t{n >> 8} << 32 | std::uint64_t{n & 0xFF} << 40;
}
constexpr unsigned flow_of(std::uint64_t address) {
    return static_cast<unsigned>((address >> 32 & 0xFF) << 8 | address >> 40);
}
/// Bytes per second: 200 to 440 kbit/s, 3.2 Gbit/s together.
constexpr std::uint64_t rate_of(unsigned flow) {
    return 25'000 + 2'000 * (flow % 16);
}

SwitchConfig fast_uplink() {
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    config.uplink.headroom = 0.1;
    config.feedback.enabled = true;
    config.feedback.rate_min_bps = 100'000;
    return config;
}

/// A VM that keeps one frame on its way to each of its destinations, whose switches advertise the rate of
/// each again and again. One VM alone: several would wait for each other's cycles, which are real time.
class ManyFlows {
  public:
    ManyFlows()
        : pool_(
              (buffer_pool(), rte_pktmbuf_pool_create("many_flows", 2 * kFlows, 0, 0, kRoom, SOCKET_ID_ANY)),
              rte_mempool_free),
          host_(fast_uplink(), &nic_),
          sent_(kFlows),
          sequences_(kFlows) {
        REQUIRE(pool_ != nullptr);
        VnicConfig config = vm(1);
        config.buffers = 2 * kFlows;
        vm_ = host_.add(config);
    }

    /// Every destination asks for its rate.
    void open() {
        while (refreshed_ < kFlows) {
            refresh(limits::kBurst);
            turn();
        }
    }
    void begin_traffic() {
        traffic_ = true;
        for (unsigned flow = 0; flow < kFlows; ++flow)
            offer(flow);
    }
    void end_traffic() { traffic_ = false; }
    /// With a frame of feedback a turn, each destination's comes every 50 ms.
    void run(Nanos duration) {
        for (const Nanos end = host_.now + duration; host_.now < end;) {
            refresh(1);
            turn();
        }
    }

    /// Nothing happens for so long.
    void pause(Nanos duration) { host_.now += duration; }

    /// Frames that reached the wire, by flow; and those that are of none.
    [[nodiscard]] const std::vector<std::uint64_t>& sent() const { return sent_; }
    [[nodiscard]] std::uint64_t misdirected() const { return misdirected_; }
    [[nodiscard]] const DirectionStats& from_vm() const { return host_.stats(vm_).from_vm; }
    [[nodiscard]] WorkerSnapshot worker() { return host_.snapshot_worker(0); }
    [[nodiscard]] unsigned buffers_in_use() const { return rte_mempool_in_use_count(pool_.get()); }

  private:
    static constexpr std::uint16_t kRoom = RTE_PKTMBUF_HEADROOM + 384;

    void turn() {
        host_.turn();
        host_.now += kTurn;
        for (rte_mbuf* frame : nic_.take()) {
            const std::uint64_t to = read_head(frame).destination;
            const unsigned flow = flow_of(to);
            rte_pktmbuf_free(frame);
            if (flow >= kFlows || to != peer(flow)) {
                ++misdirected_;
                continue;
            }
            ++sent_[flow];
            if (traffic_)
                offer(flow);
        }
    }
    void offer(unsigned flow) {
        const FrameBytes frame = ethernet(peer(flow), mac(1), kIpv4, ipv4(kUdp, udp(payload_)));
        host_.port(vm_).offered.push_back(to_mbuf(pool_.get(), frame));
    }
    void refresh(unsigned count) {
        for (; count > 0; --count, ++refreshed_) {
            const unsigned flow = refreshed_ % kFlows;
            const FrameBytes answered = ethernet(peer(flow), mac(1), kIpv4, ipv4(kUdp, udp({})));
            FeedbackBuffer buffer;
            const std::size_t bytes = write_feedback(
                {mac(1), peer(flow), 0, rate_of(flow), ++sequences_[flow]}, answered, FeedbackKey{}, buffer);
            nic_.arrive(to_mbuf(buffer_pool(),
                                {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes)}));
        }
    }

    std::unique_ptr<rte_mempool, void (*)(rte_mempool*)> pool_;
    RingNic nic_{1, 4096};
    SwitchHarness host_;
    VnicId vm_ = kNoVnic;
    const FrameBytes payload_ = pattern(kPayload);
    std::vector<std::uint64_t> sent_;
    std::vector<std::uint32_t> sequences_;
    std::uint64_t misdirected_ = 0;
    unsigned refreshed_ = 0;
    bool traffic_ = false;
};

}  // namespace

TEST_CASE("ten thousand destinations get what each has asked for, nothing is lost, and idle limiters go",
          "[long]") {
    ManyFlows flows;
    flows.open();
    REQUIRE(flows.worker().feedback.limiters == kFlows);
    flows.begin_traffic();
    flows.run(100'000'000);  // the first bursts
    const std::vector<std::uint64_t> before = flows.sent();
    constexpr Nanos kMeasured = 250'000'000;
    flows.run(kMeasured);
    double furthest = 0;
    for (unsigned flow = 0; flow < kFlows; ++flow) {
        const double due = static_cast<double>(rate_of(flow) * kMeasured) / 1e9 / kFrame;
        furthest = std::max(furthest, std::abs(static_cast<double>(flows.sent()[flow] - before[flow]) - due));
    }
    CHECK(furthest < 1.2);  // frames, of 19 to 42
    CHECK(flows.misdirected() == 0);

    flows.end_traffic();
    flows.run(50'000'000);
    const DirectionStats& vm = flows.from_vm();
    CHECK(vm.dropped.packets == 0);
    CHECK(vm.queued.packets == 0);
    CHECK(vm.delivered.bytes == vm.offered.packets * kFrame);
    CHECK(vm.delivered.packets ==
          std::accumulate(flows.sent().begin(), flows.sent().end(), std::uint64_t{0}));
    CHECK(balanced(vm));
    CHECK(flows.buffers_in_use() == 0);
    const WorkerSnapshot worker = flows.worker();
    CHECK(balanced(worker.uplink.tx));
    CHECK(balanced(worker.uplink.rx));

    FeedbackStats feedback = worker.feedback;
    CHECK(feedback.limiters == kFlows);
    CHECK(feedback.table_full + feedback.stale + feedback.unknown + feedback.malformed == 0);
    flows.pause(2'010'000'000);
    constexpr std::uint64_t kLookedAt = 64;  // per call, and a snapshot takes one
    for (unsigned calls = 0; feedback.limiters != 0 && calls <= kFlows / kLookedAt + 1; ++calls) {
        const std::uint64_t left = feedback.limiters;
        feedback = flows.worker().feedback;
        REQUIRE(left - feedback.limiters <= kLookedAt);
    }
    CHECK(feedback.limiters == 0);
}
