// scenario_source.cc - parser of a source: the keys of all kinds, then those of its kind.
#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/sim/scenario_fields.h"
#include "common/config/field_kinds.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::array kKinds{
    Word<SourceKind>{"udp", SourceKind::kUdp}, Word<SourceKind>{"tcp", SourceKind::kTcp},
    Word<SourceKind>{"requests", SourceKind::kRequests}, Word<SourceKind>{"poisson", SourceKind::kPoisson}};
constexpr std::array kControls{Word<CongestionControl>{"reno", CongestionControl::kReno},
                               Word<CongestionControl>{"ecn", CongestionControl::kEcn},
                               Word<CongestionControl>{"dctcp", CongestionControl::kDctcp}};
enum class Destinations { kEach, kInTurn };
constexpr std::array kDestinations{Word<Destinations>{"each", Destinations::kEach},
                                   Word<Destinations>{"in_turn", Destinations::kInTurn}};
enum class ServiceTimes { kConstant, kExponential };
constexpr std::array kServiceTimes{Word<ServiceTimes>{"constant", ServiceTimes::kConstant},
                                   Word<ServiceTimes>{"exponential", ServiceTimes::kExponential}};
constexpr Range kTimeRange{0, 3'600 * kNanosPerSec};
constexpr Range kPhaseRange{1'000, 3'600 * kNanosPerSec};
constexpr Range kMessageRange{1, 1'000'000'000'000};
constexpr std::uint64_t kConnectionsMax = 1'000'000;

void read_tenant_and_hosts(ObjectReader& reader, const Scenario& scenario, SourceSpec& source) {
    std::string name;
    reader.read_text("tenant", name);
    const auto tenant = std::ranges::find(scenario.tenants, name, &TenantSpec::name);
    if (tenant == scenario.tenants.end()) {
        std::string names;
        for (const TenantSpec& other : scenario.tenants)
            names += (names.empty() ? "" : ", ") + other.name;
        reader.fault("tenant", names, "the source needs a tenant of \"tenants\"");
    } else {
        source.tenant = static_cast<std::uint32_t>(tenant - scenario.tenants.begin());
    }
    source.from = read_host_set(reader, "from", scenario.network.hosts, "none");
    source.to = read_host_set(reader, "to", scenario.network.hosts, "none");
    for (const auto& [key, hosts] : {std::pair{"from", &source.from}, std::pair{"to", &source.to}}) {
        const auto has_vnic = [&](std::uint32_t host) {
            return tenant == scenario.tenants.end() || std::ranges::binary_search(tenant->hosts, host);
        };
        if (hosts->empty())
            reader.fault(key, "hosts, such as \"0-3,7\" or \"all\"", "a source needs both ends");
        else if (!std::ranges::all_of(*hosts, has_vnic))
            reader.fault(key, "hosts of the tenant", "the tenant has no vNIC on some of these hosts");
    }
    if (source.from == source.to && source.from.size() == 1)
        reader.fault("to", "another host than \"from\"", "traffic within a host is not simulated");
}

void read_udp(ObjectReader& reader, const Scenario& scenario, SourceSpec& source) {
    source.rate_bps = scenario.network.rate_bps;
    reader.read_quantity("rate", Quantity::kBitRate, source.rate_bps, kRateRange);
    reader.read_integer("frame", source.frame, {60, 9'600});
    const bool on = reader.read_quantity("on", Quantity::kDuration, source.on, kPhaseRange);
    const bool off = reader.read_quantity("off", Quantity::kDuration, source.off, kPhaseRange);
    if (on != off)
        reader.fault(on ? "off" : "on", "both \"on\" and \"off\", or neither", "bursts need both lengths");
    Destinations destinations = Destinations::kEach;
    reader.read_word<Destinations>("destinations", destinations, kDestinations);
    source.in_turn = destinations == Destinations::kInTurn;
    reader.read_flag("stagger", source.stagger);
    reader.read_flag("ecn", source.ecn);
}

void read_tcp_profile(ObjectReader& reader, TcpProfile& tcp) {
    reader.read_word<CongestionControl>("congestion_control", tcp.control, kControls);
    reader.read_integer("window", tcp.window, {2, 16'384});
    if (!std::has_single_bit(tcp.window))
        reader.fault("window", "a power of two, 2 to 16384 segments", "rings have a power of two of slots");
    reader.read_integer("initial_window", tcp.initial_window, {1, 1'000});
    reader.read_integer("duplicate_threshold", tcp.duplicate_threshold, {1, 1'000});
    reader.read_quantity("timeout_min", Quantity::kDuration, tcp.timeout_min, {100'000, 60 * kNanosPerSec});
}

void read_connections(ObjectReader& reader, SourceSpec& source) {
    reader.read_integer("connections", source.connections, {1, 1'000});
    if (source.connections * source.from.size() * source.to.size() > kConnectionsMax)
        reader.fault("connections", "at most 1000000 in all", "there are too many");
}

void read_bulk(ObjectReader& reader, SourceSpec& source) {
    read_connections(reader, source);
    reader.read_quantity("bytes", Quantity::kSize, source.bytes, kMessageRange);
    read_tcp_profile(reader, source.tcp);
}

void read_requests(ObjectReader& reader, SourceSpec& source) {
    read_connections(reader, source);
    reader.read_quantity("request", Quantity::kSize, source.request, kMessageRange);
    reader.read_quantity("response", Quantity::kSize, source.response, kMessageRange);
    const bool closed = reader.read_integer("outstanding", source.outstanding, {1, 10'000});
    const bool open = reader.read_integer("request_rate", source.request_rate, {1, 100'000'000});
    if (closed && open)
        reader.fault("request_rate", "either \"outstanding\" or \"request_rate\"",
                     "requests come by themselves or when others are answered");
    reader.read_quantity("service", Quantity::kDuration, source.service, kTimeRange);
    ServiceTimes times = ServiceTimes::kConstant;
    reader.read_word<ServiceTimes>("service_times", times, kServiceTimes);
    source.service_varies = times == ServiceTimes::kExponential;
    read_tcp_profile(reader, source.tcp);
}

void read_size_table(ObjectReader& reader, const std::string& folder, SourceSpec& source) {
    constexpr const char* kAllowed = "a file of `bytes fraction` lines, such as \"web-search.txt\"";
    std::string name;
    if (!reader.read_text("sizes", name)) {
        if (!reader.has("sizes"))
            reader.fault("sizes", kAllowed, "flows need sizes");
        return;
    }
    const auto text = read_text_file((std::filesystem::path(folder) / name).string());
    if (const Fault* fault = std::get_if<Fault>(&text)) {
        reader.fault("sizes", kAllowed, fault->found);
        return;
    }
    std::string wrong;
    if (!parse_sizes(std::get<std::string>(text), source.sizes, wrong))
        reader.fault("sizes", kAllowed, wrong);
}

void read_poisson(ObjectReader& reader, const std::string& folder, SourceSpec& source) {
    if (!read_part(reader, "load", source.load, {100, 2'000'000}) && !reader.has("load"))
        reader.fault("load", "a part of the sender's link, such as 90%", "flows need a load");
    if (source.to.size() == 1 && std::ranges::binary_search(source.from, source.to[0]))
        reader.fault("to", "more hosts, or one that does not send", "a host never sends to itself");
    read_size_table(reader, folder, source);
    read_tcp_profile(reader, source.tcp);
}

}  // namespace

SourceSpec read_source(const json& object, const std::string& path, const Scenario& scenario,
                       const std::string& folder, Faults& faults) {
    SourceSpec source;
    ObjectReader reader(object, path, faults);
    if (!object.is_object())
        return source;
    read_required_name(reader, source.name);
    const auto same = [&](const SourceSpec& other) { return other.name == source.name; };
    if (std::ranges::any_of(scenario.sources, same))
        reader.fault("name", "a name of its own", "another source has this name");
    read_tenant_and_hosts(reader, scenario, source);
    reader.read_quantity("start", Quantity::kDuration, source.start, kTimeRange);
    if (reader.read_quantity("stop", Quantity::kDuration, source.stop, kTimeRange) &&
        source.stop <= source.start)
        reader.fault("stop", "later than \"start\"", "the source would never run");
    if (!reader.read_word<SourceKind>("kind", source.kind, kKinds)) {
        if (!reader.has("kind"))
            reader.fault("kind", "udp, tcp, requests, poisson", "the source needs a kind");
        return source;  // which keys it may have is not known
    }
    switch (source.kind) {
        case SourceKind::kUdp:
            read_udp(reader, scenario, source);
            break;
        case SourceKind::kTcp:
            read_bulk(reader, source);
            break;
        case SourceKind::kRequests:
            read_requests(reader, source);
            break;
        case SourceKind::kPoisson:
            read_poisson(reader, folder, source);
            break;
    }
    reader.finish();
    return source;
}

}  // namespace weir::sim
