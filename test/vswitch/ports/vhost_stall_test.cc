// vhost_stall_test.cc - guests whose memory makes the worker wait are named, disconnected and barred; others
// are served. Source: docs/algorithms.md 3.20. Units: frames; bytes.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "test/hostile/attacks.h"
#include "test/support/catch.h"
#include "test/vswitch/ports/vhost_switch.h"
#include "vswitch/ports/virtio/left_payload.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kAttacker = 3;

/// Fills the file from a place on and punches that, again and again: each access to it meanwhile sleeps for
/// as long as the whole range takes.
class Puncher {
  public:
    explicit Puncher(int file, off_t begin = 0) : thread_([this, file, begin] { run(file, begin); }) {}
    ~Puncher() {
        stop_ = true;
        thread_.join();
    }
    Puncher(const Puncher&) = delete;
    Puncher& operator=(const Puncher&) = delete;

  private:
    static constexpr off_t kBytes = 512L << 20;
    void run(int file, off_t begin) {
        while (!stop_) {
            if (fallocate(file, 0, begin, kBytes) != 0)
                return;
            fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, kBytes);
        }
    }
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace

TEST_CASE("a front-end that punches its memory is named and barred, and its neighbors go on", "[long]") {
    VhostSwitch where(5);
    where.start();
    Neighbors neighbors(where);
    Vm attacker(where, kAttacker);
    REQUIRE(attacker.start(where, kAttacker));
    {
        const Puncher puncher(attacker.guest.memory.regions()[0].file.number());
        CHECK(until([&] {
            return where.port(kAttacker).front_end_fault().find("made the switch wait") != std::string::npos;
        }));
    }
    CHECK(until([&] { return !where.rings(kAttacker).up(); }));
    attacker.guest.restart();
    CHECK_FALSE(attacker.guest.frontend.ask(hostile::kGetFeatures));  // no front-end is served for a minute
    neighbors.end();
    CHECK(neighbors.unharmed());
    where.stop();
}

TEST_CASE("each attack that costs the attacker its socket does so, and two guests lose nothing", "[long]") {
    for (const hostile::Attack& attack : hostile::kAttacks) {
        if (!hostile::barred(attack))
            continue;
        DYNAMIC_SECTION(attack.name) {
            VhostSwitch where(5);
            where.start();
            Neighbors neighbors(where);
            Vm attacker(where, kAttacker);
            {
                hostile::Scene scene(attacker.endpoint, attacker.tally, hostile::vm_mac(kAttacker),
                                     hostile::vm_mac(4));
                std::uint32_t step = 0;
                CHECK(until([&] {
                    hostile::take_step(attack, scene, 1, step++);
                    return !where.port(kAttacker).front_end_fault().empty();
                }));
            }
            CHECK(until([&] { return !where.rings(kAttacker).up(); }));
            CHECK(attacker.tally.bytes_changed == 0);
            neighbors.end();
            CHECK(neighbors.unharmed());
            where.stop();
        }
    }
}

TEST_CASE("a sender whose payloads alone are punched is barred, and its receiver is not", "[long]") {
    constexpr unsigned kReceiver = 4;
    constexpr std::uint64_t kPunchedFrom = 3U << 20;
    constexpr std::size_t kBytes = 1514;
    VhostSwitch where(5);
    where.start();
    Vm attacker(where, kAttacker);
    Vm receiver(where, kReceiver);
    REQUIRE((attacker.start(where, kAttacker) && receiver.start(where, kReceiver)));
    hostile::Guest& guest = attacker.guest;
    // The header of virtio and the head that the switch copies first are in front of the hole.
    const std::uint64_t begin = kPunchedFrom - sizeof(hostile::FrameHeader) - kHeadBytes;
    std::memset(guest.memory.at(begin), 0, sizeof(hostile::FrameHeader));
    std::memcpy(
        guest.memory.at(begin) + sizeof(hostile::FrameHeader),
        hostile::ipv4_frame(hostile::vm_mac(kReceiver), hostile::vm_mac(kAttacker), kBytes, false).data(),
        kHeadBytes);
    hostile::Virtqueue& ring = guest.ring(hostile::kTransmit);
    unsigned received = 0;
    {
        const Puncher puncher(guest.memory.regions()[0].file.number(), kPunchedFrom);
        CHECK(until([&] {
            while (ring.reap()) {
            }
            while (ring.free() != 0) {
                const hostile::Buffer buffer{begin, sizeof(hostile::FrameHeader) + kBytes};
                ring.add({&buffer, 1});
            }
            received += receiver.guest.receive([](std::span<const std::uint8_t>) {});
            return where.port(kAttacker).front_end_fault().find("made the switch wait") != std::string::npos;
        }));
    }
    CHECK(received > 0);
    CHECK(where.port(kReceiver).front_end_fault().empty());
    CHECK(where.rings(kReceiver).up());
    where.stop();
}

TEST_CASE("a front-end that punches its memory under its messages is named and barred, without a ring in use",
          "[long]") {
    VhostSwitch where(5);
    where.start();
    Neighbors neighbors(where);
    Vm attacker(where, kAttacker);
    hostile::Guest& guest = attacker.guest;
    hostile::Frontend& frontend = guest.frontend;
    REQUIRE(until([&] { return frontend.reconnect() && guest.negotiate() && guest.send_memory(); }));
    REQUIRE(frontend.send_ring(hostile::kSetVringNum, hostile::kTransmit, hostile::Guest::kRingSize));
    REQUIRE(
        frontend.send_ring(hostile::kSetVringEnable, hostile::kTransmit, 1));  // each address is looked at
    {
        const Puncher puncher(guest.memory.regions()[0].file.number());
        CHECK(until([&] {
            (void)frontend.send(hostile::kSetVringAddr, guest.tx.addresses(hostile::kTransmit));
            (void)frontend.ask(hostile::kGetFeatures);
            return where.port(kAttacker).front_end_fault().find("made the switch wait") != std::string::npos;
        }));
    }
    CHECK_FALSE(where.rings(kAttacker).up());
    CHECK(where.port(1).front_end_fault().empty());
    neighbors.end();
    CHECK(neighbors.unharmed());
    where.stop();
}

