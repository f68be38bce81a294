// config.cc - the cluster file: its head, its lists in turn, then what holds between them.
#include "ctrl/config/config.h"

#include <algorithm>
#include <array>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "ctrl/config/config_sections.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kListenMax = 8;
constexpr std::array kWeights{Word<GlobalWeights>{"guarantees", GlobalWeights::kGuarantees},
                              Word<GlobalWeights>{"weights", GlobalWeights::kWeights},
                              Word<GlobalWeights>{"equal", GlobalWeights::kEqual}};

void read_listen(ObjectReader& reader, std::vector<std::string>& out) {
    constexpr const char* kAllowed =
        "a list of 1 to 8 addresses, such as [\"tcp://10.0.0.1:5555\"] or [\"ipc:///run/weir/ctrl.ipc\"]";
    const json* list = reader.take("listen");
    if (list == nullptr)
        return;
    if (!list->is_array() || list->empty() || list->size() > kListenMax) {
        reader.fault("listen", kAllowed, "this is no such list");
        return;
    }
    std::vector<std::string> texts;
    for (const json& entry : *list) {
        if (!entry.is_string() || !is_endpoint(entry.get_ref<const std::string&>())) {
            reader.fault("listen", kAllowed, show_value(entry) + " is no address to listen on");
            return;
        }
        texts.push_back(entry.get<std::string>());
    }
    out = std::move(texts);
}

constexpr double kPriceMax = 1e9;

void read_global(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("global");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "global", faults);
    reader.read_entry<alloc::MechanismEntry>("mechanism", config.global, alloc::kMechanisms);
    reader.read_word<GlobalWeights>("weights", config.global_weights, kWeights);
    reader.finish();
}

/// Read only as a whole: a price that is missing is not 0.
void read_prices(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("prices");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "prices", faults);
    const std::size_t before = faults.size();
    billing::Prices prices{.p0 = 0, .beta = 0.5, .link = 0};
    const bool priced = require(reader, "p0", "a number: what 1 Mbit/s costs for a second");
    const json* p0 = reader.take("p0");
    if (priced && p0 != nullptr) {
        prices.p0 = p0->is_number() ? p0->get<double>() : -1;
        if (!(prices.p0 >= 0 && prices.p0 <= kPriceMax))
            reader.fault("p0", "a number from 0 to 1000000000", "a price is no less than nothing");
    }
    read_part(reader, "beta", prices.beta, {0, 1'000'000});
    std::uint64_t link_bps = 0;
    require(reader, "link", "a rate, such as \"10Gbit\": that of a host's uplink");
    reader.read_quantity("link", Quantity::kBitRate, link_bps, {1'000'000, kLinkRateMax});
    prices.link = static_cast<double>(link_bps) / 1e6;
    reader.read_quantity("period", Quantity::kDuration, config.billing_period,
                         {kBillingPeriod, kBillingPeriodMax});
    reader.finish();
    if (faults.size() == before && object->is_object())
        config.prices = prices;
}

void read_head(ObjectReader& reader, ClusterConfig& config) {
    std::string schema;  // for editors; the parser is the authority
    reader.read_text("$schema", schema);
    read_name(reader, "name", config.name);
    reader.read_quantity("interval", Quantity::kDuration, config.interval, {100'000'000, 60 * kNanosPerSec});
    read_listen(reader, config.listen);
    read_file_path(reader, "secret_key_file", config.secret_key_file);
    read_socket_path(reader, "control_socket", config.control_socket);
    read_file_path(reader, "store", config.store);
    read_part(reader, "headroom", config.headroom, {0, 500'000});
    read_part(reader, "resolve_change", config.resolve_change, {10'000, 1'000'000});
    reader.read_flag("overcommit", config.overcommit);
    read_part(reader, "overcommit_utilisation", config.overcommit_utilisation, {10'000, 1'000'000});
    read_part(reader, "overcommit_failure_max", config.overcommit_failure_max, {0, 1'000'000});
}

}  // namespace

std::variant<ClusterConfig, Faults> parse_cluster(std::string_view text, const ClusterCheck& check) {
    return parse_document<ClusterConfig>(text, [&check](const json& root, Faults& faults) {
        ClusterConfig config;
        ObjectReader reader(root, "", faults);
        read_head(reader, config);
        read_global(reader, config, faults);
        read_prices(reader, config, faults);
        read_topology(reader, config, faults);
        read_cluster_appliances(reader, config, faults);
        read_tenants(reader, config, faults);
        read_pools(reader, config.pools, faults);
        reader.finish();
        if (root.is_object())
            check_cluster(config, faults);
        if (root.is_object() && check)
            for (Fault& fault : check(config))
                faults.push_back(std::move(fault));
        return config;
    });
}

std::variant<ClusterConfig, Faults> load_cluster(const std::string& path, const ClusterCheck& check) {
    return load_document(path, [&check](std::string_view text) { return parse_cluster(text, check); });
}

}  // namespace weir
