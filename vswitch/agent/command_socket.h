// command_socket.h - the operator's local ZeroMQ socket.
// Source: design section 5. Threads: agent.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <zmq.hpp>

namespace weir {

class CommandSocket {
  public:
    using Answer = std::function<std::string(std::string_view)>;

    /// Binds ipc://path. @throws HostError naming the path and the mend
    explicit CommandSocket(const std::string& path);
    ~CommandSocket();
    CommandSocket(const CommandSocket&) = delete;
    CommandSocket& operator=(const CommandSocket&) = delete;

    /// Answers what has come, or comes within `patience`.
    void serve(std::chrono::milliseconds patience, const Answer& answer);

  private:
    std::string path_;
    zmq::context_t context_{1};
    zmq::socket_t socket_;
};

}  // namespace weir
