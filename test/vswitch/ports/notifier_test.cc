// notifier_test.cc - interrupts are counted, and a front-end cannot make one wait.
#include "vswitch/ports/notifier.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "test/support/catch.h"

using namespace weir;

namespace {

std::uint64_t counted(int file) {
    eventfd_t count = 0;
    return eventfd_read(file, &count) == 0 ? count : 0;
}

}  // namespace

TEST_CASE(
    "each notification adds one to an eventfd, more of them than the kernel's ring of completions has room "
    "for") {
    Notifier notifier;
    const int one = eventfd(0, EFD_NONBLOCK);
    const int other = eventfd(0, EFD_NONBLOCK);
    for (int i = 0; i < 10'000; ++i)
        notifier.notify(i % 4 == 0 ? other : one);
    CHECK(counted(one) == 7'500);
    CHECK(counted(other) == 2'500);
    close(one);
    close(other);
}

TEST_CASE("a full eventfd whose writes block takes a notification without a wait and stays readable") {
    Notifier notifier;
    const int full = eventfd(0, 0);
    REQUIRE(eventfd_write(full, ~0ULL - 1) == 0);
    for (int i = 0; i < 100; ++i)
        notifier.notify(full);
    CHECK(counted(full) >= ~0ULL - 1);
    notifier.notify(full);
    CHECK(counted(full) == 1);
    close(full);
}

TEST_CASE("a file that is no eventfd, or closed, is not notified") {
    Notifier notifier;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    notifier.notify(ends[1]);
    close(ends[0]);
    close(ends[1]);
    notifier.notify(ends[1]);
    const int good = eventfd(0, EFD_NONBLOCK);
    notifier.notify(good);
    CHECK(counted(good) == 1);
    close(good);
}
