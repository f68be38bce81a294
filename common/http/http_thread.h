// http_thread.h - how the thread of an HTTP server begins: it takes no signals, and gives way to others.
// Threads: the server's own.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace weir {

/// @param steps of niceness below the program's other threads: the agent or the controller's loop may share
/// its core
inline void begin_http_thread(int steps) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // they are the main thread's
    const int others = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, others + steps);  // in Linux of this thread alone
}

}  // namespace weir
