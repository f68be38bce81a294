// command_socket.h - the local ZeroMQ socket for weirctl.
// Source: docs/design.md 5.3. Threads: agent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "common/file_identity.h"

namespace weir {

class CommandSocket {
  public:
    using Answer = std::function<std::string(std::string_view)>;

    /// Binds ipc://path, and again when the file is gone and can be made. @throws HostError that names the
    /// path and the remedy
    explicit CommandSocket(const std::string& path);
    ~CommandSocket();
    CommandSocket(const CommandSocket&) = delete;
    CommandSocket& operator=(const CommandSocket&) = delete;

    /// Answers requests that wait or arrive within `patience`; at most 16, so that the agent's tick is not
    /// late.
    void serve(std::chrono::milliseconds patience, const Answer& answer);

  private:
    void listen();
    void look();

    std::string path_;
    std::optional<FileIdentity> own_;  // of the file at the path
    std::chrono::steady_clock::time_point looked_{};
    zmq::context_t context_{1};
    zmq::socket_t socket_;
};

}  // namespace weir
