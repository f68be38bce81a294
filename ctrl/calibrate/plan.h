// plan.h - what weir-calibrate is asked to do. Units: as the names say. Threads: any (values).
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
    std::vector<Operation> operations;  ///< empty: the service's usual ones
    std::vector<std::uint64_t> sizes;   ///< growing; empty: the service's usual ones
    unsigned rounds = 5;
    Nanos length = kNanosPerSec / 2;  ///< that is counted of each measurement
    Nanos warm = kNanosPerSec / 5;    ///< before it
    unsigned connections = 0;         ///< 0: as many as the service's usual ones
    unsigned outstanding = 128;       ///< at most, of all connections
    bool overwrite = false;           ///< what is there may be destroyed
};

/// The switch that the load passes, if it is to be asked.
struct Witness {
    std::string socket;  ///< empty: none
    std::string vnic;    ///< empty: the only one that has a flow to the appliance
};

struct Options {
    Plan plan;
    Witness witness;
    FitRules rules;
    std::string name;    ///< of the table; empty: of protocol and address
    std::string from;    ///< measurements made before, instead of a load
    std::string output;  ///< the table
    std::string plot;
    bool json = false;
    bool anyway = false;
};

/// Ends the process after --help and for what is no command line. @throws cli::Failure (kExitBadInput)
[[nodiscard]] Options read_options(int argc, char** argv);

}  // namespace weir::calibrate
