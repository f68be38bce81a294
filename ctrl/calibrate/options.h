// options.h - the command line of weir-calibrate: requests to measure, load, files of the results.
// Units: nanoseconds, bytes. Threads: any (values); parse_options: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/calibrate/fit/table_fit.h"
#include "ctrl/calibrate/load/service.h"

namespace weir::calibrate {

/// How the appliance is loaded.
struct Plan {
    std::string protocol;
    Endpoint endpoint;
    ServiceOptions service;
    std::vector<Operation> operations;  ///< empty: the service's default
    std::vector<std::uint64_t> sizes;   ///< growing; empty: the service's default
    unsigned rounds = 5;
    Nanos measured = kNanosPerSec / 2;  ///< counted time of each measurement
    Nanos warm_up = kNanosPerSec / 5;   ///< before it
    unsigned connections = 0;           ///< 0: the service's default
    unsigned outstanding = 128;         ///< most requests without a response, of all connections
    bool overwrite = false;             ///< requests may destroy data of the appliance
};

/// The switch that carries the load, when its counts are compared with ours.
struct SwitchTarget {
    std::string socket;  ///< control_socket; empty: no switch is asked
    std::string vnic;    ///< empty: the only vNIC that has a flow to the appliance
};

struct Options {
    Plan plan;
    SwitchTarget target;
    FitRules rules;
    std::string name;    ///< of the table; empty: made of protocol and address
    std::string from;    ///< file of earlier measurements, which take the place of a load
    std::string output;  ///< file of the table; "-": standard output
    std::string plot;    ///< file of the picture
    bool json = false;
    bool anyway = false;  ///< the table is written in spite of objections
};

/// Ends the process after --help and --version, and when the words cannot be parsed.
/// @throws cli::Failure (kExitBadInput)
[[nodiscard]] Options parse_options(int argc, char** argv);

/// Of `weir-calibrate switch`.
struct SwitchOptions {
    std::string socket = "/run/weir/admin/switch.sock";
    Nanos time = 0;
    std::string output;  ///< file for the switch's `cycle_costs`; empty or - = standard output
};
[[nodiscard]] SwitchOptions parse_switch_options(int argc, char** argv);

}  // namespace weir::calibrate
