// ctrl_link.h - the ZeroMQ connection between the running switch and the controller.
// Source: docs/design.md 5.5; docs/protocol.md. Threads: agent. Never waits.
#pragma once

#include <string>
#include <zmq.hpp>

#include "vswitch/agent/controller_session.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class CtrlLink {
  public:
    /// Connects in the background, again and again. @throws HostError when a key cannot be read, or the
    /// address cannot be used
    CtrlLink(SwitchControl& control, const ControllerConfig& config);
    CtrlLink(const CtrlLink&) = delete;
    CtrlLink& operator=(const CtrlLink&) = delete;

    /// Handles messages that arrived, samples all flows and sends what is due; every 10 ms.
    void tick(Nanos now);

  private:
    void refresh_hello(Nanos now);
    void receive(Nanos now);
    void sample(Nanos now);
    void send();
    void apply_allocations();
    void note_state() const;

    SwitchControl& control_;
    zmq::context_t context_{1};
    zmq::socket_t socket_;
    ControllerSession session_;
    FlowRates rates_;  ///< in force
    std::uint64_t unsent_ = 0;
    Nanos billing_period_ = 0;
    Nanos hello_due_ = 0;
    Nanos sampled_ = kNever;  ///< when the last sample was taken
};

}  // namespace weir
