// memory_fault.cc - the signal handler. It calls nothing but system calls.
#include "vswitch/ports/memory_fault.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

namespace weir {
namespace {

std::atomic<std::uint64_t> faults{0};

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool readable = false;
    bool shared = false;  ///< and writable, as all guests' memory and DPDK's is
};

/// What is mapped at an address and around it.
struct Surroundings {
    Mapping last;                       ///< the last mapping that begins there or before
    Mapping shared;                     ///< the last shared one of these
    std::uintptr_t next = UINTPTR_MAX;  ///< where the first mapping behind begins
};

/// Reads lines of /proc/self/maps, `begin-end rwxs ...`, character by character.
class MapsReader {
  public:
    MapsReader() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
    ~MapsReader() { close(file_); }
    MapsReader(const MapsReader&) = delete;
    MapsReader& operator=(const MapsReader&) = delete;

    Surroundings find(std::uintptr_t address) {
        Surroundings found;
        for (;;) {
            Mapping mapping;
            mapping.begin = number();
            mapping.end = number();
            mapping.readable = next() == 'r';
            const bool writable = next() == 'w';
            mapping.shared = (next(), next()) == 's' && writable;
            if (at_ == 0)
                return found;
            if (mapping.begin > address) {
                found.next = mapping.begin;
                return found;
            }
            found.last = mapping;
            if (mapping.shared)
                found.shared = mapping;
            int character = next();
            while (character > 0 && character != '\n')
                character = next();
        }
    }

  private:
    /// 0 at the end.
    int next() {
        if (at_ == filled_) {
            const ssize_t got = read(file_, buffer_, sizeof(buffer_));
            filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
            at_ = 0;
            if (filled_ == 0)
                return 0;
        }
        return buffer_[at_++];
    }
    /// Hexadecimal, with the character behind it.
    std::uintptr_t number() {
        std::uintptr_t value = 0;
        for (int character = next(); character > ' ' && character != '-'; character = next())
            value =
                value << 4 | static_cast<unsigned>(character <= '9' ? character - '0' : character - 'a' + 10);
        return value;
    }

    int file_;
    char buffer_[1024];
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
};

/// Replaces the mapping that holds `address` from its page on. Pages of hugetlbfs cannot be replaced in part.
bool replace(const Mapping& mapping, std::uintptr_t address) {
    constexpr std::uintptr_t kPages[] = {4096, 2U << 20, 1U << 30};
    if (!mapping.shared || address >= mapping.end)
        return false;
    for (const std::uintptr_t page : kPages) {
        const std::uintptr_t begin = address & ~(page - 1);
        if (begin < mapping.begin)
            return false;
        if (mmap(reinterpret_cast<void*>(begin), mapping.end - begin, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED)
            return true;
    }
    return false;
}

/// Makes zeros readable at `address` when a table of descriptors that begins in shared memory may reach it:
/// where nothing is mapped, and where DPDK keeps addresses for its heap to grow into.
bool extend(const Surroundings& around, std::uintptr_t address) {
    constexpr std::uintptr_t kTableBytesMax = 32'768 * 16;
    if (around.shared.end == 0 || address < around.shared.end ||
        address - around.shared.end >= kTableBytesMax)
        return false;
    const std::uintptr_t reach = around.shared.end + kTableBytesMax;
    if (address < around.last.end) {
        auto* const page = reinterpret_cast<void*>(address & ~std::uintptr_t{4095});
        return !around.last.readable && mprotect(page, 4096, PROT_READ) == 0;
    }
    return mmap(reinterpret_cast<void*>(around.last.end), std::min(reach, around.next) - around.last.end,
                PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

struct sigaction bus_before {};
struct sigaction segv_before {};

void on_fault(int signal, siginfo_t* info, void*) {
    const int saved_errno = errno;
    bool survived = false;
    if (signal == SIGBUS ? info->si_code == BUS_ADRERR
                         : info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR) {
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        const Surroundings around = MapsReader().find(address);
        survived = signal == SIGBUS ? replace(around.last, address) : extend(around, address);
    }
    if (survived)
        faults.fetch_add(1, std::memory_order_relaxed);
    else  // the access is repeated, and goes to what handled it before
        sigaction(signal, signal == SIGBUS ? &bus_before : &segv_before, nullptr);
    errno = saved_errno;
}

}  // namespace

void survive_memory_faults() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    struct sigaction before {};
    for (const auto& [signal, keep] : {std::pair{SIGBUS, &bus_before}, std::pair{SIGSEGV, &segv_before}}) {
        sigaction(signal, &action, &before);
        if (before.sa_sigaction != on_fault)
            *keep = before;
    }
}

std::uint64_t memory_faults() {
    return faults.load(std::memory_order_relaxed);
}

}  // namespace weir
