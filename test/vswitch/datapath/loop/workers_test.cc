// workers_test.cc - workers in threads of their own under commands: frames that change workers and wait for
// VMs that are late, addresses that are learned, feedback, vNICs that come, move and go. Also run under TSan.
//
// The guests' frames and the agent's commands are counted, not timed; each turn of a worker moves the clock.
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "test/support/catch.h"
#include "test/support/wait.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/feedback_frame.h"
#include "vswitch/datapath/loop/mac_relay.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kFramesOfGuest = 2000;
// Four frames in 64 polls: so the frames last for as many housekeeping periods as the commands.
constexpr unsigned kFramesAtOnce = 4;
constexpr unsigned kPollsBetween = 64;
constexpr unsigned kAgentRounds = 20;
constexpr unsigned kTapHosts = 4;  // behind the guest that may use any address
// Every second guest takes nothing in half of the attempts, many in a row: so more than 64 KiB wait for it,
// and guests of other workers are held back.
constexpr unsigned kLateFor = 2048;
constexpr std::size_t kFrameBytes = 1400;
constexpr std::size_t kSuperPayload = 6000;
constexpr std::uint16_t kSegment = 1300;

/// A guest; its worker's thread calls it while the thread runs.
struct Talker {
    unsigned n = 0;
    unsigned guests = 0;
    bool taps = false;
    unsigned polls = 0;
    unsigned sent = 0;
    unsigned attempts = 0;
    std::uint64_t received = 0;
    std::atomic<bool> may_send{false};
    std::atomic<bool> silent{false};

    [[nodiscard]] bool late() { return n % 2 == 1 && attempts++ % (2 * kLateFor) < kLateFor; }
    /// The first two guests send to the others in turn, to all, to hosts behind one of them and to the wire;
    /// the others to the first guest alone, so that they are held back when it is late.
    rte_mbuf* next() {
        if (sent == kFramesOfGuest || buffers_in_use() > kBuffers / 2) {
            silent.store(sent == kFramesOfGuest, std::memory_order_release);
            return nullptr;
        }
        if (!may_send.load(std::memory_order_relaxed) || polls++ % kPollsBetween >= kFramesAtOnce)
            return nullptr;
        const unsigned i = sent++;
        const std::uint64_t to = n > 2 && n <= guests ? mac(1)
                                 : i % 64 == 0        ? kBroadcast
                                 : i % 16 == 1        ? mac(0x20 + i % kTapHosts)
                                 : i % 16 == 2        ? kFar
                                 : i % 16 == 5        ? mac(guests + 1)
                                                      : mac(1 + (n + i) % guests);
        const std::uint64_t own = n > guests ? mac(guests + 1) : taps ? mac(0x20 + i % kTapHosts) : mac(n);
        // Only to a guest that never leaves: a super-frame that is flooded is split for the wire, and counted
        // by segments; copies of long frames share their data, whose count of references DPDK reads in an
        // order that TSan cannot know to be right.
        const bool stays = to != mac(2) && (to >> 40) <= guests;
        if (i % 8 == 3 && stays)
            return ask_segments(
                to_mbuf(buffer_pool(), ethernet(to, own, kIpv4, ipv4(kTcp, tcp(pattern(kSuperPayload))))),
                kSegment);
        return frame(to, own, i, stays && i % 2 == 0 ? kFrameBytes : 60);
    }
};

class ThreadedSwitch {
  public:
    explicit ThreadedSwitch(unsigned workers)
        : guests_(2 * workers),
          nic_(static_cast<std::uint16_t>(workers), 1024),
          host_(config(workers), &nic_) {
        host_.threaded = true;
        for (const auto& worker : host_.workers())
            threads_.emplace_back([this, &worker] { poll(*worker); });
        for (unsigned n = 1; n <= guests_; ++n)
            add(n);
        add_spread();
        for (Talker& talker : talkers_)
            talker.may_send.store(true, std::memory_order_relaxed);
    }
    ~ThreadedSwitch() { stop(); }
    ThreadedSwitch(const ThreadedSwitch&) = delete;
    ThreadedSwitch& operator=(const ThreadedSwitch&) = delete;

