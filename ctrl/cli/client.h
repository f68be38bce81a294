// client.h - asks the switch over its command socket; the only part of weirctl that sees ZeroMQ.
// One request, one answer, both a single JSON frame (docs/operations.md). Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace weir::cli {

class Client {
  public:
    /// @param socket path of the switch's control_socket
    /// @param timeout for each direction of a call
    explicit Client(std::string socket, std::chrono::milliseconds timeout = std::chrono::seconds(2));
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Sends one command and returns the answer's `data`. Each call connects anew, so a switch that restarted
    /// in between is found again.
    /// @throws Failure with kExitRefused: nobody listens, no answer in time, or the switch's own faults
    [[nodiscard]] nlohmann::json call(const std::string& command, const nlohmann::json& args);

  private:
    struct Network;
    std::string socket_;
    std::chrono::milliseconds timeout_;
    std::unique_ptr<Network> network_;
};

}  // namespace weir::cli
