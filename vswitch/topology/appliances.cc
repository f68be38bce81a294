// appliances.cc - addresses from text, protocols from names, windows divided among workers.
#include "vswitch/topology/appliances.h"

#include <algorithm>
#include <memory>

#include "common/ip_address.h"
#include "cost_functions/tracker/protocol.h"
#include "vswitch/config/scheduler_words.h"

namespace weir {

std::vector<Appliance> make_appliances(const SwitchConfig& config, const std::vector<ApplianceCosts>& costs) {
    std::vector<Appliance> appliances;
    for (const ApplianceConfig& each : config.appliances) {
        const IpAddress address = IpAddress::parse(each.address).value();
        const auto all = protocols();
        const auto protocol = std::ranges::find(all, each.protocol, &Protocol::name);
        const ApplianceCosts& cost = costs[appliances.size()];
        Appliance& appliance = appliances.emplace_back();
        appliance.ip6 = address.v6;
        appliance.address = address.bytes;
        appliance.port = each.port;
        appliance.protocol = static_cast<std::uint8_t>(protocol - all.begin());
        appliance.cost = cost.table;
        appliance.program = cost.program;
        appliance.cycles = cost.cycles;
        if (!each.window_tokens)
            continue;
        appliance.window = *each.window_tokens;
        appliance.scheduler = scheduler_name(each.scheduler);
        appliance.window_share = std::make_shared<LinkShare>(config.workers.size(), *each.window_tokens);
    }
    return appliances;
}

}  // namespace weir
