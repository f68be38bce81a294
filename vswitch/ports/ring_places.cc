// ring_places.cc - the file, its mapping, and the memory in place of it.
#include "vswitch/ports/ring_places.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "vswitch/ports/foreign_files.h"

namespace weir {

bool RingPlaces::map(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    mkdir(folder.c_str(), 0700);  // open() reports the fault
    struct stat owner {};
    if (lstat(folder.c_str(), &owner) == 0 && (owner.st_uid != geteuid() || (owner.st_mode & 022) != 0)) {
        errno = EPERM;
        return false;
    }
    const FileHandle file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct statfs system {};
    if (file.number() < 0 || fstatfs(file.number(), &system) != 0)
        return false;
    if (system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC) {
        unlink(path.c_str());
        rmdir(folder.c_str());
        errno = EMEDIUMTYPE;
        return false;
    }
    // The worker's writes must find their pages: the file has them all, and they stay.
    if (const int error = posix_fallocate(file.number(), 0, static_cast<off_t>(bytes_)); error != 0) {
        errno = error;
        return false;
    }
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.number(), 0);
    if (at == MAP_FAILED)
        return false;
    mlock(at, bytes_);
    head_ = static_cast<Head*>(at);
    return true;
}

RingPlaces::RingPlaces(const std::string& path, std::size_t rings)
    : bytes_(sizeof(Head) + rings * sizeof(virtio::PackedPlace)) {
    if (!path.empty() && !map(path))
        fault_ = errno == EMEDIUMTYPE ? path + " is on a disk; put control_socket into a tmpfs such as /run"
                                      : path + " cannot be used (" + std::strerror(errno) +
                                            "); see that its folder is writable";
    if (head_ == nullptr) {
        void* at =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (at == MAP_FAILED)
            throw std::bad_alloc();
        head_ = static_cast<Head*>(at);
    }
    if (head_->magic != kMagic || head_->place_bytes != sizeof(virtio::PackedPlace)) {
        std::memset(static_cast<void*>(head_), 0, bytes_);
        *head_ = {kMagic, sizeof(virtio::PackedPlace)};
    }
}

RingPlaces::~RingPlaces() {
    munmap(head_, bytes_);
}

std::string ring_places_file(const std::string& control_socket, const std::string& vnic) {
    return control_socket + ".rings/" + vnic;
}

}  // namespace weir
