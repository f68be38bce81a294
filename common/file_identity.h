// file_identity.h - whether the file at a path is still the one that this process made there.
// Source: flock(2), lstat(2). Threads: any.
//
// Another process may remove the file, or its folder, and make another one of the same name. While this
// process has the first one open, the kernel gives its inode number to no other.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace weir {

struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

/// Of the file at `path`, of a symbolic link itself; nothing: there is none, or none that can be reached.
inline std::optional<FileIdentity> identity_at(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0)
        return std::nullopt;
    return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace weir
