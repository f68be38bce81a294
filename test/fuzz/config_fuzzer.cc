// config_fuzzer.cc - any bytes as a configuration: a struct or faults, never both; a valid one stays valid
// when it is written and read.
#include <nlohmann/json.hpp>

#include "test/fuzz/checks.h"
#include "vswitch/config/config.h"

namespace {

using namespace weir;
using namespace weir::fuzz;

// Written out and read again, each vNIC is the same and still agrees with the ones before it.
void check_round_trip(const SwitchConfig& config) {
    std::vector<VnicConfig> before;
    for (const VnicConfig& vnic : config.vnics) {
        const nlohmann::json written = vnic_to_json(vnic);
        const auto again = parse_vnic(written, "vnic", config, before);
        const VnicConfig* same = std::get_if<VnicConfig>(&again);
        require(same != nullptr, "a valid vNIC reads back");
        require(vnic_to_json(*same) == written, "a vNIC reads back as itself");
        before.push_back(vnic);
    }
    require(config.overcommit || config.uplink.capacity_bps() <= config.uplink.rate_bps,
            "capacity is at most the rate");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse_config({reinterpret_cast<const char*>(data), size});
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        check_faults(*faults);
    else
        check_round_trip(std::get<SwitchConfig>(parsed));
    return 0;
}
