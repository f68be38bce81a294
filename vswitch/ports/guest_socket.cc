// guest_socket.cc - the obstacles to a socket at its path, checked one after the other.
#include "vswitch/ports/guest_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "vswitch/ports/unix_socket.h"

namespace weir {
namespace {

std::string uid() {
    return std::to_string(geteuid());
}

/// Why nothing can be made in a folder; errno is that of access().
std::string unwritable(const std::string& folder) {
    if (errno == EROFS)
        return "the folder " + folder +
               " is read-only; mount it writable (mount -o remount,rw), or add ReadWritePaths=" + folder +
               " to the systemd unit";
    if (errno == EACCES)
        return "the folder " + folder + " is not writable for uid " + uid() + "; mend it: chown " + uid() +
               ' ' + folder + " && chmod u+rwx " + folder;
    return "the folder " + folder + " cannot be written (" + std::strerror(errno) + ')';
}

}  // namespace

/// For a connection the folder need only be there: connect() writes nothing, also where all is read-only.
std::string GuestSocket::folder_fault() const {
    const std::string folder = std::filesystem::path(path_).parent_path();
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0)
        return errno == ENOENT ? "the folder " + folder + " is missing; make it: mkdir -p " + folder
                               : "the folder " + folder + " cannot be reached (" + std::strerror(errno) + ')';
    if (!S_ISDIR(status.st_mode))
        return folder + " is not a folder; the socket " + path_ + " needs one there";
    if (listens_ && access(folder.c_str(), W_OK | X_OK) != 0)
        return unwritable(folder);
    if (!listens_ && access(folder.c_str(), X_OK) != 0)
        return "the folder " + folder + " may not be entered by uid " + uid() + "; mend it: chmod a+x " +
               folder;
    return "";
}

std::string GuestSocket::path_fault() const {
    if (std::string fault = folder_fault(); !fault.empty())
        return fault;
    struct stat status {};
    if ((listens_ ? lstat(path_.c_str(), &status) : stat(path_.c_str(), &status)) != 0)
        return errno == ENOENT ? "" : path_ + " cannot be reached (" + std::strerror(errno) + ')';
    if (!S_ISSOCK(status.st_mode))
        return path_ + " is there and not a socket; remove it, or give the vNIC another path";
    if (!listens_) {
        if (access(path_.c_str(), W_OK) == 0)
            return "";
        return "uid " + uid() + " may not connect to " + path_ + " (" + std::strerror(errno) +
               "); mend it: setfacl -m u:" + uid() + ":rw " + path_ +
               ", or run QEMU with the group of the switch";
    }
    switch (user_of(path_)) {
        case SocketUser::kNone:
            return "";
        case SocketUser::kSome:
            return "another program, or another vNIC, listens on " + path_ +
                   "; end it, or give the vNIC another path (ss -xlp shows the program)";
        case SocketUser::kUnknown:
            return "whether a program listens on " + path_ + " is not known (" + std::strerror(errno) + ')';
    }
    return "";
}

FileHandle GuestSocket::look() {
    if (listens_ && own_ && identity_at(path_) == own_) {
        fault_.clear();
        return FileHandle();
    }
    fault_ = path_fault();
    if (!listens_ || !fault_.empty())
        return FileHandle();
    unlink(path_.c_str());  // left by a process that has ended
    FileHandle listener = listen_at(path_, rights_);
    if (listener)
        own_ = identity_at(path_);
    else if (errno == ENOKEY)
        fault_ = "there is no group " + rights_.group + " for " + path_ + "; make it: groupadd --system " +
                 rights_.group;
    else
        fault_ = "cannot listen on " + path_ + " (" + std::strerror(errno) + ')';
    return listener;
}

void GuestSocket::remove() {
    if (own_ && identity_at(path_) == own_)
        unlink(path_.c_str());
    own_.reset();
}

}  // namespace weir