    /// One of each command; the second guest goes and comes back under the same id.
    void command(unsigned round) {
        take();
        relay_.run(host_.workers());
        VnicConfig changed = guest(3);
        changed.limit_bps = 1'000'000'000 + round;
        host_.change(ids_[3], changed);
        VnicConfig changed_spread = spread_guest();
        changed_spread.limit_bps = 1'000'000'000 + round;
        host_.change_spread(spread_, changed_spread);
        advertise(1 + round % (guests_ + 1), round);
        if (round % 4 == 1) {
            host_.remove(ids_[2]);
            host_.add_again(ids_[2], guest(2), [this](FakePort& port) { attach(port, 2); });
        }
        const unsigned moved = 1 + round % guests_;
        host_.now = clock_.load();
        CHECK(host_.move(ids_[moved], static_cast<WorkerId>(round % (guests_ / 2))));
        CHECK(balanced(host_.snapshot(ids_[moved]).to_vm));
    }
    /// Until every guest has sent its frames and none waits.
    [[nodiscard]] bool finish() {
        const auto finished = [this] {
            take();
            const auto done = [](const Talker& talker) {
                return talker.silent.load(std::memory_order_acquire);
            };
            return std::ranges::all_of(talkers_, done) && nothing_waits();
        };
        return until(finished, [] { std::this_thread::yield(); });
    }
    void stop() {
        stop_.store(true, std::memory_order_relaxed);
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
        for (unsigned n = 1; n <= guests_; ++n)
            host_.port(ids_[n]).full = nullptr;
        for (const VnicId id : spread_)
            host_.port(id).full = nullptr;
        host_.threaded = false;
        host_.now = clock_;
        host_.settle();
        take();
    }
    /// The workers have stopped.
    void check() {
        FeedbackStats feedback;
        HandoffStats handoff;
        for (const auto& worker : host_.workers()) {
            const WorkerSnapshot part = host_.snapshot_worker(worker->id());
            CHECK(balanced(part.uplink.rx));
            CHECK(balanced(part.uplink.tx));
            feedback.received += part.feedback.received + part.feedback.stale;
            handoff.posted += part.handoff.posted;
        }
        check_spread();
        Nanos held = 0;
        for (unsigned n = 1; n <= guests_; ++n)
            held += host_.stats(ids_[n]).held_ns[static_cast<std::size_t>(HoldReason::kReceiver)];
        CHECK(held > 0);
        CHECK(feedback.received > 0);
        CHECK(handoff.posted > kFramesOfGuest);
        for (unsigned n = 1; n <= guests_; ++n) {
            const VnicStats& stats = host_.stats(ids_[n]);
            INFO("vm" << n);
            CHECK(balanced(stats.from_vm));
            CHECK(balanced(stats.to_vm));
            CHECK(stats.from_vm.queued.packets == 0);
            CHECK(stats.to_vm.queued.packets == 0);
            if (n == 2)
                continue;  // it was another one before
            CHECK(stats.from_vm.offered.packets == kFramesOfGuest);
            CHECK(stats.to_vm.delivered.packets == talkers_[n - 1].received);
            CHECK(stats.to_vm.delivered.packets > 0);
        }
    }

