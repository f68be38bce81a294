// server_key.cc - CURVE keys in files.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "ctrl/daemon/server.h"

namespace weir {

std::string make_key(const std::string& path) {
    std::array<char, 41> open{};
    std::array<char, 41> secret{};
    if (zmq_curve_keypair(open.data(), secret.data()) != 0)
        throw HostError("this libzmq has no CURVE; install one that was built with libsodium");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        throw HostError(path + ": " + std::strerror(errno) +
                        (errno == EEXIST ? "; a key is never overwritten, move it away first" : ""));
    secret.back() = '\n';
    const bool written = ::write(file, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) &&
                         ::fsync(file) == 0;
    ::close(file);
    if (!written)
        throw HostError(path + ": " + std::strerror(errno));
    return open.data();
}

std::string read_key(const std::string& path) {
    std::ifstream file(path);
    std::string key;
    if (!(file >> key))
        throw HostError(path + ": no key could be read; `weir-ctrl --make-key " + path + "` makes one");
    if (!is_curve_key(key))
        throw HostError(path + ": found " + std::to_string(key.size()) +
                        " characters; a key has 40 of Z85; `weir-ctrl --make-key FILE` makes one");
    return key;
}

}  // namespace weir
