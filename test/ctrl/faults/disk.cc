// disk.cc - an SQLite file system whose files pass each call on, except for those that fail.
#include "test/ctrl/faults/disk.h"

#include <sqlite3.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

namespace weir::faults {
namespace {

std::atomic<DiskFault> disk_fault{DiskFault::kSound};
std::atomic<std::uint64_t> writes_refused{0};

/// Our file; the system's file follows it in the same memory.
struct DiskFile {
    sqlite3_file base;
};

sqlite3_vfs* behind() {
    static sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
    return found;
}

sqlite3_file* real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<DiskFile*>(file) + 1);
}

int refused(int otherwise_broken) {
    switch (disk_fault.load(std::memory_order_relaxed)) {
        case DiskFault::kFull:
            ++writes_refused;
            return SQLITE_FULL;
        case DiskFault::kBroken:
            ++writes_refused;
            return otherwise_broken;
        case DiskFault::kSound:
            break;
    }
    return SQLITE_OK;
}

int disk_close(sqlite3_file* file) {
    return real(file)->pMethods->xClose(real(file));
}
int disk_read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
    return real(file)->pMethods->xRead(real(file), to, bytes, at);
}
int disk_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    const int fault = refused(SQLITE_IOERR_WRITE);
    return fault != SQLITE_OK ? fault : real(file)->pMethods->xWrite(real(file), from, bytes, at);
}
int disk_truncate(sqlite3_file* file, sqlite3_int64 size) {
    return real(file)->pMethods->xTruncate(real(file), size);
}
int disk_sync(sqlite3_file* file, int flags) {
    if (disk_fault == DiskFault::kBroken)
        return refused(SQLITE_IOERR_FSYNC);
    return real(file)->pMethods->xSync(real(file), flags);
}
int disk_size(sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}
int disk_lock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
int disk_unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
int disk_reserved(sqlite3_file* file, int* is_reserved) {
    return real(file)->pMethods->xCheckReservedLock(real(file), is_reserved);
}
int disk_control(sqlite3_file* file, int operation, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
int disk_sector(sqlite3_file* file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
int disk_character(sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int disk_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int disk_shared_lock(sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void disk_barrier(sqlite3_file* file) {
    real(file)->pMethods->xShmBarrier(real(file));
}
int disk_unmap(sqlite3_file* file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

/// Version 2: with shared memory, for databases in WAL that several connections read; without xFetch.
constexpr sqlite3_io_methods kMethods{2,
                                      disk_close,
                                      disk_read,
                                      disk_write,
                                      disk_truncate,
                                      disk_sync,
                                      disk_size,
                                      disk_lock,
                                      disk_unlock,
                                      disk_reserved,
                                      disk_control,
                                      disk_sector,
                                      disk_character,
                                      disk_map,
                                      disk_shared_lock,
                                      disk_barrier,
                                      disk_unmap,
                                      nullptr,
                                      nullptr};

int disk_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    file->pMethods = nullptr;
    const int result = behind()->xOpen(behind(), name, real(file), flags, out_flags);
    if (result == SQLITE_OK)
        file->pMethods = &kMethods;
    return result;
}

}  // namespace

void install_disk() {
    static sqlite3_vfs disk = [] {
        sqlite3_vfs copy = *behind();  // all but files is the system's; it ignores the first argument
        copy.zName = "weir-disk";
        copy.szOsFile = behind()->szOsFile + static_cast<int>(sizeof(DiskFile));
        copy.xOpen = disk_open;
        copy.pNext = nullptr;
        return copy;
    }();
    static const int registered = sqlite3_vfs_register(&disk, 1);
    if (registered != SQLITE_OK)
        throw std::logic_error("SQLite takes no other file system");
}

void set_disk_fault(DiskFault fault) {
    disk_fault = fault;
}

std::uint64_t refused_writes() {
    return writes_refused;
}

DiskFolder::DiskFolder() {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path folder =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = (folder / "weir-seeds-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr)
        throw std::runtime_error("no folder can be made in " + folder.string());
}

DiskFolder::~DiskFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace weir::faults
