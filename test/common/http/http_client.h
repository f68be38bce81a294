// http_client.h - connections to a port of this machine, byte by byte.
// Threads: tests only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "test/support/wait.h"

namespace weir::test {

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A socket that listens on a free port.
struct Listener {
    int descriptor;
    std::uint16_t port;
    Listener() : descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), port(0) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            listen(descriptor, 1'024) != 0 ||
            getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("no port to listen on");
        port = ntohs(address.sin_port);
    }
};

class HttpClient {
  public:
    explicit HttpClient(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_in address = loopback(port);
        if (connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("the server does not accept a connection");
    }
    ~HttpClient() {
        if (descriptor_ >= 0)
            close(descriptor_);
    }
    HttpClient(HttpClient&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    HttpClient& send(std::string_view bytes) {
        (void)::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return *this;
    }
    HttpClient& get(const std::string& path, const std::string& headers = "") {
        return send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
    }
    /// All that comes until the server closes the connection, or until `last` has come. Throws when neither
    /// happens.
    std::string receive(std::string_view last = {}) {
        std::string all;
        char bytes[65536];
        const auto bound = static_cast<int>(weir::testing::wait_bound().count());
        for (pollfd one{descriptor_, POLLIN, 0}; poll(&one, 1, bound) > 0;) {
            const ssize_t count = recv(descriptor_, bytes, sizeof bytes, 0);
            if (count <= 0)
                return all;
            all.append(bytes, static_cast<std::size_t>(count));
            if (!last.empty() && all.find(last) != std::string::npos)
                return all;
        }
        throw std::runtime_error("the connection stays open");
    }
    /// Whether bytes, or the end of the connection, come within the time.
    bool has_input(std::chrono::milliseconds within) {
        pollfd one{descriptor_, POLLIN, 0};
        return poll(&one, 1, static_cast<int>(within.count())) > 0;
    }

  private:
    int descriptor_;
};

}  // namespace weir::test
