// service_scenario.cc - parser of ServiceScenario.
#include "bench/sim/services/service_scenario.h"

#include <algorithm>
#include <filesystem>

#include "bench/sim/services/service_fields.h"
#include "bench/sim/services/service_specification.h"
#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr Word<ServiceIsolation> kIsolations[] = {{"off", ServiceIsolation::kOff},
                                                  {"appliances", ServiceIsolation::kAppliances},
                                                  {"network", ServiceIsolation::kNetwork},
                                                  {"weir", ServiceIsolation::kWeir}};
constexpr Range kLinkRange{1'000'000, 1'000'000'000'000};
constexpr Range kTokenRange{1, 1'000'000'000'000};
constexpr Range kTimeRange{0, 86'400 * kNanosPerSec};

void read_host(ObjectReader& reader, ServiceScenario& scenario) {
    ServiceHost& host = scenario.hosts.emplace_back();
    if (require(reader, "name", "a name"))
        reader.read_text("name", host.name);
    if (require(reader, "link", "a rate, such as \"40Gbit\""))
        reader.read_quantity("link", Quantity::kBitRate, host.link_bps, kLinkRange);
    reader.read_quantity("encryption", Quantity::kTokenRate, host.encryption, kTokenRange);
}

/// Place and capacity of a service that no specification has.
void read_own(ObjectReader& reader, const ServiceScenario& scenario, ServiceSpec& service) {
    if (reader.take("host") != nullptr)
        service.host = read_reference(reader, "host", scenario.hosts);
    for (const auto& [key, out] :
         {std::pair{"capacity_min", &service.capacity_min}, std::pair{"capacity_max", &service.capacity_max}})
        if (require(reader, key, "tokens per second, such as \"5ktokens\""))
            reader.read_quantity(key, Quantity::kTokenRate, *out, kTokenRange);
    if (service.capacity_max < service.capacity_min)
        reader.fault("capacity_max", "at least capacity_min", "the window is empty");
}

void read_service(ObjectReader& reader, ServiceScenario& scenario, const std::string& costs, Faults& faults) {
    ServiceSpec& service = scenario.services.emplace_back();
    if (require(reader, "name", "a name"))
        reader.read_text("name", service.name);
    if (scenario.specification) {
        for (const char* key : {"host", "capacity_min", "capacity_max"})
            if (reader.take(key) != nullptr)
                reader.fault(key, "nothing beside \"specification\"", "its appliance of this name has it");
    } else {
        read_own(reader, scenario, service);
    }
    reader.read_integer("servers", service.servers, {1, 10'000});
    read_curve(reader, "read", service.read);
    read_curve(reader, "write", service.write);
    read_costs(reader, costs, service, faults);
}

void read_tenant(ObjectReader& reader, ServiceScenario& scenario, Faults& faults) {
    ServiceTenant& tenant = scenario.tenants.emplace_back();
    if (require(reader, "name", "a name"))
        reader.read_text("name", tenant.name);
    reader.read_integer("vms", tenant.vms, {1, 10'000});
    read_objects(reader, "placement", kEntriesMost, faults, [&](ObjectReader& entry, const std::string&) {
        const std::uint32_t host = read_reference(entry, "host", scenario.hosts);
        std::uint32_t vms = 1;
        entry.read_integer("vms", vms, {1, 10'000});
        tenant.hosts.insert(tenant.hosts.end(), vms, host);
    });
    if (!tenant.hosts.empty() && tenant.hosts.size() != tenant.vms)
        reader.fault("placement", std::to_string(tenant.vms) + " VMs together",
                     "there are " + std::to_string(tenant.hosts.size()));
    reader.read_quantity("reservation", Quantity::kBitRate, tenant.reservation_bps, kLinkRange);
    reader.read_quantity("encryption", Quantity::kTokenRate, tenant.encryption, kTokenRange);
    read_objects(reader, "services", kEntriesMost, faults, [&](ObjectReader& entry, const std::string&) {
        ServiceTenant::Part part{};
        part.service = read_reference(entry, "name", scenario.services);
        entry.read_quantity("reservation", Quantity::kTokenRate, part.reservation, kTokenRange);
        tenant.parts.push_back(part);
    });
}

void read_load(ObjectReader& reader, ServiceScenario& scenario) {
    ServiceLoad& load = scenario.loads.emplace_back();
    load.tenant = read_reference(reader, "tenant", scenario.tenants);
    std::uint64_t value = 0;
    (void)reader.take("service");
    if (reader.take("to_vm") == nullptr)
        load.service = read_reference(reader, "service", scenario.services);
    else if (load.tenant < scenario.tenants.size() &&
             reader.read_integer("to_vm", value, {1, scenario.tenants[load.tenant].vms}))
        load.to_vm = static_cast<std::uint32_t>(value - 1);
    reader.read_integer("connections", load.connections, {1, 1000});
    reader.read_flag("encrypted", load.encrypted);
    read_part(reader, "reads", load.reads);
    if (require(reader, "size", "bytes, such as \"8KiB\"") &&
        reader.read_quantity("size", Quantity::kSize, value, {1, 64 << 20}))
        load.bytes = static_cast<std::uint32_t>(value);
    reader.read_integer("outstanding", load.outstanding, {1, 10'000});
    if (reader.read_quantity("rate", Quantity::kTokenRate, value, {1, 100'000'000}))
        load.per_second = static_cast<double>(value);
    if ((load.outstanding != 0) == (load.per_second > 0))
        reader.fault("outstanding",
                     "either \"outstanding\", 8, or \"rate\", \"500tokens\" (requests per second)",
                     "a loop is closed or open");
    reader.read_quantity("from", Quantity::kDuration, load.from, kTimeRange);
    reader.read_quantity("to", Quantity::kDuration, load.to, kTimeRange);
}

}  // namespace

std::string_view name_of(ServiceIsolation isolation) {
    return kIsolations[static_cast<std::size_t>(isolation)].text;
}

bool find_isolation(std::string_view name, ServiceIsolation& out) {
    for (const Word<ServiceIsolation>& word : kIsolations) {
        if (word.text != name)
            continue;
        out = word.value;
        return true;
    }
    return false;
}

Nanos ServiceCurve::time_of(std::uint32_t bytes) const {
    const auto after =
        std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.bytes >= bytes; });
    if (after == points.begin())
        return static_cast<Nanos>(after->nanos);
    if (points.size() == 1)
        return static_cast<Nanos>(points[0].nanos);
    const Point& b = after == points.end() ? points.back() : *after;
    const Point& a = *(&b - 1);
    const double part = (static_cast<double>(bytes) - a.bytes) / (static_cast<double>(b.bytes) - a.bytes);
    return static_cast<Nanos>(std::max(0.0, a.nanos + part * (b.nanos - a.nanos)));
}

namespace {

ServiceScenario read_scenario(const json& root, const std::string& costs, const std::string& folder,
                              Faults& faults) {
    ServiceScenario scenario;
    ObjectReader reader(root, "", faults);
    scenario.specification = read_specification(reader, folder, faults);
    std::string schema;  // for editors
    reader.read_text("$schema", schema);
    reader.read_text("title", scenario.title);
    reader.read_integer("seed", scenario.seed, {0, INT64_MAX});
    if (require(reader, "duration", "a time, such as \"30s\""))
        reader.read_quantity("duration", Quantity::kDuration, scenario.duration, kTimeRange);
    reader.read_quantity("interval", Quantity::kDuration, scenario.interval,
                         {100'000'000, 60 * kNanosPerSec});
    reader.read_quantity("delay", Quantity::kDuration, scenario.delay, {0, kNanosPerSec});
    reader.read_word("isolation", scenario.isolation, std::span<const Word<ServiceIsolation>>(kIsolations));
    read_objects(reader, "hosts", kEntriesMost, faults,
                 [&](ObjectReader& entry, const std::string&) { read_host(entry, scenario); });
    read_objects(reader, "services", kEntriesMost, faults, [&](ObjectReader& entry, const std::string&) {
        read_service(entry, scenario, costs, faults);
    });
    if (scenario.specification)
        take_specification(scenario, faults);
    read_objects(reader, "tenants", kEntriesMost, faults,
                 [&](ObjectReader& entry, const std::string&) { read_tenant(entry, scenario, faults); });
    read_objects(reader, "loads", kEntriesMost, faults,
                 [&](ObjectReader& entry, const std::string&) { read_load(entry, scenario); });
    reader.finish();
    return scenario;
}

}  // namespace

std::variant<ServiceScenario, Faults> parse_service_scenario(std::string_view text, const std::string& costs,
                                                             const std::string& folder) {
    return parse_document<ServiceScenario>(
        text, [&](const json& root, Faults& faults) { return read_scenario(root, costs, folder, faults); });
}

std::variant<ServiceScenario, Faults> load_service_scenario(const std::string& file,
                                                            const std::string& costs) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    return load_document(
        file, [&](const std::string& text) { return parse_service_scenario(text, costs, folder); });
}

}  // namespace weir::sim
