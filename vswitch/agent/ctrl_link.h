// ctrl_link.h - the connection to the controller: a DEALER around LinkSession, turned by the agent.
// Source: design sections 2 and 5. Threads: agent. Never waits.
#pragma once

#include <map>
#include <string>
#include <zmq.hpp>

#include "vswitch/agent/link_session.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class CtrlLink {
  public:
    /// Connects in the background, again and again. @throws HostError: the key cannot be read
    CtrlLink(SwitchControl& control, const ControllerConfig& config);
    CtrlLink(const CtrlLink&) = delete;
    CtrlLink& operator=(const CtrlLink&) = delete;

    /// What has come, a sample of the flows, what is due: every 10 ms.
    void turn(Nanos now);

  private:
    void refresh_hello(Nanos now);
    void linger(wire::Hello& hello, Nanos now);
    void receive(Nanos now);
    void sample(Nanos now);
    void apply();
    void send();
    void note() const;

    SwitchControl& control_;
    zmq::context_t context_{1};
    zmq::socket_t socket_;
    LinkSession session_;
    std::map<LocalFlow, PartRates> rates_;
    std::uint64_t unsent_ = 0;
    Nanos billing_period_ = 0;
    Nanos hello_at_ = 0;
    struct Seen {
        wire::HelloVnic vnic;
        Nanos at = 0;
    };
    std::map<std::string, Seen> seen_;  // by vNIC: when it was last there
    bool greeted_ = false;
};

}  // namespace weir
