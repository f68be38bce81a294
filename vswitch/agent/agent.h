// agent.h - the control thread inside the switch: answers the operator, relays between workers, tells systemd
// that all is well.
// Source: design section 2. Threads: run() on the main thread.
#pragma once

#include <atomic>

#include "vswitch/agent/command_socket.h"
#include "vswitch/agent/service_notifier.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class Agent {
  public:
    Agent(SwitchControl& control, const std::string& socket_path) : control_(control), socket_(socket_path) {}

    /// Returns soon after `stop` becomes true.
    void run(const std::atomic<bool>& stop);

  private:
    void show_life();

    SwitchControl& control_;
    CommandSocket socket_;
    ServiceNotifier notifier_;
};

}  // namespace weir
