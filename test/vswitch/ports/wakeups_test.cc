// wakeups_test.cc - events that end a worker's sleep, and others that do not.
#include "vswitch/ports/wakeups.h"

#include <sys/eventfd.h>

#include <thread>

#include "test/support/catch.h"
#include "vswitch/ports/foreign_files.h"

using namespace weir;

namespace {

constexpr Nanos kLong = 300 * kNanosPerSec;  // of a test that would hang

FileHandle event_file() {
    return FileHandle(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

}  // namespace

TEST_CASE("wakeups: a ring ends the sleep of a worker that lies down, also before it sleeps") {
    Wakeups wakeups;
    wakeups.sleep(0);
    wakeups.ring();
    CHECK_FALSE(wakeups.sleep(0));  // it was awake
    wakeups.lie_down();
    wakeups.ring();
    wakeups.ring();
    CHECK(wakeups.sleep(kLong));
    CHECK_FALSE(wakeups.sleep(0));
    wakeups.lie_down();
    wakeups.get_up();
    wakeups.ring();
    CHECK_FALSE(wakeups.sleep(0));
}

TEST_CASE("wakeups: a sleeper is woken by another thread") {
    Wakeups wakeups;
    wakeups.sleep(0);
    for (int i = 0; i < 100; ++i) {
        wakeups.lie_down();
        std::thread other([&] { wakeups.ring(); });
        CHECK(wakeups.sleep(kLong));
        wakeups.get_up();
        other.join();
    }
}

TEST_CASE("wakeups: each kick is an event, though none reads the file, until it is removed") {
    Wakeups wakeups;
    const FileHandle kicks = event_file();
    REQUIRE(wakeups.add(kicks.number()));
    wakeups.sleep(0);
    for (int i = 0; i < 3; ++i) {
        eventfd_write(kicks.number(), 1);
        CHECK(wakeups.sleep(kLong));
        CHECK_FALSE(wakeups.sleep(0));
    }
    CHECK(wakeups.add(kicks.number()));
    CHECK(wakeups.sleep(kLong));
    wakeups.remove(kicks.number());
    eventfd_write(kicks.number(), 1);
    CHECK_FALSE(wakeups.sleep(0));
}

TEST_CASE("wakeups: a file that the kernel does not watch is refused") {
    Wakeups wakeups;
    CHECK_FALSE(wakeups.add(-1));
}
