// signal_relay_test.cc - drivers are interrupted by another thread, and not any more once that is forgotten.
#include "vswitch/ports/signal_relay.h"

#include <sys/eventfd.h>

#include <thread>
#include <vector>

#include "test/support/catch.h"
#include "test/support/wait.h"
#include "vswitch/ports/foreign_files.h"

using namespace weir;

namespace {

FileHandle event() {
    return FileHandle(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

std::uint64_t counted(const FileHandle& file) {
    eventfd_t count = 0;
    return eventfd_read(file.number(), &count) == 0 ? count : 0;
}

}  // namespace

TEST_CASE("each ring's driver is interrupted, also after a pause, and rings of two lines do not mix") {
    SignalRelay relay;
    SignalRelay::Line one;
    SignalRelay::Line other;
    relay.add(one);
    relay.add(other);
    std::vector<FileHandle> files;
    for (int i = 0; i < 4; ++i)
        files.push_back(event());
    for (int round = 0; round < 50; ++round) {
        relay.signal(one, 0, files[0].number());
        relay.signal(one, 31, files[1].number());
        relay.signal(other, 0, files[2].number());
        for (std::size_t i = 0; i < 3; ++i)
            CHECK(weir::testing::until([&] { return counted(files[i]) != 0; }));
        CHECK(counted(files[3]) == 0);
    }
    relay.remove(one);
    relay.remove(other);
}

TEST_CASE("after forget() no file of the line is signalled, though a signal was asked for") {
    SignalRelay relay;
    SignalRelay::Line line;
    relay.add(line);
    for (int round = 0; round < 2000; ++round) {
        FileHandle file = event();
        relay.signal(line, static_cast<std::uint16_t>(round % 32), file.number());
        relay.forget(line);
        file.reset();
        const FileHandle next = event();  // with the same number
        std::this_thread::yield();
        CHECK(counted(next) == 0);
    }
    relay.remove(line);
}

TEST_CASE("a full eventfd whose writes block does not stop the relay") {
    SignalRelay relay;
    SignalRelay::Line line;
    relay.add(line);
    const FileHandle full(eventfd(0, EFD_CLOEXEC));
    REQUIRE(eventfd_write(full.number(), ~0ULL - 1) == 0);
    const FileHandle good = event();
    relay.signal(line, 0, full.number());
    relay.signal(line, 1, good.number());
    CHECK(weir::testing::until([&] { return counted(good) != 0; }));
    relay.remove(line);
}