  private:
    static SwitchConfig config(unsigned workers) {
        SwitchConfig config;
        for (unsigned worker = 0; worker < workers; ++worker)
            config.workers.resize(workers, worker);
        config.feedback.enabled = true;
        config.flood_limit_pps = 1'000'000;
        return config;
    }
    /// Frames to destinations with a rate are the home's.
    void check_spread() {
        VnicStats sum;
        std::uint64_t received = 0;
        for (std::size_t i = 0; i < spread_.size(); ++i) {
            const VnicStats& stats = host_.stats(spread_[i]);
            CHECK(balanced(stats.from_vm));
            CHECK(balanced(stats.to_vm));
            sum.add(stats);
            received += talkers_[guests_ + i].received;
        }
        CHECK(sum.from_vm.offered.packets == spread_.size() * kFramesOfGuest);
        CHECK(sum.from_vm.queued.packets == 0);
        CHECK(sum.to_vm.delivered.packets == received);
        CHECK(received > 0);
    }
    VnicConfig spread_guest() const { return vm(guests_ + 1); }
    void add_spread() {
        for (unsigned i = 0; i < guests_ / 2; ++i) {
            Talker& talker = talkers_.emplace_back();
            talker.n = guests_ + 1 + i;
            talker.guests = guests_;
        }
        spread_ = host_.add_spread(spread_guest(), [this](FakePort& port, std::size_t i) {
            attach(port, guests_ + 1 + static_cast<unsigned>(i));
        });
    }
    VnicConfig guest(unsigned n) const {
        VnicConfig config = vm(n);
        config.worker = static_cast<std::uint16_t>(n % (guests_ / 2));
        config.anti_spoofing = n != guests_;
        return config;
    }
    void add(unsigned n) {
        Talker& talker = talkers_.emplace_back();
        talker.n = n;
        talker.guests = guests_;
        talker.taps = n == guests_;
        ids_.push_back(host_.add(guest(n), [this, n](FakePort& port) { attach(port, n); }));
    }
    /// Before a worker has the port.
    void attach(FakePort& port, unsigned n) {
        Talker& talker = talkers_[n - 1];
        port.source = [&talker] { return talker.next(); };
        port.full = [&talker] { return talker.late(); };
        port.sink = [&talker](const rte_mbuf*) { ++talker.received; };
    }
    void poll(Worker& worker) {
        constexpr Nanos kStep = 2000;
        while (!stop_.load(std::memory_order_relaxed)) {
            worker.run_once(clock_.fetch_add(kStep));
            std::this_thread::yield();
        }
    }
    /// A host of the wire advertises a rate to the guest, through any worker's queue.
    void advertise(unsigned n, std::uint32_t sequence) {
        FeedbackBuffer buffer;
        const FrameBytes answered = numbered(kFar, mac(n), 60, 0);
        const std::size_t bytes =
            write_feedback({mac(n), kFar, 0, 50'000'000, sequence}, answered, FeedbackKey{}, buffer);
        nic_.arrive(to_mbuf(buffer_pool(), {buffer.data(), buffer.data() + bytes}),
                    static_cast<std::uint16_t>(sequence % (guests_ / 2)));
    }
    void take() {
        for (std::uint16_t queue = 0; queue < guests_ / 2; ++queue)
            nic_.drain(0, queue);
    }
    [[nodiscard]] bool nothing_waits() {
        for (unsigned n = 1; n <= guests_; ++n)
            if (host_.snapshot(ids_[n]).from_vm.queued.packets != 0)
                return false;
        return std::ranges::none_of(
            spread_, [this](VnicId id) { return host_.snapshot(id).from_vm.queued.packets != 0; });
    }

    unsigned guests_;
    RingNic nic_;
    std::deque<Talker> talkers_;  // by number - 1; they do not move
    std::vector<VnicId> ids_{kNoVnic};
    std::vector<VnicId> spread_;  // members of one more guest
    std::atomic<bool> stop_{false};
    std::atomic<Nanos> clock_{kNanosPerSec};
    MacRelay relay_;
    SwitchHarness host_;
    std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("workers in threads account for every frame under commands, and no buffer is lost", "[long]") {
    const unsigned before = buffers_in_use();
    for (const unsigned workers : {2U, 4U}) {
        INFO(workers << " workers");
        {
            ThreadedSwitch threaded(workers);
            for (unsigned round = 0; round < kAgentRounds; ++round)
                threaded.command(round);
            CHECK(threaded.finish());
            threaded.stop();
            threaded.check();
        }
        CHECK(buffers_in_use() == before);
    }
}
