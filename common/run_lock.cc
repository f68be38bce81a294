// run_lock.cc - locks that end with their process, and whose files may be removed by others at any moment.
#include "common/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace weir {
namespace {

[[noreturn]] void cannot_lock(const std::string& path) {
    throw HostError("cannot lock " + path + " (" + std::strerror(errno) +
                    "); see that its folder exists and is writable for uid " + std::to_string(geteuid()));
}

/// A process that was just started has not signed yet.
[[noreturn]] void name_owner(const RunLock::Claim& claim) {
    std::ifstream file(claim.file);
    std::string process;
    std::string socket;
    const bool signed_by = std::getline(file, process) && std::getline(file, socket) && !socket.empty();
    throw HostError("already running: " +
                    (signed_by
                         ? "process " + process + ", with the command socket " + socket + ", has locked "
                         : "another process has locked ") +
                    claim.file + "; end that process first" + (signed_by ? " (kill " + process + ")" : "") +
                    ", or give this one " + claim.alternative);
}

}  // namespace

/// The process that had the lock before removes the file: it may be another one than was opened by the time
/// that it is locked.
RunLock::RunLock(const Claim& claim) : path_(claim.file) {
    while (!lock(claim)) {
    }
    sign(claim.socket);
}

/// @return false: the file was removed meanwhile
bool RunLock::lock(const Claim& claim) {
    // For its owner alone: a user that could read the file could lock it, and so prevent a start.
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0)
        cannot_lock(path_);
    struct stat status {};
    const bool locked = flock(file_, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (locked && fstat(file_, &status) == 0) {
        identity_ = {status.st_dev, status.st_ino};
        if (identity_at(path_) == identity_)
            return true;
    }
    close(file_);
    errno = error;
    if (!locked && errno == EWOULDBLOCK)
        name_owner(claim);
    if (!locked)
        cannot_lock(path_);
    return false;
}

void RunLock::sign(const std::string& socket) const {
    const std::string text = std::to_string(getpid()) + '\n' + socket + '\n';
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        (void)!ftruncate(file_, 0);  // a full disk: the lock holds without a signature
}

RunLock::~RunLock() {
    if (identity_at(path_) == identity_)
        unlink(path_.c_str());
    close(file_);
}

std::string socket_claim_fault(const std::string& path, const std::string& key) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(path).parent_path();
    fs::path there = folder;  // the last that exists of the folders on the way
    std::error_code error;
    while (there.has_relative_path() && !fs::exists(there, error))
        there = there.parent_path();
    if (access((there / "").c_str(), W_OK | X_OK) == 0)
        return "";
    const std::string why = std::strerror(errno);
    return key + ": the folder " + folder.string() +
           (there == folder ? " is not writable" : " is missing, and cannot be made in " + there.string()) +
           " for uid " + std::to_string(geteuid()) + " (" + why + "); make it writable, or name another path";
}

RunLock::Claim socket_claim(const std::string& path, const std::string& command_socket,
                            const std::string& key) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (const std::string fault = socket_claim_fault(path, key); !fault.empty())
        throw HostError(fault);
    return {.file = path + ".lock", .socket = command_socket, .alternative = "another \"" + key + '"'};
}

}  // namespace weir
