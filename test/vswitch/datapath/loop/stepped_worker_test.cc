// stepped_worker_test.cc - workers in threads on a stepped clock: as many poll turns as asked for, commands
// between them, and the same counts in every run. Also under TSan.
#include "vswitch/datapath/loop/stepped_worker.h"

#include <rte_mbuf.h>

#include <deque>
#include <thread>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kTurn = 10'000;
constexpr unsigned kTurns = 2 * limits::kHousekeepingIterations;
constexpr unsigned kWorkers = 2;

/// Two workers, a guest at each; both send to the other's as long as frames of theirs remain.
class SteppedSwitch {
  public:
    SteppedSwitch() : host_(config()) {
        host_.threaded = true;
        for (const auto& worker : host_.workers()) {
            host_.quiescence().offline(worker->id());
            stepped_.emplace_back(*worker, host_.quiescence(), clock_);
            threads_.emplace_back([&stepped = stepped_.back()] { stepped.run(); });
        }
    }
    ~SteppedSwitch() {
        for (SteppedWorker& worker : stepped_)
            worker.stop();
        for (std::thread& thread : threads_)
            thread.join();
        host_.threaded = false;
        host_.now = clock_.now();
        for (const auto& worker : host_.workers())
            host_.quiescence().online(worker->id());
        host_.settle();
    }
    SteppedSwitch(const SteppedSwitch&) = delete;
    SteppedSwitch& operator=(const SteppedSwitch&) = delete;

    VnicId add(unsigned n, std::uint64_t limit_bps) {
        VnicConfig guest = vm(n);
        guest.worker = static_cast<WorkerId>(n - 1);
        guest.limit_bps = limit_bps;
        return host_.add(guest, [n](FakePort& port) {
            port.source = [n, sent = 0U]() mutable {
                return sent == kFrames ? nullptr : frame(mac(3 - n), mac(n), sent++);
            };
            port.sink = [](const rte_mbuf*) {};
        });
    }
    void step(unsigned turns) {
        for (; turns != 0; --turns) {
            clock_.advance(kTurn);
            for (SteppedWorker& worker : stepped_)
                worker.turns(1, 0);
        }
    }
    /// The second worker alone, with the clock. @return its time
    Nanos run_second(std::uint64_t turns) {
        stepped_.back().turns(turns, kTurn);
        return clock_.now();
    }
    [[nodiscard]] std::uint64_t iterations(WorkerId worker) {
        return host_.snapshot_worker(worker).worker.iterations;
    }
    [[nodiscard]] Tally delivered(VnicId id) { return host_.snapshot(id).from_vm.delivered; }
    [[nodiscard]] Tally received(VnicId id) { return host_.snapshot(id).to_vm.delivered; }
    [[nodiscard]] SwitchHarness& host() { return host_; }

  private:
    static constexpr unsigned kFrames = 500;

    static SwitchConfig config() {
        SwitchConfig config;
        config.workers.assign(kWorkers, 0);
        return config;
    }

    SteppedClock clock_;
    SwitchHarness host_;
    std::deque<SteppedWorker> stepped_;
    std::vector<std::thread> threads_;
};

/// Bytes delivered and packets received by both guests, after each 100 of 800 steps.
std::vector<std::uint64_t> counts_of_a_run() {
    SteppedSwitch stepped;
    const VnicId one = stepped.add(1, 20'000'000);
    const VnicId two = stepped.add(2, 10'000'000);
    std::vector<std::uint64_t> counts;
    for (unsigned round = 0; round < 8; ++round) {
        stepped.step(100);
        for (const VnicId id : {one, two}) {
            counts.push_back(stepped.delivered(id).bytes);
            counts.push_back(stepped.received(id).packets);
        }
    }
    CHECK(counts.back() > 0);
    return counts;
}

}  // namespace

TEST_CASE("each worker makes one poll turn a step, and none while time stands still") {
    const unsigned before = buffers_in_use();
    {
        SteppedSwitch stepped;
        for (WorkerId worker = 0; worker < kWorkers; ++worker)
            CHECK(stepped.iterations(worker) == 0);
        stepped.step(kTurns);
        for (WorkerId worker = 0; worker < kWorkers; ++worker)
            CHECK(stepped.iterations(worker) == kTurns);
        stepped.step(1);
        for (WorkerId worker = 0; worker < kWorkers; ++worker)
            CHECK(stepped.iterations(worker) == kTurns + 1);
        CHECK(stepped.run_second(kTurns) == SteppedClock::kStart + (2 * kTurns + 1) * kTurn);
        CHECK(stepped.iterations(0) == kTurns + 1);
        CHECK(stepped.iterations(1) == 2 * kTurns + 1);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("parked workers carry out commands, and nothing waits for their quiescence") {
    SteppedSwitch stepped;
    const VnicId one = stepped.add(1, 20'000'000);
    VnicConfig changed = vm(1);
    for (unsigned round = 0; round < 100; ++round) {
        changed.limit_bps = 1'000'000 + round;
        stepped.host().change(one, changed);
        stepped.host().quiescence().wait();
    }
    CHECK(stepped.delivered(one).packets == 0);
    CHECK(stepped.iterations(0) == 0);
}

TEST_CASE("two runs of the same steps, with frames that change workers, have the same counts", "[long]") {
    const std::vector<std::uint64_t> counts = counts_of_a_run();
    for (unsigned again = 0; again < 3; ++again)
        CHECK(counts_of_a_run() == counts);
}
