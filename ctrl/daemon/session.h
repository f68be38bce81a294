// session.h - what the controller knows of one switch. Internal to ctrl/controller*. Threads: one owner.
#pragma once

#include "ctrl/daemon/controller.h"

namespace weir {

struct Controller::Session {
    HostIndex host = 0;
    std::string route;
    bool proven = false;  ///< it showed the host's key
    bool silent = false;  ///< for so long that its word counts no more
    std::uint32_t number = 0;
    std::string version;
    Nanos heard = 0;
    std::int64_t since = 0;  ///< Unix nanoseconds: from then on it has told of all that was sent
    wire::Listener listener;
    wire::Origin origin;
    wire::Teller<wire::FlowAllocation> teller;
    std::vector<wire::FlowAllocation> rates;  ///< ordered by flow
    bool has_told = false;  ///< a DEMAND came; until then the rates are those of the last life
    bool unsaved = false;
    std::vector<std::string> refused_vnics;  ///< and why
};

}  // namespace weir
