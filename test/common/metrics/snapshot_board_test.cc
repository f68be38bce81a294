// snapshot_board_test.cc - readers get the latest snapshot at once, are refused an old one, and wait for the
// next.
#include "common/metrics/snapshot_board.h"

#include <atomic>
#include <thread>

#include "test/support/catch.h"
#include "test/support/wait.h"

using namespace weir;
using weir::metrics::SnapshotBoard;

namespace {

constexpr Nanos kPublished = 7 * kNanosPerSec;

}  // namespace

TEST_CASE("readers share the latest snapshot, and one that was read outlives the next") {
    SnapshotBoard<int> board;
    board.publish(kPublished, 1);
    const auto first = board.read(kPublished, {});
    CHECK(board.read(kPublished + 1, {}) == first);
    board.publish(kPublished + kNanosPerSec, 2);
    CHECK(*board.read(kPublished + kNanosPerSec, {}) == 2);
    CHECK(*first == 1);
}

TEST_CASE("no snapshot, or one that is older than three seconds, is no answer") {
    SnapshotBoard<int> board;
    CHECK(board.read(kPublished, std::chrono::milliseconds(1)) == nullptr);
    board.publish(kPublished, 1);
    CHECK(*board.read(kPublished + SnapshotBoard<int>::kLasts - 1, {}) == 1);
    CHECK(board.read(kPublished + SnapshotBoard<int>::kLasts, std::chrono::milliseconds(1)) == nullptr);
}

TEST_CASE("a reader that finds no snapshot, or an old one, waits for the next") {
    // Each snapshot is too old to be an answer at once.
    SnapshotBoard<int> board;
    std::shared_ptr<const int> result;
    std::atomic<bool> is_read{false};
    std::thread reader([&] {
        result = board.read(kPublished + SnapshotBoard<int>::kLasts, testing::wait_bound());
        is_read = true;
    });
    CHECK(testing::until([&] { return is_read.load(); }, [&] { board.publish(kPublished, 5); }));
    reader.join();
    REQUIRE(result);
    CHECK(*result == 5);
}
