// controller_metrics_subjects.cc - families of hosts, tenants and appliances.
#include <array>

#include "common/metrics/family_table.h"
#include "ctrl/metrics/controller_metrics.h"

namespace weir {
namespace {

using metrics::Samples;
using metrics::Type;
using Host = metrics::FamilyOf<HostReading>;
using Tenant = metrics::FamilyOf<TenantReading>;
using Appliance = metrics::FamilyOf<ApplianceReading>;

constexpr std::array kHosts{
    Host{{"weir_ctrl_host_connected", Type::kGauge, "",
          "1: the host's switch is connected; no sample: no switch of that name has come yet"},
         [](const HostReading& host, const Samples& out) {
             if (host.has_session)
                 out(host.state == std::string_view("connected") ? 1 : 0);
         }},
    Host{{"weir_ctrl_host_silence_seconds", Type::kGauge, "seconds",
          "Time since the last message of its switch"},
         [](const HostReading& host, const Samples& out) {
             if (host.has_session)
                 out.seconds(host.silence);
         }},
    Host{{"weir_ctrl_host_kept_seconds", Type::kGauge, "seconds",
          "Time for which guarantees of a silent host are still kept; 0: they are not"},
         [](const HostReading& host, const Samples& out) {
             if (host.has_session)
                 out.seconds(host.kept);
         }},
    Host{{"weir_ctrl_host_planned_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Rate of the host's link that is planned, each way"},
         [](const HostReading& host, const Samples& out) { out.real(host.link.planned); }},
    Host{{"weir_ctrl_host_reserved_bytes_per_second", Type::kGauge, "bytes_per_second",
          "Rate that the vNICs on the host have reserved of it"},
         [](const HostReading& host, const Samples& out) { out.real(host.link.reserved); }},
    Host{{"weir_ctrl_host_kept_ratio", Type::kGauge, "ratio",
          "Part of each of these reservations that is kept; below 1 while the link carries less"},
         [](const HostReading& host, const Samples& out) { out.real(host.link.kept_part); }},
    Host{{"weir_ctrl_host_vnics", Type::kGauge, "", "vNICs that are on the host"},
         [](const HostReading& host, const Samples& out) { out(host.vnics); }},
    Host{{"weir_ctrl_host_refused_vnics", Type::kGauge, "", "vNICs of its switch that are refused"},
         [](const HostReading& host, const Samples& out) { out(host.refused); }},
    Host{{"weir_ctrl_host_rates", Type::kGauge, "", "Flows of the host that have a rate"},
         [](const HostReading& host, const Samples& out) { out(host.flows); }},
    Host{{"weir_ctrl_host_endpoints_left_out", Type::kGauge, "",
          "Endpoints for which its switch, of an older version, has no room"},
         [](const HostReading& host, const Samples& out) { out(host.left_out); }},
    Host{{"weir_ctrl_host_revision", Type::kGauge, "",
          "Revision of the specification that its switch has confirmed"},
         [](const HostReading& host, const Samples& out) {
             if (host.has_session)
                 out(static_cast<std::uint64_t>(host.revision));
         }},
};

constexpr std::array kTenants{
    Tenant{{"weir_ctrl_tenant_vnics", Type::kGauge, "", "vNICs of the tenant in the specification"},
           [](const TenantReading& tenant, const Samples& out) { out(tenant.vnics); }},
    Tenant{{"weir_ctrl_tenant_reserved_bytes_per_second", Type::kGauge, "bytes_per_second",
            "Rate that all its vNICs have reserved, each way"},
           [](const TenantReading& tenant, const Samples& out) { out.real(tenant.reserved); }},
    Tenant{{"weir_ctrl_tenant_used_bytes_per_second", Type::kGauge, "bytes_per_second",
            "Rate of its vNICs' flows in the last interval, as connected switches reported it"},
           [](const TenantReading& tenant, const Samples& out) { out.real(tenant.used); }},
    Tenant{{"weir_ctrl_tenant_allocated_bytes_per_second", Type::kGauge, "bytes_per_second",
            "Sum of the rates that these flows may have, room to grow included"},
           [](const TenantReading& tenant, const Samples& out) { out.real(tenant.allocated); }},
};

constexpr std::array kAppliances{
    Appliance{
        {"weir_ctrl_appliance_capacity_min_tokens_per_second", Type::kGauge, "tokens_per_second",
         "Capacity that the appliance certainly has, by the specification"},
        [](const ApplianceReading& appliance, const Samples& out) { out.real(appliance.capacity_min); }},
    Appliance{
        {"weir_ctrl_appliance_capacity_max_tokens_per_second", Type::kGauge, "tokens_per_second",
         "Capacity that it certainly does not exceed"},
        [](const ApplianceReading& appliance, const Samples& out) { out.real(appliance.capacity_max); }},
    Appliance{{"weir_ctrl_appliance_estimate_tokens_per_second", Type::kGauge, "tokens_per_second",
               "Capacity that is estimated"},
              [](const ApplianceReading& appliance, const Samples& out) { out.real(appliance.estimate); }},
    Appliance{{"weir_ctrl_appliance_allocate_tokens_per_second", Type::kGauge, "tokens_per_second",
               "Capacity that is allocated to flows in this interval"},
              [](const ApplianceReading& appliance, const Samples& out) { out.real(appliance.allocate); }},
    Appliance{{"weir_ctrl_appliance_phase", Type::kGauge, "", "1: the phase of the search for its capacity"},
              [](const ApplianceReading& appliance, const Samples& out) {
                  out(metrics::label("phase", appliance.phase).text(), 1);
              }},
};

template <typename Subject>
std::vector<metrics::Labels> labels_of(const char* name, const std::vector<Subject>& subjects) {
    std::vector<metrics::Labels> out;
    out.reserve(subjects.size());
    for (const Subject& subject : subjects)
        out.push_back(metrics::label(name, subject.name));
    return out;
}

}  // namespace

void write_controller_subjects(const ControllerReading& reading, metrics::Exposition& page) {
    write_families(page, kAppliances, reading.appliances, labels_of("appliance", reading.appliances));
    write_families(page, kTenants, reading.tenants, labels_of("tenant", reading.tenants));
    write_families(page, kHosts, reading.hosts, labels_of("host", reading.hosts));
}

}  // namespace weir