TEST_CASE("a guest that sends from huge pages that are not there, again and again, is named and barred",
          "[long]") {
    constexpr std::uint64_t kHugePage = 2U << 20;
    constexpr std::uint64_t kPages = 16;
    constexpr std::uint64_t kAt = 4ULL << 30;  // in the guest
    const hostile::File huge(memfd_create("hostile-huge", MFD_CLOEXEC | MFD_HUGETLB));
    REQUIRE(ftruncate(huge.number(), kPages * kHugePage) == 0);
    REQUIRE(fallocate(huge.number(), 0, 0, kPages * kHugePage) == 0);  // there are as many free ones
    VhostSwitch where(5);
    where.start();
    Neighbors neighbors(where);
    Vm attacker(where, kAttacker);
    REQUIRE(attacker.start(where, kAttacker));
    hostile::Guest& guest = attacker.guest;
    hostile::RegionTable table = guest.memory.guarded_table();
    std::vector<int> files = guest.memory.guarded_files();
    table.entries[table.count++] = {kAt, kPages * kHugePage, hostile::GuestMemory::kUserBase + kAt, 0};
    files.push_back(huge.number());
    REQUIRE(guest.frontend.send(hostile::kSetMemTable, bytes_of(table), files));
    hostile::Virtqueue& ring = guest.ring(hostile::kTransmit);
    CHECK(until([&] {
        while (ring.reap()) {
        }
        fallocate(huge.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPages * kHugePage);
        for (std::uint64_t page = 0; page < kPages && ring.free() != 0; ++page) {
            const hostile::Buffer buffer{kAt + page * kHugePage, 200};
            ring.add({&buffer, 1});
        }
        (void)guest.taken();
        return where.port(kAttacker).front_end_fault().find("pages of it were not there") !=
               std::string::npos;
    }));
    CHECK(until([&] { return !where.rings(kAttacker).up(); }));
    neighbors.end();
    CHECK(neighbors.unharmed());
    where.stop();
}

TEST_CASE("a guest whose pages of 4 KiB are not there at each use is served: it pays by its cycles",
          "[long]") {
    VhostSwitch where(5);
    where.start();
    Vm guest_vm(where, kAttacker);
    REQUIRE(guest_vm.start(where, kAttacker));
    hostile::Guest& guest = guest_vm.guest;
    hostile::Virtqueue& ring = guest.ring(hostile::kTransmit);
    const int file = guest.memory.regions()[0].file.number();
    for (int round = 0; round < 1000; ++round) {
        while (ring.reap()) {
        }
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, hostile::Guest::kTransmitBuffersAt,
                  hostile::Guest::kRingSize * hostile::Guest::kTransmitBufferBytes);
        while (ring.free() != 0) {
            const hostile::Buffer buffer{
                hostile::Guest::kTransmitBuffersAt +
                    std::uint64_t{ring.next()} * hostile::Guest::kTransmitBufferBytes,
                hostile::Guest::kTransmitBufferBytes};
            ring.add({&buffer, 1});
        }
        REQUIRE(until([&] { return guest.taken(); }));
    }
    CHECK(where.port(kAttacker).front_end_fault().empty());
    CHECK(where.rings(kAttacker).up());
    where.stop();
}

TEST_CASE("signals of a driver whose file has thousands of waiters go by way of another thread, and arrive",
          "[long]") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit files{before.rlim_max, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
    const int most = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 20'000)) - 1000;
    VhostSwitch where(5);
    where.start();
    Neighbors neighbors(where);  // vm5 sends to vm3 all the time
    Vm receiver(where, kAttacker);
    REQUIRE(receiver.start(where, kAttacker));
    hostile::Guest& guest = receiver.guest;
    const hostile::File call = hostile::File::event();
    const hostile::File waits(epoll_create1(EPOLL_CLOEXEC));
    std::vector<hostile::File> waiters;
    for (int i = 0; i < most; ++i) {
        waiters.emplace_back(dup(call.number()));
        epoll_event event{.events = EPOLLIN, .data = {}};
        REQUIRE(epoll_ctl(waits.number(), EPOLL_CTL_ADD, waiters.back().number(), &event) == 0);
    }
    guest.frontend.send(hostile::kSetVringCall, std::uint64_t{hostile::kReceive}, {call.number()});
    guest.ring(hostile::kReceive).unmute();
    const auto receive = [&] { guest.receive([](std::span<const std::uint8_t>) {}); };
    CHECK(until([&] {
        receive();
        return where.port(kAttacker).front_end_fault().find("to interrupt its drivers") != std::string::npos;
    }));
    for (int i = 0; i < 3; ++i) {
        std::uint64_t count = 0;
        (void)!read(call.number(), &count, sizeof(count));
        CHECK(until([&] {
            receive();
            return read(call.number(), &count, sizeof(count)) == sizeof(count);
        }));
    }
    guest.stop();
    neighbors.end();
    CHECK(neighbors.unharmed());
    where.stop();
    setrlimit(RLIMIT_NOFILE, &before);
}
