// tcp_connection.h - TCP connection to an appliance.
// Units: bytes. Threads: one.
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
    /// "10.0.0.3:10809", "[fd00::3]:10809"
    [[nodiscard]] std::string text() const;
};

class TcpConnection {
  public:
    /// @param patience of connecting, and of each wait in send_all() and receive()
    /// @throws cli::Failure when the name is unknown or no address accepts the connection in time
    TcpConnection(Endpoint endpoint, std::chrono::milliseconds patience);
    ~TcpConnection();
    TcpConnection(TcpConnection&& other) noexcept
        : endpoint_(std::move(other.endpoint_)),
          patience_(other.patience_),
          fd_(std::exchange(other.fd_, -1)) {}
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;
    TcpConnection& operator=(TcpConnection&&) = delete;

    /// Sends all bytes; waits for the socket. @throws cli::Failure
    void send_all(const std::string& bytes);
    /// Receives exactly `count` bytes; waits for them. @throws cli::Failure
    [[nodiscard]] std::string receive(std::size_t count);

    /// Bytes that the socket took without waiting, or -1 when it took none.
    /// @throws cli::Failure when the connection was closed
    [[nodiscard]] std::ptrdiff_t send_some(std::span<const char> bytes);
    /// Bytes that had arrived, or -1 when none had. @throws cli::Failure when the connection was closed
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
