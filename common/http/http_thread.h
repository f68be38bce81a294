// http_thread.h - how the thread of an HTTP server begins: it takes no signals, and gives way to others.
// Threads: the server's own.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace weir {

inline void begin_http_thread() {
    // The agent or the controller's loop may share its core.
    constexpr int kNice = 10;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // they are the main thread's
    (void)setpriority(PRIO_PROCESS, 0, kNice);  // in Linux of this thread alone
}

}  // namespace weir
