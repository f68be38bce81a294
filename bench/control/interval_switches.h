// interval_switches.h - thousands of switches in one thread, as the controller sees them: sockets that send
// demands and receive allocations. Threads: one.
#pragma once

#include <atomic>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/wire/channel.h"
#include "common/wire/messages.h"

namespace weir::bench {

/// One switch: its vNICs by name, and for each the name of the vNIC or appliance that its only flow goes to.
struct SwitchPlan {
    std::string host;
    std::vector<std::string> vnics;
    std::vector<std::string> destinations;
    // CURVE, with tcp:
    std::string public_key{};
    std::string secret_key{};
};

class Switches {
  public:
    /// Connects every switch and sends its HELLO. @param server_key empty with ipc
    Switches(const std::string& endpoint, const std::string& server_key, std::vector<SwitchPlan> plans);

    /// Receives until every switch has its tables. @return false after a minute
    bool settle();
    /// Every switch sends a changed demand of each flow, times `scale`.
    void send_demands(double scale);
    /// Receives until every switch has had an ALLOCATION since send_demands(). @return false after a minute
    bool receive_allocations();
    [[nodiscard]] std::uint64_t bytes_up() const { return bytes_up_; }
    [[nodiscard]] std::uint64_t bytes_down() const { return bytes_down_; }

  private:
    struct One {
        zmq::socket_t socket;
        SwitchPlan plan;
        wire::Sequencer sequencer;
        std::vector<wire::FlowKey> flows;
        bool welcomed = false;
        bool allocated = false;
    };
    void send_hello(One& one);
    bool receive(One& one);
    template <typename Done>
    bool receive_until(Done done);

    zmq::context_t context_{1};
    std::vector<One> all_;
    std::uint64_t bytes_up_ = 0;
    std::uint64_t bytes_down_ = 0;
};

}  // namespace weir::bench
