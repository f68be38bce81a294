// unix_socket.cc - addresses and errors of sockets in the file system.
#include "vswitch/ports/unix_socket.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr int kBacklog = 16;

bool set_path(sockaddr_un& address, const std::string& path) {
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return true;
}

/// Closing the file must not hide why the call failed.
FileHandle closed(FileHandle file) {
    const int error = errno;
    file.reset();
    errno = error;
    return file;
}

}  // namespace

FileHandle connect_to(const std::string& path) {
    sockaddr_un address{};
    if (!set_path(address, path))
        return FileHandle();
    FileHandle file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!file || connect(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        return closed(std::move(file));
    return file;
}

namespace {

/// @return false: errno has the reason
bool set_rights(const std::string& path, const SocketRights& rights) {
    constexpr std::size_t kGroupBytes = 16'384;
    if (!rights.group.empty()) {
        struct group entry {};
        struct group* found = nullptr;
        std::vector<char> buffer(kGroupBytes);
        getgrnam_r(rights.group.c_str(), &entry, buffer.data(), buffer.size(), &found);
        if (found == nullptr) {
            errno = ENOKEY;
            return false;
        }
        if (lchown(path.c_str(), static_cast<uid_t>(-1), found->gr_gid) != 0)
            return false;
    }
    return !rights.mode || chmod(path.c_str(), *rights.mode) == 0;
}

}  // namespace

FileHandle listen_at(const std::string& path, const SocketRights& rights) {
    sockaddr_un address{};
    if (!set_path(address, path))
        return FileHandle();
    FileHandle file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!file || bind(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        return closed(std::move(file));
    if (!set_rights(path, rights) || listen(file.number(), kBacklog) != 0) {
        const int why = errno;
        unlink(path.c_str());
        errno = why;
        return closed(std::move(file));
    }
    return file;
}

SocketUser user_of(const std::string& path) {
    sockaddr_un address{};
    if (!set_path(address, path))
        return SocketUser::kUnknown;
    const FileHandle file(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!file)
        return SocketUser::kUnknown;
    if (connect(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
        errno == EPROTOTYPE)
        return SocketUser::kSome;
    return errno == ECONNREFUSED ? SocketUser::kNone : SocketUser::kUnknown;
}

}  // namespace weir
