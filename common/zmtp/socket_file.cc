// socket_file.cc - binding, permissions, and the look at the file.
#include "common/zmtp/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/error.h"

namespace weir {
namespace {

constexpr int kBacklog = 100;
constexpr Nanos kFileLookGap = kNanosPerSec / 2;

std::filesystem::path folder_of(const std::string& path) {
    return std::filesystem::path(path).parent_path();
}

bool is_writable(const std::filesystem::path& folder) {
    return access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

SocketFile::SocketFile(Place place) : place_(std::move(place)) {
    const auto folder = folder_of(place_.path);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!is_writable(folder))
        throw HostError(place_.key + ": folder " + folder.string() +
                        " is missing or not writable; make it: mkdir -p " + folder.string());
    unlink(place_.path.c_str());  // left by a process that was killed
    listen();
}

SocketFile::~SocketFile() {
    if (own_ && identity_at(place_.path) == own_)
        unlink(place_.path.c_str());
    if (descriptor_ >= 0)
        close(descriptor_);
}

/// The mode is set before the file has a name, so that at no time another user may open it.
void SocketFile::listen() {
    const std::string& path = place_.path;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool is_short = path.size() < sizeof(address.sun_path);
    if (file < 0 || !is_short || (place_.mode && fchmod(file, *place_.mode) != 0) ||
        bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        (place_.mode && chmod(path.c_str(), *place_.mode) != 0) || ::listen(file, kBacklog) != 0) {
        const std::string why = is_short ? std::strerror(errno) : "the path has more than 107 bytes";
        if (file >= 0)
            close(file);
        throw HostError(place_.key + ": cannot listen on " + path + " (" + why +
                        "); see that the path is shorter than 108 bytes and its folder writable");
    }
    if (descriptor_ >= 0)
        close(descriptor_);
    descriptor_ = file;
    own_ = identity_at(path);
}

bool SocketFile::restore(Nanos now) {
    if (now < looked_ + kFileLookGap)
        return false;
    looked_ = now;
    if (identity_at(place_.path))
        return false;
    std::error_code error;
    std::filesystem::create_directories(folder_of(place_.path), error);
    if (!is_writable(folder_of(place_.path)))
        return false;
    try {
        listen();
        return true;
    } catch (const HostError&) {  // the next look tries again
        return false;
    }
}

}  // namespace weir
