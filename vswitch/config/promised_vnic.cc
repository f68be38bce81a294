// promised_vnic.cc - the values in force, and the keys that only the controller changes.
#include "vswitch/config/promised_vnic.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> kPromisedKeys{"guarantee_kind", "reservation", "size", "time",
                                                        "shares"};

bool has_rate(const std::optional<GuaranteeKind>& kind) {
    return !kind || *kind == GuaranteeKind::kStrict || *kind == GuaranteeKind::kDynamic;
}

/// Packets of 64 bytes that fit into the limit, as the uplink accounts them.
std::uint64_t packets_within(const VnicConfig& vnic, Accounting accounting) {
    VnicConfig one = vnic;
    one.reservation_bps = 0;
    one.reservation_pps = 1;
    return *vnic.limit_bps / uplink_reservation_bps(one, accounting);
}

/// The command that changes the value in its place, under its name there.
std::string remedy(const VnicConfig& vnic, std::string_view key) {
    return "the controller's specification has it: change it there by `weirctl tenant set-vnic " +
           (vnic.tenant.empty() ? std::string("TENANT") : vnic.tenant) + ' ' + vnic.name + ' ' +
           std::string(key == "shares" ? "weight" : key) + "=VALUE`";
}

std::string in_force(std::string_view key, const VnicPromise& promise) {
    if (key == "guarantee_kind")
        return std::string(guarantee_name(kind_of(promise)));
    if (key == "shares")
        return std::to_string(promise.shares);
    if (promise.guarantee == GuaranteeKind::kDynamic && key != "reservation")
        return key == "size" ? format_size(promise.size_bytes) : format_duration(promise.time);
    return key == "reservation" ? format_rate(promise.reservation_bps) : "nothing";
}

}  // namespace

VnicPromise stated_promise(const VnicConfig& file) {
    return {.guarantee = file.guarantee,
            .reservation_bps = file.reservation_bps,
            .size_bytes = file.size_bytes,
            .time = file.time,
            .limit_bps = file.limit_bps,
            .shares = file.guarantee == GuaranteeKind::kBestEffort ? VnicPromise{}.shares : file.shares};
}

VnicConfig with_promise(VnicConfig vnic, const VnicPromise& promise, Accounting accounting) {
    vnic.guarantee = promise.guarantee;
    vnic.reservation_bps = promise.reservation_bps;
    vnic.size_bytes = promise.size_bytes;
    vnic.time = promise.time;
    vnic.shares = promise.guarantee == GuaranteeKind::kBestEffort ? 1 : promise.shares;
    if (!has_rate(promise.guarantee))
        vnic.reservation_pps = 0;
    if (!promise.limit_bps && !vnic.limit_bps)
        return vnic;
    vnic.limit_bps = std::min(promise.limit_bps.value_or(UINT64_MAX), vnic.limit_bps.value_or(UINT64_MAX));
    vnic.reservation_bps = std::min(vnic.reservation_bps, *vnic.limit_bps);
    vnic.reservation_pps = std::min(vnic.reservation_pps, packets_within(vnic, accounting));
    return vnic;
}

Faults faults_of_promised_keys(const nlohmann::json& change, const VnicConfig& changed,
                               const VnicPromise& promise, const std::string& path) {
    Faults faults;
    for (const std::string_view key : kPromisedKeys)
        if (const auto given = change.find(key); given != change.end())
            faults.push_back({path + '.' + std::string(key), show_value(*given),
                              in_force(key, promise) + ", as promised", remedy(changed, key)});
    if (change.contains("reservation_pps") && changed.reservation_pps != 0 && !has_rate(promise.guarantee))
        faults.push_back(
            {path + ".reservation_pps", format_packet_rate(changed.reservation_pps),
             "0pps with the promised guarantee_kind, " + std::string(guarantee_name(*promise.guarantee)),
             "this kind of guarantee has no rate; " + remedy(changed, "guarantee_kind")});
    if (change.contains("limit") && promise.limit_bps && changed.limit_bps &&
        *changed.limit_bps > *promise.limit_bps)
        faults.push_back({path + ".limit", format_rate(*changed.limit_bps),
                          "at most " + format_rate(*promise.limit_bps) + ", as promised, or none",
                          "the lower one of both limits holds; " + remedy(changed, "limit")});
    return faults;
}

}  // namespace weir
