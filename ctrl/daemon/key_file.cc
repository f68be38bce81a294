// key_file.cc - making and reading key files.
#include "ctrl/daemon/key_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "common/private_file.h"

namespace weir {

std::string make_key(const std::string& path) {
    std::array<char, 41> public_key{};
    std::array<char, 41> secret_key{};
    if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
        throw HostError("this libzmq has no CURVE; install one that was built with libsodium");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        throw HostError(path + ": " + std::strerror(errno) +
                        (errno == EEXIST ? "; a key is never overwritten: move the file away first" : ""));
    secret_key.back() = '\n';
    const bool is_written =
        ::write(file, secret_key.data(), secret_key.size()) == static_cast<ssize_t>(secret_key.size()) &&
        ::fsync(file) == 0;
    ::close(file);
    if (!is_written)
        throw HostError(path + ": " + std::strerror(errno));
    return public_key.data();
}

std::string read_key(const std::string& path) {
    std::istringstream text(read_private_file(path, "secret_key_file"));
    std::string key;
    if (!(text >> key))
        throw HostError(path + ": no key could be read; `weir-ctrl --make-key " + path + "` makes one");
    if (!is_curve_key(key))
        throw HostError(path + ": found " + std::to_string(key.size()) +
                        " characters; a key has 40 of Z85; `weir-ctrl --make-key FILE` makes one");
    return key;
}

}  // namespace weir
