// wakeups.cc - the epoll set and the eventfd of a worker.
#include "vswitch/ports/wakeups.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "common/error.h"

namespace weir {

Wakeups::Wakeups() : epoll_(epoll_create1(EPOLL_CLOEXEC)), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (epoll_ < 0 || bell_ < 0 || !add(bell_))
        throw HostError(std::string("cannot make the files by which a worker is woken (epoll, eventfd: ") +
                        std::strerror(errno) + "); allow the process more of them: ulimit -n");
}

Wakeups::~Wakeups() {
    close(bell_);
    close(epoll_);
}

bool Wakeups::add(int file) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(epoll_, EPOLL_CTL_MOD, file, &event) == 0);
}

void Wakeups::remove(int file) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, file, nullptr);
}

/// One write is enough for several calls.
void Wakeups::signal() {
    if (lies_down_.exchange(false, std::memory_order_relaxed))
        eventfd_write(bell_, 1);
}

bool Wakeups::sleep(Nanos most) {
    std::array<epoll_event, 16> events;
    const timespec patience{.tv_sec = static_cast<time_t>(most / kNanosPerSec),
                            .tv_nsec = static_cast<long>(most % kNanosPerSec)};
    int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &patience, nullptr);
    if (count < 0 && errno == ENOSYS) {  // Linux before 5.11, and valgrind
        pollfd any{epoll_, POLLIN, 0};
        ppoll(&any, 1, &patience, nullptr);
        count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    }
    return count > 0;
}

}  // namespace weir
