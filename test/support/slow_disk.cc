// slow_disk.cc - preloaded into a program: its fsync() hangs while the file $WEIR_SLOW_DISK is there.
// Source: ld.so(8). Threads: any.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void hang() {
    constexpr useconds_t kLook = 2'000;
    const char* const file = std::getenv("WEIR_SLOW_DISK");
    while (file != nullptr && access(file, F_OK) == 0)
        usleep(kLook);
}

}  // namespace

extern "C" {

int fsync(int file) {
    hang();
    return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
    hang();
    return static_cast<int>(syscall(SYS_fdatasync, file));
}
}
