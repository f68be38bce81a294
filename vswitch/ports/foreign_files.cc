// foreign_files.cc - questions that only the kernel answers, and the thread that may wait.
#include "vswitch/ports/foreign_files.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "vswitch/ports/vhost_request.h"

namespace weir {

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

void FileHandle::reset() {
    if (number_ >= 0)
        ::close(std::exchange(number_, -1));
}

bool is_eventfd(const FileHandle& file) {
    std::array<char, 64> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(file.number());
    return readlink(link.c_str(), target.data(), target.size() - 1) > 0 &&
           std::string_view(target.data()) == "anon_inode:[eventfd]";
}

/// Only tmpfs, of which a memfd is a file, and hugetlbfs have seals. fstatfs() and fstat() ask the file
/// system.
bool is_memory(const FileHandle& file) {
    return fcntl(file.number(), F_GET_SEALS) >= 0;
}

std::uint64_t memory_bytes(const FileHandle& file) {
    struct stat status {};
    return is_memory(file) && fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode)
               ? static_cast<std::uint64_t>(status.st_size)
               : 0;
}

namespace {

/// Sends a request that changes nothing, and waits for its answer, or for the end of the connection.
void ask_library(const sockaddr_un& address) {
    constexpr timeval kPatience{10, 0};
    constexpr std::uint32_t kGetFeatures[] = {vhost_request::kGetFeatures, 1, 0};
    const FileHandle socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
    setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    std::array<std::uint8_t, 32> answer;
    if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        send(socket.number(), kGetFeatures, sizeof(kGetFeatures), MSG_NOSIGNAL) > 0)
        (void)!recv(socket.number(), answer.data(), answer.size(), 0);
}

/// Returns when the library has handled the messages that were sent to it before. It serves all its sockets
/// on one thread, in rounds: an answer may come within the round in which the earlier is still to be done,
/// but a second one comes in a later round.
void wait_for_library(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ask_library(address);
    ask_library(address);
}

}  // namespace

struct ForeignFiles::Waiting {
    std::shared_ptr<const FileHandle> wake;
    std::string library;
    std::mutex mutex;  // of the following three
    std::vector<FileHandle> files;
    std::vector<FileHandle> memory;
    bool running = false;  // a thread closes them
};

ForeignFiles::ForeignFiles(std::shared_ptr<const FileHandle> wake, std::string library)
    : waiting_(std::make_shared<Waiting>()) {
    waiting_->wake = std::move(wake);
    waiting_->library = std::move(library);
}

/// Called with the mutex held. Without a thread the files stay open, and closed() tries again.
void ForeignFiles::start(const std::shared_ptr<Waiting>& waiting) {
    try {
        std::thread(close_all, waiting).detach();
        waiting->running = true;
    } catch (const std::system_error&) {
    }
}

void ForeignFiles::close_all(const std::shared_ptr<Waiting>& waiting) {
    for (;;) {
        std::vector<FileHandle> files;
        std::vector<FileHandle> memory;
        {
            const std::scoped_lock lock(waiting->mutex);
            if (waiting->files.empty() && waiting->memory.empty()) {
                waiting->running = false;
                break;
            }
            files.swap(waiting->files);
            memory.swap(waiting->memory);
        }
        if (!memory.empty())
            wait_for_library(waiting->library);
        memory.clear();
        constexpr linger kOff{0, 0};
        for (FileHandle& file : files) {
            setsockopt(file.number(), SOL_SOCKET, SO_LINGER, &kOff, sizeof(kOff));
            file.reset();
        }
    }
    eventfd_write(waiting->wake->number(), 1);
}

void ForeignFiles::close_apart(FileHandle file) {
    const std::scoped_lock lock(waiting_->mutex);
    waiting_->files.push_back(std::move(file));
    if (!waiting_->running)
        start(waiting_);
}

void ForeignFiles::close_after_library(std::vector<FileHandle> memory) {
    if (memory.empty())
        return;
    const std::scoped_lock lock(waiting_->mutex);
    std::ranges::move(memory, std::back_inserter(waiting_->memory));
    if (!waiting_->running)
        start(waiting_);
}

void ForeignFiles::close(FileHandle file) {
    if (file && !is_eventfd(file))
        close_apart(std::move(file));
}

/// After the shutdown no message can join those that are unread, so that a socket without any stays so. Its
/// reset is reported behind the last message.
void ForeignFiles::close_socket(FileHandle socket) {
    if (!socket)
        return;
    shutdown(socket.number(), SHUT_RDWR);
    std::uint8_t first = 0;
    const ssize_t unread = recv(socket.number(), &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
    if (unread != 0 && !(unread < 0 && errno == ECONNRESET))
        close_apart(std::move(socket));
}

void ForeignFiles::close_listener(FileHandle listener) {
    if (!listener)
        return;
    shutdown(listener.number(), SHUT_RDWR);
    while (FileHandle socket{accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)})
        close_socket(std::move(socket));
    if (errno != EINVAL && errno != EAGAIN)
        close_apart(std::move(listener));  // no descriptors: connections are left
}

bool ForeignFiles::closed() {
    const std::scoped_lock lock(waiting_->mutex);
    const bool left = !waiting_->files.empty() || !waiting_->memory.empty();
    if (left && !waiting_->running)
        start(waiting_);
    return !left && !waiting_->running;
}

}  // namespace weir
