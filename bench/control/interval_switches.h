// interval_switches.h - thousands of switches in one thread: sockets that say demands and hear rates. Threads: one.
#pragma once

#include <atomic>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/wire/channel.h"
#include "common/wire/messages.h"

namespace weir::bench {

/// What each switch has: vNICs by name, and for each the name of what its one flow goes to.
struct SwitchPlan {
    std::string host;
    std::vector<std::string> vnics;
    std::vector<std::string> destinations;
};

class Switches {
  public:
    /// Connects all and says HELLO.
    Switches(const std::string& endpoint, std::vector<SwitchPlan> plans);

    /// Hears until all have their tables. @return false after a minute
    bool settle();
    /// All say that every flow of theirs has changed.
    void speak(double scale);
    /// Hears until every switch has an allocation for each of its flows that came since speak().
    /// @return false after a minute
    bool hear_all();
    [[nodiscard]] std::uint64_t bytes_up() const { return bytes_up_; }
    [[nodiscard]] std::uint64_t bytes_down() const { return bytes_down_; }

  private:
    struct One {
        zmq::socket_t socket;
        SwitchPlan plan;
        wire::Origin origin;
        std::vector<wire::FlowKey> flows;
        bool welcomed = false;
        bool heard = false;
    };
    void say_hello(One& one);
    bool hear(One& one);
    template <typename Done>
    bool hear_until(Done done);

    zmq::context_t context_{1};
    std::vector<One> all_;
    std::uint64_t bytes_up_ = 0;
    std::uint64_t bytes_down_ = 0;
};

}  // namespace weir::bench
