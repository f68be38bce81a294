// vhost_gate.cc - one thread that polls all guests' sockets.
#include "vswitch/ports/vhost_gate.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "vswitch/ports/unix_socket.h"
#include "vswitch/ports/vhost_request.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kConnectGap{2};
constexpr milliseconds kRetryGap{500};  // of connects to a VM's socket that is not there
constexpr milliseconds kFirstRetryGap{50};
constexpr std::chrono::seconds kFirstRetries{5};  // a VM that starts, or starts again
constexpr milliseconds kMessagePatience{1000};
constexpr int kMessagesPerTurn = 16;
constexpr std::size_t kPollsPerDoor = 3;
/// That a socket passes at once. With room for fewer the kernel would close the others on this thread.
constexpr std::size_t kFilesMax = 253;
const std::string kDisconnected = "disconnected the front-end: ";

bool would_wait() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

VhostGate::VhostGate()
    : wake_(std::make_shared<const FileHandle>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      thread_([this] { run(); }) {}

VhostGate::~VhostGate() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    eventfd_write(wake_->number(), 1);
    thread_.join();
    std::ranges::for_each(doors_, shut);
}

void VhostGate::add(const std::string& outside, bool listens, const std::string& inside, std::uint32_t queues,
                    FrontEndFault* fault) {
    Door door(wake_, inside, queues);
    door.outside = outside;
    door.listens = listens;
    door.fault = fault;
    door.alone_since = Clock::now();
    const std::scoped_lock lock(mutex_);
    doors_.push_back(std::move(door));
    ++version_;
    eventfd_write(wake_->number(), 1);
}

void VhostGate::listen(const std::string& outside, FileHandle listener) {
    const std::scoped_lock lock(mutex_);
    const auto door = std::ranges::find(doors_, outside, &Door::outside);
    if (door == doors_.end())
        return;
    door->next_listener = std::move(listener);
    eventfd_write(wake_->number(), 1);
}

void VhostGate::bar(const std::string& outside, const std::string& why, std::chrono::nanoseconds time) {
    const std::scoped_lock lock(mutex_);
    const auto door = std::ranges::find(doors_, outside, &Door::outside);
    if (door == doors_.end())
        return;
    door->barred = why;
    door->barred_until = Clock::now() + time;
    eventfd_write(wake_->number(), 1);
}

std::uint64_t VhostGate::memory_blocks(const std::string& outside) {
    const std::scoped_lock lock(mutex_);
    const auto door = std::ranges::find(doors_, outside, &Door::outside);
    std::uint64_t blocks = 0;
    struct stat file {};
    if (door != doors_.end())
        for (const FileHandle& memory : door->memory)
            blocks += fstat(memory.number(), &file) == 0 ? static_cast<std::uint64_t>(file.st_blocks) : 0;
    return blocks;
}

/// The gate's thread ends the door: while it polls a socket it may be the last to close it.
void VhostGate::remove(const std::string& outside) {
    std::unique_lock lock(mutex_);
    const auto door = std::ranges::find(doors_, outside, &Door::outside);
    if (door == doors_.end())
        return;
    door->leaves = true;
    eventfd_write(wake_->number(), 1);
    left_.wait(lock, [&] { return std::ranges::find(doors_, outside, &Door::outside) == doors_.end(); });
}

void VhostGate::run() {
    for (;;) {
        int timeout_ms = -1;
        std::vector<pollfd> states;
        std::uint64_t version = 0;
        {
            const std::scoped_lock lock(mutex_);
            if (stop_)
                return;
            end_leaving();
            end_barred();
            change_listeners();
            states = interests(timeout_ms);
            version = version_;
        }
        if (poll(states.data(), states.size(), timeout_ms) < 0)
            continue;
        eventfd_t ignored = 0;
        eventfd_read(wake_->number(), &ignored);
        const std::scoped_lock lock(mutex_);
        if (version != version_)
            continue;
        const pollfd* at = states.data() + 1;
        for (Door& door : doors_) {
            serve(door, at);
            at += kPollsPerDoor;
        }
    }
}

void VhostGate::end_leaving() {
    const std::size_t left = doors_.remove_if([](Door& door) {
        if (door.leaves)
            shut(door);
        return door.leaves;
    });
    if (left != 0)
        left_.notify_all();
}

void VhostGate::end_barred() {
    for (Door& door : doors_) {
        if (door.barred.empty())
            continue;
        disconnect(door);
        complain(door, kDisconnected + std::exchange(door.barred, {}));
    }
}

/// While this thread polls a socket it may be the last to close it.
void VhostGate::change_listeners() {
    for (Door& door : doors_) {
        if (!door.next_listener)
            continue;
        door.foreign.close_listener(std::move(door.listener));
        door.listener = std::move(door.next_listener);
    }
}

