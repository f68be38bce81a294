// kept_file.cc - opening without following links, checks of the owner, and the rename.
#include "vswitch/agent/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir {
namespace {

/// A file that is open, or -1.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

std::string failed(const char* what) {
    return std::string(what) + ": " + std::strerror(errno);
}

/// @return why this user may not be the one that has written it; empty: it is
std::string distrust(const struct stat& state, std::size_t bytes_max) {
    if (!S_ISREG(state.st_mode))
        return "it is no regular file";
    if (state.st_uid != ::geteuid())
        return "it belongs to user " + std::to_string(state.st_uid) + ", not to " +
               std::to_string(::geteuid());
    if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users may write to it";
    if (static_cast<std::size_t>(state.st_size) > bytes_max)
        return "it has " + std::to_string(state.st_size) + " bytes, more than " + std::to_string(bytes_max);
    return {};
}

/// @return whether the whole text was read
bool read_all(int file, std::string& text, std::size_t bytes_max) {
    std::array<char, 4096> piece{};
    while (text.size() <= bytes_max) {
        const ssize_t bytes = ::read(file, piece.data(), piece.size());
        if (bytes == 0)
            return true;
        if (bytes < 0 && errno != EINTR)
            return false;
        text.append(piece.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    }
    return false;
}

bool write_all(int file, std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t bytes = ::write(file, text.data() + at, text.size() - at);
        if (bytes < 0 && errno != EINTR)
            return false;
        at += bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
    }
    return true;
}

}  // namespace

KeptText read_kept(const std::string& path, std::size_t bytes_max) {
    // A pipe in its place must not stop the start, nor a link lead elsewhere.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.number() < 0)
        return {.refusal = errno == ENOENT || errno == ENOTDIR ? "" : failed("it cannot be opened")};
    struct stat state {};
    if (::fstat(file.number(), &state) != 0)
        return {.refusal = failed("its owner cannot be read")};
    if (std::string reason = distrust(state, bytes_max); !reason.empty())
        return {.refusal = std::move(reason)};
    std::string text;
    if (!read_all(file.number(), text, bytes_max))
        return {.refusal = failed("it cannot be read")};
    return {.text = std::move(text)};
}

std::string replace_kept(const std::string& path, std::string_view text, std::size_t bytes_max) {
    if (text.size() > bytes_max)
        return "it would have more than " + std::to_string(bytes_max) + " bytes";
    const std::string fresh = path + ".new";
    ::unlink(fresh.c_str());
    constexpr mode_t kOwnerOnly = 0600;
    const Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
    if (file.number() < 0)
        return failed("it cannot be written");
    if (write_all(file.number(), text) && ::rename(fresh.c_str(), path.c_str()) == 0)
        return {};
    std::string reason = failed("it cannot be written");
    ::unlink(fresh.c_str());
    return reason;
}

std::string remove_kept(const std::string& path) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? "" : failed("it cannot be removed");
}

}  // namespace weir
