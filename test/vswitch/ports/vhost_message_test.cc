// vhost_message_test.cc - which vhost-user messages pass, at which moment.
#include "vswitch/ports/vhost_message.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "test/hostile/protocol.h"
#include "test/support/catch.h"

using namespace weir;
namespace wire = weir::hostile;

namespace {

/// One connection as the check sees it.
struct Connection {
    explicit Connection(std::uint32_t queues = 1) : check(queues) {}
    VhostMessageCheck check;

    template <typename T>
    std::string send(std::uint32_t request, const T& payload, std::initializer_list<int> files = {},
                     std::size_t bytes = sizeof(T), std::uint32_t flags = wire::kVersion) {
        VhostMessage message;
        const wire::MessageHeader header{request, flags, static_cast<std::uint32_t>(bytes)};
        std::memcpy(message.bytes.data(), &header, sizeof(header));
        std::memcpy(message.bytes.data() + sizeof(header), &payload, std::min(bytes, sizeof(payload)));
        message.received = sizeof(header) + bytes;
        for (const int file : files)
            message.files.emplace_back(file);
        return check.refusal(message);
    }
    /// The library's, as the front-end receives it.
    std::uint64_t reply(wire::Request request, std::uint64_t value) {
        VhostMessage reply;
        const wire::MessageHeader header{request, wire::kVersion | wire::kIsReply, sizeof(value)};
        std::memcpy(reply.bytes.data(), &header, sizeof(header));
        reply.received = sizeof(header) + sizeof(value);
        reply.set_number(0, value);
        check.note_reply(reply);
        return reply.number(0);
    }
    std::string ring(std::uint32_t request, std::uint32_t index, std::uint32_t value) {
        return send(request, wire::RingState{index, value});
    }
    std::string place(std::uint32_t index, std::uint64_t descriptors = 0x1000) {
        return send(wire::kSetVringAddr, wire::RingAddress{index, 0, descriptors, 0x3000, 0x2000, 0});
    }
    std::string kick(std::uint64_t index) { return send(wire::kSetVringKick, index, {event()}); }
    std::string start(std::uint32_t index) {
        std::string refusals = ring(wire::kSetVringNum, index, 256);
        refusals += ring(wire::kSetVringBase, index, 0);
        refusals += place(index);
        return refusals + kick(index);
    }
    static int event() { return eventfd(0, EFD_CLOEXEC); }
};

int memory_file(off_t bytes) {
    const int file = memfd_create("message_test", MFD_CLOEXEC);
    REQUIRE(ftruncate(file, bytes) == 0);
    return file;
}

wire::RegionTable one_region(std::uint64_t bytes, std::uint64_t offset = 0) {
    wire::RegionTable table{};
    table.count = 1;
    table.entries[0] = {0, bytes, 0x7000'0000, offset};
    return table;
}

constexpr std::size_t kOneRegion = 8 + 32;

}  // namespace

TEST_CASE("a ring is sized, placed and started, stopped and started again") {
    Connection guest;
    CHECK(guest.send(wire::kSetFeatures, std::uint64_t{1} << wire::kVersion1).empty());
    for (int i = 0; i < 2; ++i) {
        CHECK(guest.start(0).empty());
        CHECK(guest.ring(wire::kSetVringEnable, 0, 1).empty());
        CHECK(guest.place(0).empty());  // a live migration sends it again
        CHECK(guest.ring(wire::kGetVringBase, 0, 0).empty());
    }
}

TEST_CASE("a ring without a size, or with another one, is not started") {
    Connection guest;
    CHECK(guest.place(0) == "a ring that is placed before it has a size");
    CHECK(guest.kick(0) == "a ring that is started before it has a size and a place");
    CHECK(guest.start(0).empty());
    CHECK(guest.ring(wire::kSetVringNum, 0, 512) == "a ring that changes its size while it is in use");
    CHECK(guest.ring(wire::kSetVringBase, 0, 5) == "a ring that is moved while it is in use");
    CHECK(guest.ring(wire::kGetVringBase, 0, 0).empty());
    CHECK(guest.place(0) == "a ring that is placed before it has a size");
    for (const std::uint32_t size : {0U, 3U, 255U, 32'769U, 65'536U, ~0U})
        CHECK(guest.ring(wire::kSetVringNum, 1, size) ==
              "ring 1 of " + std::to_string(size) + " descriptors; allowed: 1 to 32768, a power of two");
}

TEST_CASE("features that were not offered are named") {
    Connection guest(2);
    CHECK(guest.send(wire::kSetFeatures, std::uint64_t{1} << wire::kVersion1).empty());  // it did not ask yet
    guest.reply(wire::kGetFeatures, 1ULL << wire::kVersion1 | 1);
    CHECK(guest.send(wire::kSetFeatures, 1ULL << wire::kVersion1).empty());
    CHECK(guest.send(wire::kSetFeatures, 1ULL << 22 | 1ULL << 40) ==
          "features 0x10000400000 (multiqueue) that the vNIC does not offer: `queues` of the vNIC is 2");
    CHECK(guest.send(wire::kSetFeatures, 1ULL << 40) ==
          "features 0x10000000000 that the vNIC does not offer");
}

TEST_CASE("there are two rings for each of the vNIC's queues") {
    for (const std::uint32_t queues : {1U, 2U, 16U}) {
        Connection guest(queues);
        CHECK(guest.start(2 * queues - 1).empty());
        for (const std::uint32_t ring : {2 * queues, 255U}) {
            const std::string why =
                "ring " + std::to_string(ring) + "; allowed: 0 to " + std::to_string(2 * queues - 1) +
                ", as `queues` of the vNIC is " + std::to_string(queues) + "; raise it to " +
                std::to_string(ring / 2 + 1) +
                ", or give the front-end fewer queue pairs (QEMU: `queues` of the netdev)";
            for (const std::uint32_t request :
                 {wire::kSetVringNum, wire::kSetVringBase, wire::kGetVringBase, wire::kSetVringEnable})
                CHECK(guest.ring(request, ring, 256) == why);
            CHECK(guest.place(ring) == why);
            for (const std::uint32_t request :
                 {wire::kSetVringKick, wire::kSetVringCall, wire::kSetVringErr}) {
                CHECK(guest.send(request, std::uint64_t{ring}, {Connection::event()}) == why);
                CHECK(guest.send(request, ring | wire::kNoDescriptor) == why);
            }
        }
        CHECK_FALSE(guest.ring(wire::kSetVringEnable, ~0U, 1).empty());
    }
}

TEST_CASE("a front-end learns as many queues as the vNIC has") {
    CHECK(Connection(4).reply(wire::kGetQueueNum, 128) == 4);
    CHECK(Connection(4).reply(wire::kGetQueueNum, 2) == 2);  // the library has fewer
    CHECK(Connection(4).reply(wire::kGetFeatures, 128) == 128);
}

TEST_CASE("a packed ring starts within its size, which need not be a power of two") {
    Connection guest;
    CHECK(guest.send(wire::kSetFeatures, std::uint64_t{1} << wire::kPackedRing).empty());
    CHECK(guest.ring(wire::kSetVringNum, 0, 200).empty());
    CHECK(guest.place(0).empty());
    CHECK(guest.kick(0) == "a packed ring that starts beyond its end");
    CHECK(guest.ring(wire::kSetVringBase, 0, 0x8000 | 200).empty());
    CHECK(guest.kick(0) == "a packed ring that starts beyond its end");
    CHECK(guest.ring(wire::kSetVringBase, 0, 0x8000 | 199).empty());
    CHECK(guest.kick(0).empty());
}

TEST_CASE("the layout of rings changes only while none is in use") {
    Connection guest;
    constexpr auto kPacked = std::uint64_t{1} << wire::kPackedRing;
    constexpr auto kLog = std::uint64_t{1} << wire::kLogAll;
    CHECK(guest.start(1).empty());
    CHECK(guest.send(wire::kSetFeatures, kPacked) == "features that change the layout of rings in use");
    CHECK(guest.send(wire::kSetFeatures, kLog).empty());  // a live migration begins
    CHECK(guest.ring(wire::kGetVringBase, 1, 0).empty());
    CHECK(guest.send(wire::kSetFeatures, kPacked).empty());
}

TEST_CASE("rings are aligned as virtio demands") {
    Connection guest;
    CHECK(guest.ring(wire::kSetVringNum, 0, 256).empty());
    CHECK(guest.place(0, 0x1008) == "a ring that is not aligned");
    CHECK(guest.place(0, 0x1010).empty());
}

TEST_CASE("a region of memory lies within its file") {
    Connection guest;
    const auto table = [&](std::uint64_t bytes, std::uint64_t offset, int file) {
        return guest.send(wire::kSetMemTable, one_region(bytes, offset), {file}, kOneRegion);
    };
    CHECK(table(8192, 0, memory_file(8192)).empty());
    CHECK(table(4096, 4096, memory_file(8192)).empty());
    CHECK(table(8192, 1, memory_file(8192)) == "a region of memory is longer than its file");
    CHECK(table(0, 0, memory_file(4096)) == "a region of memory is empty, or its end is beyond 2^64");
    CHECK(table(8192, ~0ULL - 100, memory_file(8192)) ==
          "a region of memory is empty, or its end is beyond 2^64");
    CHECK(guest.send(wire::kSetMemTable, one_region(4096), {}, kOneRegion) ==
          "a wrong number of file descriptors");
    CHECK(guest.send(wire::kSetMemTable, one_region(4096), {memory_file(4096)}, 8) ==
          "a payload that is too short");
    for (const std::uint32_t count : {0U, 9U, ~0U}) {
        wire::RegionTable many = one_region(4096);
        many.count = count;
        CHECK(guest.send(wire::kSetMemTable, many) == "a table of no or too many regions");
    }
}

TEST_CASE("a file of another kind than its message's is refused, and the refusal names the right kind") {
    Connection guest;
    const auto odd_files = [] {
        int pipe_ends[2];
        REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
        return std::vector{pipe_ends[0],
                           pipe_ends[1],
                           socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                           socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                           open("/", O_RDONLY | O_CLOEXEC),
                           open("/dev/zero", O_RDWR | O_CLOEXEC),
                           open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
                           open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
                           open("/dev/shm", O_PATH | O_CLOEXEC),
                           epoll_create1(EPOLL_CLOEXEC)};
    };
    const std::pair<wire::Request, const char*> events[] = {{wire::kSetVringKick, "SET_VRING_KICK"},
                                                            {wire::kSetVringCall, "SET_VRING_CALL"},
                                                            {wire::kSetVringErr, "SET_VRING_ERR"},
                                                            {wire::kSetLogFd, "SET_LOG_FD"}};
    for (const auto& [request, name] : events) {
        for (const int file : odd_files())
            CHECK(guest.send(request, std::uint64_t{0}, {file}) ==
                  std::string(name) + " with a file that is no eventfd");
        CHECK(guest.send(request, std::uint64_t{0}, {memory_file(4096)}) ==
              std::string(name) + " with a file that is no eventfd");
    }
    constexpr const char* kAllowed =
        " with a file that does not lie in memory; allowed: memfd, tmpfs, hugetlbfs (QEMU: "
        "memory-backend-memfd, or memory-backend-file in /dev/shm or /dev/hugepages)";
    std::vector<int> files = odd_files();
    files.push_back(Connection::event());
    for (const int file : files)
        CHECK(guest.send(wire::kSetMemTable, one_region(4096), {file}, kOneRegion) ==
              std::string("SET_MEM_TABLE") + kAllowed);
    for (const int file : odd_files())
        CHECK(guest.send(wire::kSetLogBase, wire::LogArea{4096, 0}, {file}) ==
              std::string("SET_LOG_BASE") + kAllowed);
}

TEST_CASE("files of tmpfs and of hugetlbfs are memory") {
    const FileHandle named(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    const FileHandle huge(memfd_create("message_test", MFD_CLOEXEC | MFD_HUGETLB));
    CHECK(is_memory(named));
    CHECK(is_memory(huge));
    REQUIRE(ftruncate(named.number(), 8192) == 0);
    CHECK(memory_bytes(named) == 8192);
}

TEST_CASE("the library gets no file of a front-end's that it does nothing with") {
    VhostMessage message;
    const auto is_idle = [&](wire::Request request) {
        std::memcpy(message.bytes.data(), &request, sizeof(request));
        return message.has_idle_file();
    };
    CHECK(is_idle(wire::kSetVringErr));
    CHECK(is_idle(wire::kSetLogFd));
    CHECK_FALSE(is_idle(wire::kSetVringKick));
    CHECK_FALSE(is_idle(wire::kSetMemTable));
}

TEST_CASE("interrupts go to an eventfd that does not wait") {
    Connection guest;
    CHECK(guest.send(wire::kSetVringCall, wire::kNoDescriptor).empty());
    const int event = Connection::event();
    const int kept = dup(event);
    CHECK((fcntl(kept, F_GETFL) & O_NONBLOCK) == 0);
    CHECK(guest.send(wire::kSetVringCall, std::uint64_t{0}, {event}).empty());
    CHECK((fcntl(kept, F_GETFL) & O_NONBLOCK) != 0);
    close(kept);
}

TEST_CASE("requests that the switch does not offer, other versions and short payloads are refused") {
    Connection guest;
    constexpr std::uint32_t kNotOffered[] = {wire::kSetSlaveRequestFd,
                                             wire::kGetInflightFd,
                                             wire::kSetInflightFd,
                                             wire::kPostcopyAdvise,
                                             wire::kIotlb,
                                             0,
                                             1000,
                                             ~0U};
    for (const std::uint32_t request : kNotOffered)
        CHECK(guest.send(request, std::uint64_t{0}) ==
              "a request that a network front-end does not need here");
    CHECK(guest.send(wire::kGetFeatures, std::uint64_t{0}, {}, 0, 2) ==
          "a version of the protocol other than 1");
    CHECK(guest.send(wire::kSetFeatures, std::uint64_t{0}, {}, 4) == "a payload that is too short");
    CHECK(guest.send(wire::kSetFeatures, std::uint64_t{0}, {Connection::event()}) ==
          "a wrong number of file descriptors");
    CHECK(guest.send(wire::kSetLogBase, wire::LogArea{8192, 0}, {memory_file(4096)}) ==
          "a log of dirty pages is empty or longer than its file");
    CHECK(guest.send(wire::kSetLogBase, wire::LogArea{4096, 0}, {memory_file(4096)}).empty());
}