/// For each door its listener, guest and library, behind the wake-up; a closed one is -1, which poll() skips.
std::vector<pollfd> VhostGate::interests(int& timeout_ms) {
    std::vector<pollfd> wanted{{wake_->number(), POLLIN, 0}};
    const Clock::time_point now = Clock::now();
    const auto wait_until = [&](Clock::time_point when) {
        const auto left = std::chrono::ceil<milliseconds>(when - now).count();
        const int ms = static_cast<int>(std::clamp<long>(left, 0, 1000));
        timeout_ms = timeout_ms < 0 ? ms : std::min(timeout_ms, ms);
    };
    for (Door& door : doors_) {
        const Clock::time_point next =
            std::max(door.foreign.closed() ? door.not_before : now + kRetryGap, door.barred_until);
        const bool may_connect = now >= next;
        if (!may_connect || (!door.listens && !door.guest))
            wait_until(next);
        if (door.guest && door.message.received != 0 && !door.whole)
            wait_until(door.since + kMessagePatience);
        const bool may_read = !door.whole && door.pace.may_pass(now);
        if (door.guest && !door.whole && !may_read)
            wait_until(door.pace.next());
        wanted.push_back({may_connect ? door.listener.number() : -1, POLLIN, 0});
        wanted.push_back({door.guest.number(), static_cast<short>(may_read ? POLLIN : 0), 0});
        wanted.push_back(
            {door.library.number(), static_cast<short>(may_pass(door) ? POLLIN | POLLOUT : POLLIN), 0});
    }
    return wanted;
}

void VhostGate::serve(Door& door, const pollfd* states) {
    constexpr short kAny = POLLIN | POLLHUP | POLLERR;
    // A front-end that has gone makes room at once for its successor: its last bytes have no receiver.
    if (door.guest && (states[1].revents & POLLHUP) != 0)
        disconnect(door);
    if (door.library && (states[2].revents & kAny) != 0) {
        if (const std::string why = read_library(door); !why.empty()) {
            complain(door, kDisconnected + why);
            disconnect(door);
        }
    }
    if (door.guest && door.whole && (states[2].revents & POLLOUT) != 0 && !pass_on(door))
        disconnect(door);
    if (door.guest && (states[1].revents & kAny) != 0 && !read_guest(door))
        disconnect(door);
    if (door.guest && door.message.received != 0 && !door.whole &&
        Clock::now() - door.since > kMessagePatience) {
        complain(door, kDisconnected + "half a message");
        disconnect(door);
    }
    accept_or_connect(door, (states[0].revents & kAny) != 0);
}

