// fault_report.cc - one object or one line a fault.
#include "common/config/fault_report.h"

#include <cstdio>

namespace weir {

nlohmann::json faults_to_json(const Faults& faults) {
    nlohmann::json list = nlohmann::json::array();
    for (const Fault& fault : faults)
        list.push_back({{"path", fault.path},
                        {"found", fault.found},
                        {"allowed", fault.allowed},
                        {"message", fault.message}});
    return list;
}

void complain(const Faults& faults, const std::string& file) {
    for (const Fault& fault : faults)
        std::fprintf(stderr, "%s: %s\n", file.c_str(), fault.to_line().c_str());
    std::fprintf(stderr, "%s: %zu fault%s; nothing was started\n", file.c_str(), faults.size(),
                 faults.size() == 1 ? "" : "s");
}

}  // namespace weir
