// foreign_files.cc - questions that only the kernel answers, and the thread that may wait.
#include "vswitch/ports/foreign_files.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

struct ForeignFiles::Waiting {
    std::shared_ptr<const FileHandle> wake;
    std::mutex mutex;  // of the following two
    std::vector<FileHandle> files;
    bool running = false;  // a thread closes them
};

ForeignFiles::ForeignFiles(std::shared_ptr<const FileHandle> wake) : waiting_(std::make_shared<Waiting>()) {
    waiting_->wake = std::move(wake);
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
        {
            const std::scoped_lock lock(waiting->mutex);
            if (waiting->files.empty()) {
                waiting->running = false;
                break;
            }
            files.swap(waiting->files);
        }
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
    if (!waiting_->files.empty() && !waiting_->running)
        start(waiting_);
    return waiting_->files.empty() && !waiting_->running;
}

}  // namespace weir
