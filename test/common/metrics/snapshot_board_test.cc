// snapshot_board_test.cc - readers get the latest snapshot at once, wait for the first, and are refused an
// old one.
#include "common/metrics/snapshot_board.h"

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

TEST_CASE("a snapshot that is older than three seconds is no answer") {
    SnapshotBoard<int> board;
    board.publish(kPublished, 1);
    CHECK(*board.read(kPublished + SnapshotBoard<int>::kLasts - 1, {}) == 1);
    CHECK(board.read(kPublished + SnapshotBoard<int>::kLasts, std::chrono::milliseconds(1)) == nullptr);
}

TEST_CASE("the first reader waits for the first snapshot") {
    SnapshotBoard<int> board;
    std::shared_ptr<const int> result;
    std::thread reader([&] { result = board.read(kPublished, testing::wait_bound()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    board.publish(kPublished, 5);
    reader.join();
    REQUIRE(result);
    CHECK(*result == 5);
}
