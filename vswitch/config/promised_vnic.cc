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
/// Those that the promise has when the specification does.
constexpr std::array<std::string_view, 3> kWorkerKeys{"reservation_pps", "cycle_shares",
                                                      "encrypt_reservation"};

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

/// Text of a value of the worker's promise; empty when the specification does not have the key.
std::string in_force(std::string_view key, const WorkerPromise& promise) {
    if (key == "reservation_pps")
        return promise.reservation_pps ? format_packet_rate(*promise.reservation_pps) : "";
    if (key == "cycle_shares")
        return promise.cycle_shares ? std::to_string(*promise.cycle_shares) : "";
    return promise.encrypt_reservation ? format_quantity(Quantity::kTokenRate, *promise.encrypt_reservation)
                                       : "";
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

/// The lower one of both limits.
void bound(std::optional<std::uint64_t>& limit, const std::optional<std::uint64_t>& promised) {
    if (promised)
        limit = std::min(*promised, limit.value_or(UINT64_MAX));
}

void promise_worker(VnicConfig& vnic, const WorkerPromise& promise) {
    vnic.cycle_shares = promise.cycle_shares.value_or(vnic.cycle_shares);
    bound(vnic.limit_pps, promise.limit_pps);
    vnic.reservation_pps =
        std::min(promise.reservation_pps.value_or(vnic.reservation_pps), vnic.limit_pps.value_or(UINT64_MAX));
    if (!vnic.encrypt)
        return;
    bound(vnic.encrypt_limit, promise.encrypt_limit);
    vnic.encrypt_reservation = std::min(promise.encrypt_reservation.value_or(vnic.encrypt_reservation),
                                        vnic.encrypt_limit.value_or(UINT64_MAX));
}

}  // namespace

VnicPromise stated_promise(const VnicConfig& file) {
    const VnicConfig defaults;
    const auto stated = [](const auto& value, const auto& otherwise) {
        return value == otherwise ? std::nullopt : std::optional(value);
    };
    return {.guarantee = file.guarantee,
            .reservation_bps = file.reservation_bps,
            .size_bytes = file.size_bytes,
            .time = file.time,
            .limit_bps = file.limit_bps,
            .shares = file.guarantee == GuaranteeKind::kBestEffort ? VnicPromise{}.shares : file.shares,
            .worker = {.reservation_pps = stated(file.reservation_pps, defaults.reservation_pps),
                       .limit_pps = file.limit_pps,
                       .cycle_shares = stated(file.cycle_shares, defaults.cycle_shares),
                       .encrypt_reservation = stated(file.encrypt_reservation, defaults.encrypt_reservation),
                       .encrypt_limit = file.encrypt_limit}};
}

std::vector<PromiseDifference> differences_from_file(const VnicPromise& promise, const VnicConfig& file) {
    std::vector<PromiseDifference> out = differences(promise, stated_promise(file));
    if (promise.worker.encrypt_reservation.value_or(0) != 0 && !file.encrypt)
        out.push_back({"encrypt", "true, as encrypt_reservation is promised", "false"});
    return out;
}

VnicConfig with_promise(VnicConfig vnic, const VnicPromise& promise, Accounting accounting) {
    vnic.guarantee = promise.guarantee;
    vnic.reservation_bps = promise.reservation_bps;
    vnic.size_bytes = promise.size_bytes;
    vnic.time = promise.time;
    vnic.shares = promise.guarantee == GuaranteeKind::kBestEffort ? 1 : promise.shares;
    promise_worker(vnic, promise.worker);
    if (!has_rate(promise.guarantee))
        vnic.reservation_pps = 0;
    if (!promise.limit_bps && !vnic.limit_bps)
        return vnic;
    bound(vnic.limit_bps, promise.limit_bps);
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
    for (const std::string_view key : kWorkerKeys)
        if (const std::string value = in_force(key, promise.worker); !value.empty() && change.contains(key))
            faults.push_back({path + '.' + std::string(key), show_value(change.at(key)),
                              value + ", as promised", remedy(changed, key)});
    if (change.contains("reservation_pps") && changed.reservation_pps != 0 && !has_rate(promise.guarantee))
        faults.push_back(
            {path + ".reservation_pps", format_packet_rate(changed.reservation_pps),
             "0pps with the promised guarantee_kind, " + std::string(guarantee_name(*promise.guarantee)),
             "this kind of guarantee has no rate; " + remedy(changed, "guarantee_kind")});
    const auto check_limit = [&](const char* key, const std::optional<std::uint64_t>& promised,
                                 const std::optional<std::uint64_t>& now, Quantity quantity) {
        if (change.contains(key) && promised && now && *now > *promised)
            faults.push_back({path + '.' + key, format_quantity(quantity, *now),
                              "at most " + format_quantity(quantity, *promised) + ", as promised, or none",
                              "the lower one of both limits holds; " + remedy(changed, key)});
    };
    check_limit("limit", promise.limit_bps, changed.limit_bps, Quantity::kBitRate);
    check_limit("limit_pps", promise.worker.limit_pps, changed.limit_pps, Quantity::kPacketRate);
    check_limit("encrypt_limit", promise.worker.encrypt_limit, changed.encrypt_limit, Quantity::kTokenRate);
    return faults;
}

}  // namespace weir
