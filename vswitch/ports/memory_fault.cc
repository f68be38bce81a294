// memory_fault.cc - the signal handler. It calls nothing but system calls.
#include "vswitch/ports/memory_fault.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace weir {
namespace {

std::atomic<std::uint64_t> survived_faults{0};

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool shared = false;  ///< and writable, as all guests' memory and DPDK's is
};

/// Reads lines of /proc/self/maps, `begin-end rwxs ...`, character by character.
class MapsReader {
  public:
    MapsReader() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
    ~MapsReader() { close(file_); }
    MapsReader(const MapsReader&) = delete;
    MapsReader& operator=(const MapsReader&) = delete;

    /// The mapping that holds an address; an empty one when none does.
    Mapping find(std::uintptr_t address) {
        for (;;) {
            Mapping mapping;
            mapping.begin = number();
            mapping.end = number();
            (void)next();
            const bool writable = next() == 'w';
            mapping.shared = (next(), next()) == 's' && writable;
            if (at_ == 0 || mapping.begin > address)
                return {};
            if (address < mapping.end)
                return mapping;
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

struct sigaction handled_before {};

void on_fault(int signal, siginfo_t* info, void*) {
    const int saved_errno = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (info->si_code == BUS_ADRERR && replace(MapsReader().find(address), address))
        survived_faults.fetch_add(1, std::memory_order_relaxed);
    else  // the access is repeated, and its fault goes to the handler before this one
        sigaction(signal, &handled_before, nullptr);
    errno = saved_errno;
}

}  // namespace

void survive_memory_faults() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    struct sigaction found {};
    sigaction(SIGBUS, &action, &found);
    if (found.sa_sigaction != on_fault)
        handled_before = found;
}

std::uint64_t memory_faults() {
    return survived_faults.load(std::memory_order_relaxed);
}

}  // namespace weir
