// snapshot_desk_test.cc - snapshots are made when a reader waits, shared while fresh, and not repeated after
// a failure.
#include "common/metrics/snapshot_desk.h"

#include <stdexcept>
#include <thread>

#include "test/support/catch.h"
#include "test/support/wait.h"

using namespace weir;
using weir::metrics::SnapshotDesk;

namespace {

constexpr Nanos kStart = 7 * kNanosPerSec;

/// A desk, and how often its owner made a snapshot.
struct CountedDesk {
    SnapshotDesk<int> desk;
    int made = 0;

    void serve(Nanos now) {
        desk.serve(now, [this] { return ++made; });
    }
    /// Reads on another thread while the owner serves at this time.
    std::shared_ptr<const int> read_served(Nanos now) {
        std::shared_ptr<const int> result;
        std::atomic<bool> is_done{false};
        std::thread reader([&] {
            result = desk.read(now, testing::wait_bound());
            is_done = true;
        });
        const bool ended = testing::until([&] { return is_done.load(); }, [&] { serve(now); });
        reader.join();
        CHECK(ended);
        return result;
    }
};

}  // namespace

TEST_CASE("an owner makes no snapshot that no reader waits for") {
    CountedDesk counted;
    counted.serve(kStart);
    CHECK(counted.made == 0);
    CHECK(*counted.read_served(kStart) == 1);
    counted.serve(kStart + kNanosPerSec);
    CHECK(counted.made == 1);
}

TEST_CASE("readers within half a second share a snapshot, and a later one gets another") {
    CountedDesk counted;
    const auto first = counted.read_served(kStart);
    CHECK(counted.desk.read(kStart + SnapshotDesk<int>::kFresh - 1, {}) == first);
    CHECK(*counted.read_served(kStart + SnapshotDesk<int>::kFresh) == 2);
    CHECK(*first == 1);
}

TEST_CASE("a reader is not kept longer than its patience") {
    CountedDesk counted;
    CHECK(counted.desk.read(kStart, std::chrono::milliseconds(1)) == nullptr);
    counted.serve(kStart);  // late: the next reader has it
    CHECK(*counted.desk.read(kStart, {}) == 1);
}

TEST_CASE(
    "after a failure the owner tries again in ten seconds, and readers are refused at once until then") {
    SnapshotDesk<int> desk;
    int tries = 0;
    const auto serve = [&](Nanos now) {
        desk.serve(now, [&]() -> int {
            if (++tries == 1)
                throw std::runtime_error("a worker does not answer");
            return tries;
        });
    };
    CHECK(desk.read(kStart, {}) == nullptr);
    serve(kStart);
    CHECK(desk.read(kStart + 1, testing::wait_bound()) == nullptr);
    serve(kStart + SnapshotDesk<int>::kRetry - 1);
    CHECK(tries == 1);
    CHECK(desk.read(kStart + SnapshotDesk<int>::kRetry, {}) == nullptr);
    serve(kStart + SnapshotDesk<int>::kRetry);
    CHECK(*desk.read(kStart + SnapshotDesk<int>::kRetry, {}) == 2);
}
