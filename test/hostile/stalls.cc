// stalls.cc - attacks: memory and files for which the switch has to wait.
// Source: docs/algorithms.md 3.20. Units: bytes; pages. Threads: one.
//
// An access to a page that is being punched out of its file waits until the whole range is gone, one to an
// absent page until it is cleared, and a signal to an eventfd goes through all that wait for it.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

/// A file of pages that are there: huge ones where the host has enough of them free.
File absent_pages(off_t bytes) {
    File huge(memfd_create("hostile-huge", MFD_CLOEXEC | MFD_HUGETLB));
    if (huge && ftruncate(huge.number(), bytes) == 0 && fallocate(huge.number(), 0, 0, bytes) == 0)
        return huge;
    return File::memory(static_cast<std::uint64_t>(bytes));
}

/// As many files as the process may open.
std::size_t raise_file_limit() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

}  // namespace

/// The file is longer than the guest's memory, so that a hole takes long.
void memory_punched(Scene& scene) {
    constexpr off_t kHole = 256L << 20;
    Guest& guest = scene.guest;
    if (!guest.restart())
        return pause(std::chrono::milliseconds(1));
    const int file = guest.memory.regions()[0].file.number();
    guest.offer_buffers();
    scene.send_some(32);
    if (fallocate(file, 0, 0, kHole) == 0)
        fallocate(file, kPunch, 0, kHole);
    (void)!ftruncate(file, GuestMemory::kRegionBytes);
}

/// Frames in pages of which none is there any more when the switch reads them.
void memory_absent(Scene& scene) {
    constexpr std::uint64_t kPage = 2U << 20;
    constexpr std::uint64_t kPages = 16;
    constexpr std::uint64_t kAt = 4ULL << 30;  // in the guest
    constexpr int kRounds = 8;
    Guest& guest = scene.guest;
    const File pages = absent_pages(kPages * kPage);
    RegionTable table = guest.memory.guarded_table();
    std::vector<int> files = guest.memory.guarded_files();
    table.entries[table.count++] = {kAt, kPages * kPage, GuestMemory::kUserBase + kAt, 0};
    files.push_back(pages.number());
    if (!guest.restart() || !guest.frontend.send(kSetMemTable, bytes_of(table), files))
        return pause(std::chrono::milliseconds(1));
    Virtqueue& ring = guest.ring(kTransmit);
    for (int round = 0; round < kRounds; ++round) {
        while (ring.reap()) {
        }
        fallocate(pages.number(), kPunch, 0, kPages * kPage);
        for (std::uint64_t page = 0; page < kPages; ++page) {
            const Buffer buffer{kAt + page * kPage, 200};
            ring.add({&buffer, 1});
        }
        (void)guest.taken();
    }
}

/// The switch's memory is a file of its own, as in region_shrunk().
void region_grown(Scene& scene) {
    Guest& guest = scene.guest;
    const std::uint64_t lengths[] = {
        0, 0x2000, 0x4000, 0x6000, Guest::kReceiveBuffersAt, Guest::kTransmitBuffersAt};
    const File file = File::memory(scene.random.pick(lengths));
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    guest.frontend.send(kSetMemTable, guest.memory.table(),
                        {file.number(), guest.memory.regions()[1].file.number()});
    guest.set_up_ring(kReceive);
    guest.set_up_ring(kTransmit);
    (void)guest.frontend.ask(kGetFeatures);  // all of it has been read
    for (const std::uint64_t length : {GuestMemory::kRegionBytes, scene.random.pick(lengths)}) {
        (void)!ftruncate(file.number(), static_cast<off_t>(length));
        guest.frontend.send(kSetVringAddr, guest.tx.addresses(kTransmit));
        pause(std::chrono::milliseconds(1));
    }
    guest.stop();
}

/// Every signal walks thousands of waiters.
void call_waiters(Scene& scene) {
    constexpr std::size_t kWaiters = 19'000;
    constexpr std::size_t kOthers = 200;  // files that the process has besides
    Guest& guest = scene.guest;
    if (!guest.restart())
        return;
    const std::size_t most = std::min(kWaiters + kOthers, raise_file_limit()) - kOthers;
    const File call = File::event();
    const File waits(epoll_create1(EPOLL_CLOEXEC));
    std::vector<File> waiters;
    while (waiters.size() < most) {
        waiters.emplace_back(dup(call.number()));
        epoll_event event{.events = EPOLLIN, .data = {}};
        if (!waiters.back() || epoll_ctl(waits.number(), EPOLL_CTL_ADD, waiters.back().number(), &event) != 0)
            break;
    }
    for (const std::uint32_t ring : {kReceive, kTransmit}) {
        guest.frontend.send(kSetVringCall, std::uint64_t{ring}, {call.number()});
        guest.ring(ring).unmute();
    }
    guest.offer_buffers();
    for (int i = 0; i < 32; ++i) {
        scene.send_some(8);
        (void)guest.taken();
        guest.receive([](std::span<const std::uint8_t>) {});
    }
}

}  // namespace weir::hostile
