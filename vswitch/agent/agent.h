// agent.h - the control thread inside the switch: answers the operator, relays between workers, keeps
// the link to the controller, tells systemd that all is well.
// Source: design section 2. Threads: run() on the main thread.
#pragma once

#include <atomic>

#include "vswitch/agent/command_socket.h"
#include "vswitch/agent/ctrl_link.h"
#include "vswitch/agent/service_notifier.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class Agent {
  public:
    /// @param link to the controller, or null; outlives the agent
    Agent(SwitchControl& control, const std::string& socket_path, CtrlLink* link = nullptr)
        : control_(control), socket_(socket_path), link_(link) {}

    /// Returns soon after `stop` becomes true.
    void run(const std::atomic<bool>& stop);

  private:
    void show_life();

    SwitchControl& control_;
    CommandSocket socket_;
    CtrlLink* link_;
    ServiceNotifier notifier_;
};

}  // namespace weir
