// usage_queue_test.cc - which reports are sent, which are given up, and that the latter are counted.
#include "vswitch/agent/usage_queue.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

UsageReport report(const char* vnic, std::uint64_t ended, std::uint64_t delivered) {
    return {.vnic = vnic, .usage = {.began = ended - 1, .ended = ended, .delivered = delivered}};
}

const std::map<std::string, std::uint32_t, std::less<>> kIds{{"known", 7}};

}  // namespace

TEST_CASE("periods of vNICs without an id are not sent, and are counted once they are given up") {
    UsageQueue queue;
    queue.add(report("known", 10, 100));
    queue.add(report("unknown", 10, 40));
    queue.add(report("known", 20, 100));
    CHECK(queue.next_message(kIds, kNanosPerSec).size() == 2 * wire::kUsageBytes);
    CHECK(queue.unbilled().periods == 0);  // its id may come before the answer
    queue.on_billed(20);
    CHECK(queue.waiting() == 0);
    CHECK(queue.unbilled().periods == 1);
    CHECK(queue.unbilled().bytes == 40);
}

TEST_CASE("a queue of unknown vNICs alone is given up without a message") {
    UsageQueue queue;
    queue.add(report("unknown", 10, 40));
    queue.add(report("unknown", 20, 2));
    CHECK(queue.next_message(kIds, kNanosPerSec).empty());
    CHECK(queue.waiting() == 0);
    CHECK(queue.unbilled().periods == 2);
    CHECK(queue.unbilled().bytes == 42);
}

TEST_CASE("a period that was sent once counts as billed, also when the vNIC's id is gone before the answer") {
    UsageQueue queue;
    queue.add(report("known", 10, 100));
    CHECK_FALSE(queue.next_message(kIds, kNanosPerSec).empty());
    queue.resend();
    CHECK(queue.next_message({}, 2 * kNanosPerSec).empty());
    CHECK(queue.unbilled().periods == 0);
}

TEST_CASE("reports that a full queue loses are counted") {
    UsageQueue queue;
    for (std::uint64_t i = 0; i < UsageQueue::kReportsMax + 3; ++i)
        queue.add(report("known", 10 + i, 5));
    CHECK(queue.waiting() == UsageQueue::kReportsMax);
    CHECK(queue.unbilled().periods == 3);
    CHECK(queue.unbilled().bytes == 15);
}

TEST_CASE("a period that no controller can read is given up at once, and does not block the others") {
    UsageQueue queue;
    queue.add({.vnic = "known", .usage = {.began = 5, .ended = 5, .delivered = 40}});
    queue.add({.vnic = "known", .usage = {.began = 5, .ended = wire::kUsageMax, .delivered = 2}});
    queue.add(report("known", 10, 100));
    CHECK(queue.waiting() == 1);
    CHECK(queue.unbilled().periods == 2);
    CHECK(queue.unbilled().bytes == 42);
    CHECK(queue.next_message(kIds, kNanosPerSec).size() == wire::kUsageBytes);
    queue.on_billed(10);
    CHECK(queue.waiting() == 0);
}
