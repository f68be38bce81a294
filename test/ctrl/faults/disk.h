// disk.h - a disk that is full or fails when a test says so, below all SQLite databases of the process.
// Threads: the failure may be set from any; SQLite's own rules hold for the rest.
//
// It is SQLite's default file system with the system's one behind it, so that no store knows of it.
#pragma once

#include <cstdint>
#include <string>

namespace weir::faults {

enum class DiskFault : std::uint8_t {
    kSound,
    kFull,    ///< every write and every growth of a file: SQLITE_FULL
    kBroken,  ///< every write and every sync: SQLITE_IOERR
};

/// Makes it the file system of all databases that are opened from now on. May be called again.
void install_disk();
void set_disk_fault(DiskFault fault);
/// Writes that failed since the start.
[[nodiscard]] std::uint64_t refused_writes();

/// A folder in memory that is removed with all its files.
class DiskFolder {
  public:
    DiskFolder();
    ~DiskFolder();
    DiskFolder(const DiskFolder&) = delete;
    DiskFolder& operator=(const DiskFolder&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};

}  // namespace weir::faults
