// command_socket.h - the local sockets for weirctl: for all commands, and for those that change nothing.
// Source: docs/design.md 5.3. Threads: agent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/zmtp/local_server.h"
#include "vswitch/agent/commands.h"

namespace weir {

class CommandSocket {
  public:
    using Answer = std::function<std::string(std::string_view, const CommandOrigin&)>;

    /// Listens at `path`, and again when the file is gone and can be made. Their owner and group may open
    /// them.
    /// @param read_path for reading alone; empty: none @throws HostError that names the path and the remedy
    CommandSocket(const std::string& path, const std::string& read_path);

    /// Answers requests that wait or arrive within `patience`; at most 16, so that the agent's tick is not
    /// late.
    void serve(std::chrono::milliseconds patience, const Answer& answer);

  private:
    [[nodiscard]] int serve(LocalServer& server, bool may_change, const Answer& answer);

    LocalServer changes_;
    std::optional<LocalServer> reading_;
};

}  // namespace weir
