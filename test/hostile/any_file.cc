// any_file.cc - the kinds, by the family of their system calls.
#include "test/hostile/any_file.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "test/hostile/lingering.h"

namespace weir::hostile {
namespace {

constexpr std::array<char, 65'536> kData{};

AnyFile only(int number) {
    return {File(number), {}, false};
}

AnyFile both(File sent, File kept) {
    AnyFile file{std::move(sent), {}, false};
    file.kept.push_back(std::move(kept));
    return file;
}

File path(const char* name, int flags) {
    return File(open(name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

template <const char* kName, int kFlags>
AnyFile opened() {
    return {path(kName, kFlags), {}, false};
}

// Memory.

AnyFile memory(unsigned flags, off_t bytes, int seals) {
    File file(memfd_create("hostile-any", MFD_CLOEXEC | flags));
    if (file && ftruncate(file.number(), bytes) == 0 && seals != 0)
        fcntl(file.number(), F_ADD_SEALS, seals);
    return {std::move(file), {}, false};
}
AnyFile unsealed() {
    return memory(0, 1 << 20, 0);
}
AnyFile empty_memory() {
    return memory(MFD_ALLOW_SEALING, 0, 0);
}
AnyFile sealed() {
    return memory(MFD_ALLOW_SEALING, 1 << 20, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}
AnyFile huge_pages() {
    return memory(MFD_HUGETLB, 2 << 20, 0);
}

// Pipes and pairs of sockets.

void fill(int number) {
    fcntl(number, F_SETFL, O_NONBLOCK);
    while (write(number, kData.data(), kData.size()) > 0) {
    }
    fcntl(number, F_SETFL, 0);
}

AnyFile pipe_end(bool reader, bool full) {
    std::array<int, 2> ends{-1, -1};
    (void)!pipe2(ends.data(), O_CLOEXEC);
    if (full && ends[1] >= 0)
        fill(ends[1]);
    return both(File(ends[reader ? 0 : 1]), File(ends[reader ? 1 : 0]));
}
AnyFile empty_pipe_reader() {
    return pipe_end(true, false);
}
AnyFile full_pipe_reader() {
    return pipe_end(true, true);
}
AnyFile empty_pipe_writer() {
    return pipe_end(false, false);
}
AnyFile full_pipe_writer() {
    return pipe_end(false, true);
}
AnyFile pipe_without_reader() {
    AnyFile file = pipe_end(false, false);
    file.kept.clear();
    return file;
}
AnyFile fifo() {
    std::string folder = "/tmp/hostile-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr)
        return {};
    const std::string name = folder + "/fifo";
    AnyFile file;
    if (mkfifo(name.c_str(), 0600) == 0)
        file.sent = path(name.c_str(), O_RDWR);
    unlink(name.c_str());
    rmdir(folder.c_str());
    return file;
}

/// Its other end has sent `messages` that are not read, as far as there is room.
AnyFile pair(int type, int messages = 100) {
    std::array<int, 2> ends{-1, -1};
    (void)!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data());
    for (int i = 0; i < messages && send(ends[1], kData.data(), 1000, MSG_DONTWAIT | MSG_NOSIGNAL) > 0; ++i) {
    }
    return both(File(ends[0]), File(ends[1]));
}
AnyFile stream_pair() {
    return pair(SOCK_STREAM);
}
AnyFile datagram_pair() {
    return pair(SOCK_DGRAM);
}
AnyFile packet_pair() {
    return pair(SOCK_SEQPACKET);
}

AnyFile lingering() {
    constexpr int kSeconds = 10;
    Lingering file(kSeconds);
    AnyFile any = both(std::move(file.sender), std::move(file.receiver));
    any.close_waits = true;
    return any;
}

/// An unread message of a socket carries a file whose close waits.
AnyFile pair_with_file() {
    AnyFile file = pair(SOCK_STREAM, 1);  // with room for one more
    AnyFile inner = lingering();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = inner.sent.number();
    std::memcpy(CMSG_DATA(rights), &number, sizeof(number));
    if (!file.kept.empty() && file.kept[0])
        (void)!sendmsg(file.kept[0].number(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    file.kept.push_back(std::move(inner.kept[0]));
    file.close_waits = true;
    return file;
}

// Sockets of networks.

AnyFile network_socket(int family, int type, int protocol, bool listens) {
    AnyFile file = only(socket(family, type | SOCK_CLOEXEC, protocol));
    if (listens && file.sent)
        (void)!listen(file.sent.number(), 1);
    return file;
}
AnyFile listening() {
    return network_socket(AF_INET, SOCK_STREAM, 0, true);
}
AnyFile datagrams() {
    return network_socket(AF_INET, SOCK_DGRAM, 0, false);
}
AnyFile netlink() {
    return network_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, false);
}
AnyFile packets() {
    return network_socket(AF_PACKET, SOCK_RAW, htons(3), false);
}
AnyFile vsock() {
    return network_socket(AF_VSOCK, SOCK_STREAM, 0, true);
}

// Events.

template <unsigned kCount, int kFlags>
AnyFile event() {
    return only(eventfd(kCount, EFD_CLOEXEC | kFlags));
}
AnyFile saturated_event() {
    return {File::event(~0ULL - 1, true), {}, false};
}
AnyFile timer() {
    AnyFile file = only(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    const itimerspec soon{{0, 1'000'000}, {0, 1}};
    if (file.sent)
        timerfd_settime(file.sent.number(), 0, &soon, nullptr);
    return file;
}
AnyFile signals() {
    sigset_t none;
    sigemptyset(&none);
    return only(signalfd(-1, &none, SFD_CLOEXEC));
}
AnyFile polls() {
    AnyFile file = only(epoll_create1(EPOLL_CLOEXEC));
    AnyFile inner = event<1, 0>();
    epoll_event in{};
    in.events = EPOLLIN;
    if (file.sent)
        epoll_ctl(file.sent.number(), EPOLL_CTL_ADD, inner.sent.number(), &in);
    file.kept.push_back(std::move(inner.sent));
    return file;
}
AnyFile notices() {
    AnyFile file = only(inotify_init1(IN_CLOEXEC));
    if (file.sent)
        inotify_add_watch(file.sent.number(), "/tmp", IN_ALL_EVENTS);
    return file;
}
AnyFile fanotify() {
    return only(fanotify_init(FAN_CLOEXEC | FAN_CLASS_NOTIF, O_RDONLY));
}
AnyFile page_faults() {
    return only(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
}
AnyFile process() {
    return only(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
}
AnyFile requests() {
    io_uring_params parameters{};
    return only(static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters)));
}

// Terminals: output of the slave is not read by its master.

AnyFile terminal(bool master) {
    File head = path("/dev/ptmx", O_RDWR);
    std::array<char, 64> name{};
    if (!head || grantpt(head.number()) != 0 || unlockpt(head.number()) != 0 ||
        ptsname_r(head.number(), name.data(), name.size()) != 0)
        return {};
    File slave = path(name.data(), O_RDWR);
    if (slave)
        (void)!write(slave.number(), kData.data(), 4096);
    return master ? both(std::move(head), std::move(slave)) : both(std::move(slave), std::move(head));
}
AnyFile terminal_master() {
    return terminal(true);
}
AnyFile terminal_slave() {
    return terminal(false);
}

constexpr char kShm[] = "/dev/shm";
constexpr char kDisk[] = "/var/tmp";
constexpr char kRoot[] = "/";
constexpr char kNull[] = "/dev/null";
constexpr char kZero[] = "/dev/zero";
constexpr char kFull[] = "/dev/full";
constexpr char kRandom[] = "/dev/random";
constexpr char kFuse[] = "/dev/fuse";
constexpr char kTunnel[] = "/dev/net/tun";
constexpr char kLoop[] = "/dev/loop-control";
constexpr char kMemory[] = "/proc/self/mem";
constexpr char kMaps[] = "/proc/self/maps";
constexpr char kMounts[] = "/proc/self/mounts";
constexpr char kNamespace[] = "/proc/self/ns/net";
constexpr char kSystem[] = "/sys/kernel/mm/transparent_hugepage/enabled";
constexpr char kProgram[] = "/proc/self/exe";

constexpr FileKind kKinds[] = {
    {"event", event<0, EFD_NONBLOCK>},
    {"event that blocks", event<0, 0>},
    {"event that counts down", event<5, EFD_SEMAPHORE>},
    {"saturated event", saturated_event},
    {"memfd", unsealed},
    {"memfd of 0 bytes", empty_memory},
    {"sealed memfd", sealed},
    {"memfd of huge pages", huge_pages},
    {"file in memory", opened<kShm, O_TMPFILE | O_RDWR>},
    {"file on a disk", opened<kDisk, O_TMPFILE | O_RDWR>},
    {"program", opened<kProgram, O_RDONLY>},
    {"folder", opened<kRoot, O_RDONLY | O_DIRECTORY>},
    {"place without a file", opened<kRoot, O_PATH>},
    {"null device", opened<kNull, O_RDWR>},
    {"zero device", opened<kZero, O_RDWR>},
    {"full device", opened<kFull, O_RDWR>},
    {"random device", opened<kRandom, O_RDONLY>},
    {"FUSE device without a file system", opened<kFuse, O_RDWR>},
    {"tunnel device", opened<kTunnel, O_RDWR>},
    {"loop control", opened<kLoop, O_RDWR>},
    {"memory of a process", opened<kMemory, O_RDWR>},
    {"maps of a process", opened<kMaps, O_RDONLY>},
    {"mounts of a process", opened<kMounts, O_RDONLY>},
    {"name space", opened<kNamespace, O_RDONLY>},
    {"setting of the kernel", opened<kSystem, O_RDONLY>},
    {"reader of an empty pipe", empty_pipe_reader},
    {"reader of a full pipe", full_pipe_reader},
    {"writer of an empty pipe", empty_pipe_writer},
    {"writer of a full pipe", full_pipe_writer},
    {"writer of a pipe without a reader", pipe_without_reader},
    {"FIFO", fifo},
    {"stream socket with unread bytes", stream_pair},
    {"datagram socket with unread messages", datagram_pair},
    {"packet socket of a pair with unread messages", packet_pair},
    {"socket with an unread file", pair_with_file},
    {"TCP socket that listens", listening},
    {"TCP socket that lingers", lingering},
    {"UDP socket", datagrams},
    {"netlink socket", netlink},
    {"packet socket", packets},
    {"vsock socket", vsock},
    {"timer", timer},
    {"signals", signals},
    {"epoll", polls},
    {"inotify", notices},
    {"fanotify", fanotify},
    {"userfaultfd", page_faults},
    {"process", process},
    {"io_uring", requests},
    {"terminal's master", terminal_master},
    {"terminal's slave with unread output", terminal_slave},
};

}  // namespace

std::span<const FileKind> file_kinds() {
    return kKinds;
}

}  // namespace weir::hostile
