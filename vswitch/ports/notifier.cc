// notifier.cc - the system calls of asynchronous operations, and the ring of their completions.
#include "vswitch/ports/notifier.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/error.h"

namespace weir {

/// The begin of the kernel's mapping at the context's address (fs/aio.c). Its layout is part of the system's
/// interface since Linux 2.6, and `magic` says so.
struct Notifier::Completions {
    static constexpr std::uint32_t kMagic = 0xA10A'10A1;

    std::uint32_t id;
    std::uint32_t entries;
    std::uint32_t head;  ///< written by the reader
    std::uint32_t tail;  ///< written by the kernel
    std::uint32_t magic;

    /// Drops all completions, whose results are of no interest, and so makes room for the next submissions.
    void discard() { __atomic_store_n(&head, __atomic_load_n(&tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE); }
};

namespace {

constexpr unsigned kOperationsMost = 8;  // one is under way at a time

}  // namespace

Notifier::Notifier() : nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    if (nothing_ < 0 || syscall(SYS_io_setup, kOperationsMost, &context_) != 0)
        throw HostError(
            std::string("cannot make a context for asynchronous operations (/dev/null, io_setup: ") +
            std::strerror(errno) +
            "), by which guests are interrupted; more of them: sysctl -w fs.aio-max-nr=1048576");
    completions_ = reinterpret_cast<Completions*>(context_);
    if (completions_->magic != Completions::kMagic)
        throw HostError(
            "this kernel's ring of completions (io_setup) has an unknown layout; another kernel is needed");
}

Notifier::~Notifier() {
    syscall(SYS_io_destroy, context_);
    close(nothing_);
}

void Notifier::notify(int file) {
    iocb operation{};
    operation.aio_fildes = static_cast<std::uint32_t>(nothing_);
    operation.aio_lio_opcode = IOCB_CMD_PREAD;
    operation.aio_flags = IOCB_FLAG_RESFD;
    operation.aio_resfd = static_cast<std::uint32_t>(file);
    iocb* list = &operation;
    completions_->discard();
    syscall(SYS_io_submit, context_, 1, &list);
}

}  // namespace weir
