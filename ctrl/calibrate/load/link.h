// link.h - a TCP connection to an appliance. Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace weir::calibrate {

/// Where an appliance listens.
struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
    [[nodiscard]] std::string text() const;
};

class Link {
  public:
    /// @throws cli::Failure nobody answers there within `patience`
    Link(Endpoint endpoint, std::chrono::milliseconds patience);
    ~Link();
    Link(Link&& other) noexcept
        : endpoint_(std::move(other.endpoint_)),
          patience_(other.patience_),
          fd_(std::exchange(other.fd_, -1)) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    Link& operator=(Link&&) = delete;

    // For greetings: wait as long as the patience. @throws cli::Failure
    void send_all(const std::string& bytes);
    [[nodiscard]] std::string receive(std::size_t count);

    // Neither waits.
    /// How much was sent, or -1: not now. @throws cli::Failure the connection is gone
    [[nodiscard]] std::ptrdiff_t send_some(std::span<const char> bytes);
    /// How much was received, or -1: nothing there. @throws cli::Failure the connection is gone
    [[nodiscard]] std::ptrdiff_t receive_some(std::span<std::uint8_t> room);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

  private:
    void wait_for(short event, const char* message) const;
    [[noreturn]] void fail(const std::string& found, const std::string& message) const;

    Endpoint endpoint_;
    std::chrono::milliseconds patience_;
    int fd_ = -1;
};

}  // namespace weir::calibrate
