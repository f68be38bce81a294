// controller_reading.h - the controller's state at one moment, for metrics: numbers of all hosts, tenants and
// appliances. Source: docs/design.md 2; docs/metrics.md.
// Units: in the comments; Nanos; Unix seconds. Threads: made by the controller's; any may read it.
//
// It has the values of `weirctl status`, and no more than a few numbers of each host, tenant and appliance:
// its size does not grow with vNICs and flows.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/daemon/controller.h"

namespace weir {

struct HostReading {
    std::string name{};
    const char* state = "";       ///< as of name_of_state()
    LinkPlan link{};              ///< bytes per second, each way
    std::uint64_t vnics = 0;      ///< that are there
    std::uint64_t cut_vnics = 0;  ///< of these, with a reservation that does not fit the link
    bool has_session = false;     ///< all from here on is of its session
    Nanos silence = 0;            ///< since its last message
    Nanos kept = 0;               ///< for so long its guarantees are kept; 0: they are not
    std::uint64_t flows = 0;      ///< with a rate
    std::uint64_t refused = 0;    ///< vNICs
    std::uint64_t unkept = 0;     ///< of these, with a reservation
    std::uint64_t left_out = 0;   ///< endpoints of its TABLES
    std::int64_t revision = 0;    ///< of the specification that its switch has confirmed
};

/// Bytes per second of flows between a tenant's vNICs, and from them to appliances.
struct TenantReading {
    std::string name{};
    std::uint64_t vnics = 0;  ///< of the specification
    double reserved = 0;      ///< by all its vNICs
    double used = 0;          ///< in the last interval, as the switches that are connected reported
    double allocated = 0;     ///< all its flows together may use, room to grow included
};

/// Amounts in tokens per second.
struct ApplianceReading {
    std::string name{};
    std::string phase{};
    double capacity_min = 0;
    double capacity_max = 0;
    double estimate = 0;
    double allocate = 0;
};

struct ControllerReading {
    std::string cluster{};
    std::uint64_t epoch = 0;
    std::uint32_t interval = 0;
    Nanos interval_length = 0;
    std::int64_t revision = 0;
    std::int64_t unix_time = 0;
    std::uint64_t flows = 0;
    std::vector<HostReading> hosts{};
    std::vector<TenantReading> tenants{};
    std::vector<ApplianceReading> appliances{};
    ControllerCounters counters{};
    ConnectionCounters connections{};
    DeferredWrites::State store{};
    std::uint64_t audit_waiting = 0;
    BillWriter::State bill{};
    UsageCounters periods{};
    nlohmann::json loop{};  ///< the parts `loop` and `budgets` of `weirctl status`
    Nanos took = 0;         ///< time of the loop that this reading took
};

}  // namespace weir
