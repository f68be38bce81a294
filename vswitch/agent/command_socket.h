// command_socket.h - the local socket for weirctl.
// Source: docs/design.md 5.3. Threads: agent.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "common/zmtp/local_server.h"

namespace weir {

class CommandSocket {
  public:
    using Answer = std::function<std::string(std::string_view)>;

    /// Listens at `path`, and again when the file is gone and can be made. @throws HostError that names the
    /// path and the remedy
    explicit CommandSocket(const std::string& path);

    /// Answers requests that wait or arrive within `patience`; at most 16, so that the agent's tick is not
    /// late.
    void serve(std::chrono::milliseconds patience, const Answer& answer);

  private:
    LocalServer server_;
};

}  // namespace weir
