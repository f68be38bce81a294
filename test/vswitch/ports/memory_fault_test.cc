// memory_fault_test.cc - reads behind a guest's memory give zeros; any other fault ends the process.
#include "vswitch/ports/memory_fault.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHoleBytes = 1 << 20;

/// A page of a guest's memory, and nothing mapped for 1 MiB behind it.
class MemoryBeforeHole {
  public:
    MemoryBeforeHole() : file_(memfd_create("guest", 0)) {
        REQUIRE(ftruncate(file_, kPageBytes) == 0);
        void* room = mmap(nullptr, kPageBytes + kHoleBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(room != MAP_FAILED);
        begin_ = static_cast<std::uint8_t*>(
            mmap(room, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0));
        REQUIRE(munmap(begin_ + kPageBytes, kHoleBytes) == 0);
    }
    ~MemoryBeforeHole() {
        munmap(begin_, kPageBytes + kHoleBytes);
        close(file_);
    }
    [[nodiscard]] volatile std::uint8_t* behind(std::size_t bytes) const {
        return begin_ + kPageBytes + bytes;
    }

  private:
    int file_;
    std::uint8_t* begin_ = nullptr;
};

/// The signal that ends a child process that runs `access`; 0: none does.
template <class Access>
int signal_of(Access access) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL);  // not the handler of the test framework or the sanitizer
        survive_memory_faults();
        access();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("a table that ends behind a guest's memory reads as zeros, up to 512 KiB behind it") {
    const MemoryBeforeHole memory;
    CHECK(signal_of([&] {
              const std::uint64_t before = memory_faults();
              if (*memory.behind(0) != 0 || *memory.behind((512 << 10) - 1) != 0 ||
                  memory_faults() != before + 1)
                  std::abort();
          }) == 0);
    CHECK(signal_of([&] { (void)*memory.behind(512 << 10); }) == SIGSEGV);
}

TEST_CASE("addresses that DPDK keeps for its heap read as zeros, too") {
    const MemoryBeforeHole memory;
    void* kept = const_cast<std::uint8_t*>(memory.behind(0));
    REQUIRE(mmap(kept, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == kept);
    CHECK(signal_of([&] {
              if (*memory.behind(1) != 0 || *memory.behind(kPageBytes) != 0 || memory_faults() != 2)
                  std::abort();
          }) == 0);
    CHECK(signal_of([&] { *memory.behind(1) = 1; }) == SIGSEGV);
}

TEST_CASE("a write behind memory, or a read far from it, ends the process as before") {
    const MemoryBeforeHole memory;
    CHECK(signal_of([&] { *memory.behind(0) = 1; }) == SIGSEGV);
    CHECK(signal_of([] { (void)*reinterpret_cast<volatile std::uint8_t*>(8); }) == SIGSEGV);
}