void VhostGate::accept_or_connect(Door& door, bool ready) {
    const Clock::time_point now = Clock::now();
    if (now < door.barred_until)
        return;
    if (!door.foreign.closed()) {
        if (!door.guest && now - door.alone_since > kMessagePatience)
            complain(door, "no front-end is served until the files that the last one sent are closed");
        return;
    }
    if (door.listens && ready) {
        door.not_before = now + kConnectGap;
        FileHandle socket(accept4(door.listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket)
            door.not_before = now + kRetryGap;  // no descriptors: do not turn round and round
        else if (!door.library)
            admit(door, std::move(socket));
        else
            door.foreign.close_socket(std::move(socket));
    } else if (!door.listens && !door.guest && now >= door.not_before) {
        FileHandle socket = connect_to(door.outside);
        if (socket)
            admit(door, std::move(socket));
        door.not_before = now + (now - door.alone_since < kFirstRetries ? kFirstRetryGap : kRetryGap);
    }
}

/// A connection that has sent no message yet makes room for a newer one.
void VhostGate::admit(Door& door, FileHandle socket) {
    disconnect(door);
    door.guest = std::move(socket);
}

void VhostGate::disconnect(Door& door) {
    if (door.guest)
        door.alone_since = Clock::now();
    if (door.library && door.fault != nullptr)
        door.fault->end(Clock::now());
    door.foreign.close_socket(std::move(door.guest));
    door.library.reset();
    door.foreign.close_after_library(std::exchange(door.memory, {}));
    door.foreign.close_after_library(std::exchange(door.log, {}));
    for (FileHandle& file : door.message.files)
        door.foreign.close(std::move(file));
    door.message = {};
    door.reply = {};
    door.check = VhostMessageCheck(door.queues);
    door.whole = false;
}

void VhostGate::shut(Door& door) {
    disconnect(door);
    door.foreign.close_listener(std::move(door.listener));
    door.foreign.close_listener(std::move(door.next_listener));
}

/// The log names it (Topology::name_faults()), as often as that is bearable.
void VhostGate::complain(Door& door, const std::string& what) {
    if (door.fault != nullptr)
        door.fault->refuse(what);
}

/// @return false to end the connection
bool VhostGate::read_guest(Door& door) {
    for (int messages = 0; messages < kMessagesPerTurn && door.guest && !door.whole; ++messages) {
        const std::size_t before = door.message.received;
        if (!door.pace.may_pass(Clock::now()))
            return true;
        if (!receive(door))
            return false;
        if (door.message.received == before)
            return true;
        if (door.message.payload_bytes() > VhostMessage::kPayloadMax && before < VhostMessage::kHeaderBytes &&
            door.message.received >= VhostMessage::kHeaderBytes) {
            complain(door, kDisconnected + "a payload that is longer than any message's");
            return false;
        }
        if (door.message.received < VhostMessage::kHeaderBytes ||
            door.message.received < door.message.expected())
            continue;
        if (const std::string why = door.check.refusal(door.message); !why.empty()) {
            complain(door, kDisconnected + why);
            return false;
        }
        if (door.message.has_idle_file() && !door.message.files.empty())
            door.message.files.front() = FileHandle(open("/dev/null", O_RDWR | O_CLOEXEC));
        door.whole = true;
        door.pace.passed(Clock::now());
        if (!door.library) {
            door.library = connect_to(door.inside);
            if (door.library && door.fault != nullptr)
                door.fault->serve(Clock::now());
        }
        if (!door.library || !pass_on(door))
            return false;
    }
    return true;
}

/// Reads the bytes of the present message that have arrived. @return false when the guest has closed, or sent
/// more file descriptors than a message has
bool VhostGate::receive(Door& door) {
    VhostMessage& message = door.message;
    alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kFilesMax * sizeof(int))> control;
    iovec part{message.bytes.data() + message.received, message.expected() - message.received};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    const ssize_t got = recvmsg(door.guest.number(), &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return got < 0 && would_wait();
    for (cmsghdr* at = CMSG_FIRSTHDR(&head); at != nullptr; at = CMSG_NXTHDR(&head, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        std::array<int, kFilesMax> numbers{};
        const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(numbers.data(), CMSG_DATA(at), count * sizeof(int));
        for (std::size_t i = 0; i < count; ++i)
            message.files.emplace_back(numbers[i]);
    }
    if (message.received == 0)
        door.since = Clock::now();
    message.received += static_cast<std::size_t>(got);
    if ((head.msg_flags & MSG_CTRUNC) == 0 && message.files.size() <= VhostMessage::kRegionsMax)
        return true;
    complain(door, kDisconnected + "too many file descriptors");
    return false;
}

/// Where the memory is kept that the library maps for the present message; nullptr: it maps none.
std::vector<FileHandle>* VhostGate::mapped_by(Door& door) {
    switch (door.message.request()) {
        case vhost_request::kSetMemTable:
            return &door.memory;
        case vhost_request::kSetLogBase:
            return &door.log;
        default:
            return nullptr;
    }
}

/// Memory is replaced when that before is closed, so that a front-end that sends table after table holds two.
bool VhostGate::may_pass(Door& door) {
    return door.whole && (mapped_by(door) == nullptr || door.foreign.closed());
}

/// Sends the whole message to the library, which reads it in one piece. @return false to end the connection
bool VhostGate::pass_on(Door& door) {
    if (!may_pass(door))
        return true;
    VhostMessage& message = door.message;
    alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(VhostMessage::kRegionsMax * sizeof(int))> control{};
    iovec part{message.bytes.data(), message.received};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    if (!message.files.empty()) {
        std::array<int, VhostMessage::kRegionsMax> numbers{};
        std::ranges::transform(message.files, numbers.begin(), &FileHandle::number);
        const std::size_t bytes = message.files.size() * sizeof(int);
        head.msg_control = control.data();
        head.msg_controllen = CMSG_SPACE(bytes);
        cmsghdr* rights = CMSG_FIRSTHDR(&head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(rights), numbers.data(), bytes);
    }
    const ssize_t sent = sendmsg(door.library.number(), &head, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && would_wait())
        return true;
    if (sent != static_cast<ssize_t>(message.received))
        return false;
    if (std::vector<FileHandle>* const mapped = mapped_by(door)) {
        door.foreign.close_after_library(std::move(*mapped));
        *mapped = std::move(message.files);
    }
    message = {};
    door.whole = false;
    return true;
}

/// Passes a reply on when it is complete. @return why the connection has to end; empty: it goes on
std::string VhostGate::read_library(Door& door) {
    VhostMessage& reply = door.reply;
    const ssize_t got = recv(door.library.number(), reply.bytes.data() + reply.received,
                             reply.expected() - reply.received, MSG_DONTWAIT);
    if (got < 0 && would_wait())
        return "";
    if (got <= 0)
        return "a message that the vhost library refuses";
    reply.received += static_cast<std::size_t>(got);
    if (reply.received < VhostMessage::kHeaderBytes)
        return "";
    if (reply.payload_bytes() > VhostMessage::kPayloadMax)
        return "a reply that is longer than any message's";
    if (reply.received < reply.expected())
        return "";
    door.check.note_reply(reply);
    const ssize_t passed =
        send(door.guest.number(), reply.bytes.data(), reply.received, MSG_DONTWAIT | MSG_NOSIGNAL);
    const bool gone = passed < 0 && !would_wait();  // its POLLHUP follows
    const bool all = passed == static_cast<ssize_t>(reply.received);
    reply = {};
    return all || gone ? "" : "replies that it does not read";
}

}  // namespace weir
