// service_manager.h - the part of systemd that a notifying daemon sees: a socket that the environment names.
// Threads: tests only.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "test/support/catch.h"
#include "test/support/wait.h"

namespace weir::testing {

class ServiceManager {
  public:
    /// @param name of the socket in the environment's form: a path, or "@" and an abstract name
    explicit ServiceManager(std::string name, const char* watchdog_usec = nullptr)
        : name_(std::move(name)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        if (name_.front() == '@')
            address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0);
        const timeval bound{wait_bound() / std::chrono::seconds(1), 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
        ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
        if (watchdog_usec != nullptr)
            ::setenv("WATCHDOG_USEC", watchdog_usec, 1);
    }
    ~ServiceManager() {
        for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
            ::unsetenv(variable);
        ::close(socket_);
        ::unlink(name_.c_str());
    }
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    /// The next statement; "" when none comes.
    std::string receive(int flags = 0) const {
        std::array<char, 256> text{};
        const ssize_t length = ::recv(socket_, text.data(), text.size(), flags);
        return {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
    }
    std::string received_now() const { return receive(MSG_DONTWAIT); }

  private:
    std::string name_;
    int socket_;
};

}  // namespace weir::testing
