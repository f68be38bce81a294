// memory_fault_test.cc - a guest's memory that becomes shorter reads as zeros; any other fault ends the
// process.
#include "vswitch/ports/memory_fault.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 4;

/// Pages of a file, mapped.
class MappedFile {
  public:
    explicit MappedFile(int flags) : file_(memfd_create("guest", 0)) {
        REQUIRE(ftruncate(file_, kPages * kPageBytes) == 0);
        void* at = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, flags, file_, 0);
        REQUIRE(at != MAP_FAILED);
        begin_ = static_cast<std::uint8_t*>(at);
    }
    ~MappedFile() {
        munmap(begin_, kPages * kPageBytes);
        close(file_);
    }
    void truncate(std::size_t pages) const {
        if (ftruncate(file_, static_cast<off_t>(pages * kPageBytes)) != 0)
            std::abort();
    }
    [[nodiscard]] volatile std::uint8_t& page(std::size_t number) const {
        return begin_[number * kPageBytes];
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
        for (const int signal : {SIGBUS, SIGSEGV})
            std::signal(signal, SIG_DFL);  // not the handler of the test framework or the sanitizer
        survive_memory_faults();
        access();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE(
    "a file that was truncated reads as zeros behind its end, for one signal, and keeps what is before") {
    const MappedFile memory(MAP_SHARED);
    CHECK(signal_of([&] {
              for (std::size_t i = 0; i < kPages; ++i)
                  memory.page(i) = 7;
              memory.truncate(1);
              if (memory.page(2) != 0 || memory.page(3) != 0 || memory.page(0) != 7 || memory_faults() != 1)
                  std::abort();
              memory.page(2) = 5;
              if (memory.page(2) != 5 || memory_faults() != 1)
                  std::abort();
          }) == 0);
}

TEST_CASE("a private mapping that was truncated, and an address that is none, end the process as before") {
    const MappedFile memory(MAP_PRIVATE);
    CHECK(signal_of([&] {
              memory.truncate(1);
              memory.page(2) = 1;
          }) == SIGBUS);
    CHECK(signal_of([] { *reinterpret_cast<volatile std::uint8_t*>(8) = 1; }) == SIGSEGV);
}
