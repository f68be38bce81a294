// ctrl_link.h - the ZeroMQ connection between the running switch and the controller.
// Source: docs/design.md 5.5; docs/protocol.md. Threads: agent. Never waits.
//
// A name may have addresses of both families, of which ZeroMQ tries one. After an attempt that failed, the
// next one is for the other family.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <zmq.hpp>

#include "common/zmtp/unfinished_bytes.h"
#include "vswitch/agent/controller_session.h"
#include "vswitch/agent/link_fault.h"
#include "vswitch/agent/promise_keeper.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class CtrlLink {
  public:
    /// Connects in the background, again and again. @param control_socket beside which the promises are kept,
    /// unless `config` names a file @throws HostError when a key cannot be read, or the
    /// address cannot be used
    CtrlLink(SwitchControl& control, const ControllerConfig& config, const std::string& control_socket);
    ~CtrlLink() { promises_.finish(session_); }
    CtrlLink(const CtrlLink&) = delete;
    CtrlLink& operator=(const CtrlLink&) = delete;

    /// Handles messages that arrived, samples all flows and sends messages that are due; every 10 ms.
    void tick(Nanos now);

  private:
    /// @param ip6 a name is resolved to an IPv6 address
    void open(bool ip6);
    void set_keys();
    void watch();
    void bound_unfinished();
    void reopen_when_due();
    void name_once(const std::string& fault);
    void refresh_hello(Nanos now);
    void receive(Nanos now);
    void sample(Nanos now);
    void send();
    void apply_allocations();
    void note_state();

    SwitchControl& control_;
    ControllerConfig config_;
    SocketEndpoint endpoint_;
    std::string secret_;  // Z85; empty over ipc
    zmq::context_t context_{1};
    zmq::socket_t socket_;
    zmq::socket_t events_;  // of socket_
    int descriptor_ = -1;   // of the connection over tcp
    zmtp::UnfinishedBytes unfinished_;
    unsigned opened_ = 0;
    bool ip6_ = false;
    std::optional<Nanos> reopen_at_;  // real time
    LinkFault fault_;
    std::set<std::string> named_;  // faults that were logged since the last connection
    ControllerSession session_;
    PromiseKeeper promises_;
    FlowRates rates_;      ///< in force
    bool applied_ = true;  ///< the switch has taken them
    std::uint64_t unsent_ = 0;
    Nanos billing_period_ = 0;
    Nanos hello_due_ = 0;
    Nanos sampled_ = kNever;  ///< when the last sample was taken
};

}  // namespace weir
