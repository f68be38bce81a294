// private_file.cc - reading a file after a look at its mode.
#include "common/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::size_t kFileBytesMax = 1U << 20;
constexpr mode_t kOthers = 077;

}  // namespace

std::string read_private_file(const std::string& path, const char* key) {
    const std::string place = std::string(key) + ": " + path;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat state {};
    if (file < 0 || ::fstat(file, &state) != 0) {
        const std::string why = std::strerror(errno);
        if (file >= 0)
            ::close(file);
        throw HostError(place + " cannot be read (" + why + ")");
    }
    std::string text;
    if ((state.st_mode & kOthers) == 0 && S_ISREG(state.st_mode)) {
        std::array<char, 4'096> block{};
        for (ssize_t bytes = 0;
             text.size() <= kFileBytesMax && (bytes = ::read(file, block.data(), block.size())) > 0;)
            text.append(block.data(), static_cast<std::size_t>(bytes));
    }
    ::close(file);
    if (!S_ISREG(state.st_mode))
        throw HostError(place + " is no file");
    if ((state.st_mode & kOthers) != 0) {
        std::array<char, 8> mode{};
        std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(state.st_mode & 07777));
        throw HostError(place + " is open to other users (mode " + mode.data() + "): chmod 600 " + path);
    }
    if (text.size() > kFileBytesMax)
        throw HostError(place + " has more than " + std::to_string(kFileBytesMax) + " bytes");
    return text;
}

}  // namespace weir
