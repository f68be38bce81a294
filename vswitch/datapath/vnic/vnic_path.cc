// vnic_path.cc - VnicPath, and its profile made from the configuration.
#include "vswitch/datapath/vnic/vnic_path.h"

#include <algorithm>

#include "common/units.h"
#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {
namespace {

/// Bytes of a super-frame that a limit above limits::kSuperFrameRateMin lets pass; longer ones are split in
/// two.
constexpr std::uint32_t kSuperFrameMax = 32 * 1024;
/// Least reservation of a vNIC with a fairness guarantee: a thousandth of the uplink, or 64 kbit/s if that is
/// more.
constexpr std::uint64_t kFairnessPart = 1000;
constexpr std::uint64_t kFairnessLeast = 8000;
/// Frames that may wait for the limit: a burst of 32 super-frames split into segments of 1448 bytes (1472),
/// so that nothing that was taken is lost.
constexpr std::size_t kLocalQueuePackets = 2048;
/// A held-back ring rests until 50 us of its limit have come together: small bursts cost most cycles per
/// frame.
constexpr std::uint64_t kWakesPerSec = 20'000;
/// The reservation of an appliance for a tenth of a second may be used at once.
constexpr std::uint64_t kWindowBursts = 10;

/// Tokens of encryption that may be used at once after a pause, as time at the limit.
constexpr Nanos kEncryptionBurst = 10'000'000;

BucketProfile bucket(std::optional<std::uint64_t> per_second, Nanos burst) {
    if (!per_second)
        return unlimited_profile();
    const Wide tokens = Wide{*per_second} * burst / kNanosPerSec;
    return make_profile(*per_second, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(tokens)));
}

std::optional<std::uint64_t> bytes_per_second(std::optional<std::uint64_t> bits) {
    return bits ? std::optional(*bits / kBitsPerByte) : std::nullopt;
}

void set_requests(VnicProfile& profile, const VnicConfig& vnic, const SwitchConfig& config) {
    for (const VnicApplianceConfig& wanted : vnic.appliances) {
        const auto found = std::ranges::find(config.appliances, wanted.name, &ApplianceConfig::name);
        VnicProfile::Requests& requests = profile.requests[profile.request_flows++];
        requests.appliance = static_cast<std::uint16_t>(found - config.appliances.begin());
        requests.gate.multi_resource = wanted.multi_resource;
        const std::array limits{wanted.limit_tokens, bytes_per_second(wanted.uplink_bps),
                                bytes_per_second(wanted.downlink_bps), wanted.cycles};
        requests.gate.window = {
            .reservation = wanted.reservation_tokens,
            .burst = std::max<std::uint64_t>(1, wanted.reservation_tokens / kWindowBursts),
            .shares = wanted.shares};
        for (std::size_t i = 0; i < kPathResources; ++i) {
            requests.gate.limits[i] = bucket(limits[i], wanted.burst);
            requests.limit[i] = limits[i].value_or(UINT64_MAX);
        }
    }
    profile.tracked = profile.request_flows != 0;
    profile.observed = profile.observed || profile.tracked;
}

/// Reservation and shares that are not given for receiving are those for sending.
void set_receiving(VnicProfile& profile, const VnicConfig& vnic) {
    profile.receive_reservation =
        bytes_per_second(vnic.receive_reservation_bps).value_or(profile.uplink.reservation);
    profile.receive_shares = vnic.receive_shares.value_or(profile.uplink.shares);
    if (!vnic.receive_limit_bps)
        return;
    profile.receive_limit = *vnic.receive_limit_bps / kBitsPerByte;
    profile.receive_bucket = make_profile(profile.receive_limit, burst_for_rate(profile.receive_limit));
}

AddressRules make_address_rules(const VnicConfig& vnic) {
    AddressRules rules;
    rules.learns = vnic.dhcp == DhcpRole::kClient;
    rules.checks_sources = !vnic.addresses.empty() || rules.learns;
    rules.serves_dhcp = vnic.dhcp == DhcpRole::kServer;
    rules.routes = vnic.router.value_or(false);
    rules.set_mac(vnic.mac ? vnic.mac->bits : 0);
    for (const IpNetwork& network : vnic.addresses)
        rules.allow(network);
    return rules;
}

}  // namespace

VnicProfile make_vnic_profile(const VnicConfig& vnic, const SwitchConfig& config) {
    VnicProfile profile;
    profile.isolated = config.isolation;
    profile.addresses = make_address_rules(vnic);
    profile.guarded = !vnic.addresses.empty() || vnic.dhcp || vnic.router;
    profile.observed = profile.addresses.learns;
    profile.cycle_shares = vnic.cycle_shares;
    profile.buffers_max = vnic.buffers != 0 ? vnic.buffers : limits::kVnicBuffers * vnic.members;
    if (!config.isolation)
        return profile;
    if (vnic.limit_bps) {
        const std::uint64_t bytes_per_sec = *vnic.limit_bps / kBitsPerByte;
        profile.receive_limit = bytes_per_sec;
        const std::uint64_t burst = burst_for_rate(bytes_per_sec);
        profile.limit_bytes = make_profile(bytes_per_sec, burst);
        profile.run_bytes_max =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(burst, limits::kRunBytesMax));
        profile.wake_bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes_per_sec / kWakesPerSec, UINT32_MAX));
        profile.super_frame_max = bytes_per_sec < limits::kSuperFrameRateMin ? 0 : kSuperFrameMax;
    }
    if (vnic.limit_pps)
        profile.limit_packets = make_profile(*vnic.limit_pps, burst_for_packet_rate(*vnic.limit_pps));
    profile.encryption = bucket(vnic.encrypt_limit, kEncryptionBurst);
    profile.encryption_limited = vnic.encrypt_limit.has_value();
    if (vnic.encrypt_reservation != 0)
        profile.promised_encryption = bucket(vnic.encrypt_reservation, kEncryptionBurst);
    profile.limited = vnic.limit_bps.has_value() || vnic.limit_pps.has_value();
    if (vnic.reservation_pps != 0)
        profile.promised_packets =
            make_profile(vnic.reservation_pps, burst_for_promise(vnic.reservation_pps));
    profile.uplink.reservation = uplink_reservation_bps(vnic, config.accounting) / kBitsPerByte;
    // Reservations of other vNICs leave it at least this rate (SoftBW 5.2).
    if (vnic.guarantee == GuaranteeKind::kFairness)
        profile.uplink.reservation = std::max({profile.uplink.reservation, kFairnessLeast,
                                               config.uplink.capacity_bps() / kBitsPerByte / kFairnessPart});
    profile.uplink.shares = vnic.shares;
    set_receiving(profile, vnic);
    set_requests(profile, vnic, config);
    if (vnic.reservation_bps == 0 && vnic.reservation_pps == 0) {
        profile.dscp = config.uplink.best_effort_dscp;
        profile.pcp = config.uplink.best_effort_pcp;
    }
    return profile;
}

VnicProfile make_refused_profile(VnicConfig vnic, const SwitchConfig& config, OnRefused service) {
    vnic.guarantee = GuaranteeKind::kBestEffort;
    vnic.reservation_bps = vnic.reservation_pps = vnic.encrypt_reservation = 0;
    vnic.receive_reservation_bps = 0;
    vnic.shares = vnic.cycle_shares = 1;
    vnic.receive_shares = 1;
    for (VnicApplianceConfig& part : vnic.appliances) {
        part.reservation_tokens = 0;
        part.shares = 1;
    }
    VnicProfile profile = make_vnic_profile(vnic, config);
    profile.refused = service == OnRefused::kHold;
    return profile;
}

VnicProfile make_member_profile(VnicProfile whole, std::size_t members) {
    whole.buffers_max /= static_cast<std::uint32_t>(members);
    return whole;
}

VnicFixed make_member(const VnicFixed& home, VnicId id, WorkerId owner, Port* port,
                      VnicGeneration generation) {
    VnicFixed member = home;
    member.id = id;
    member.owner = owner;
    member.port = port;
    member.generation = generation;
    return member;
}

VnicFixed make_fixed(VnicId id, WorkerId owner, Port* port, const VnicConfig& vnic,
                     const SwitchConfig& config, VnicGeneration generation) {
    return {.id = id,
            .home = id,
            .generation = generation,
            .owner = owner,
            .port = port,
            .mac = vnic.mac ? vnic.mac->bits : 0,
            .mac_mask = vnic.anti_spoofing ? kMacMask : 0,
            .vlan = vnic.vlan,
            .frame_bytes_max = (vnic.mtu != 0 ? vnic.mtu : config.uplink.mtu) + kEthernetHeaderBytes,
            .overhead_bytes = config.accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0,
            .tag_bytes = static_cast<std::uint16_t>(vnic.vlan != 0 ? kVlanTagBytes : 0),
            .anti_spoofing = vnic.anti_spoofing,
            .encrypted = vnic.encrypt};
}

VnicPath::VnicPath(const VnicFixed& what, const VnicProfile& initial, std::uint64_t flood_pps, Nanos now,
                   Spread* spread, std::size_t index)
    : fixed(what), profile(initial), local(kLocalQueuePackets) {
    if (spread != nullptr) {
        member.emplace(*spread, index);
        limiter.share(member->limit);
        encryption.share(&member->encryption);
        promise.share(&member->promise);
        encryption_promise.share(&member->encryption_promise);
        flood.share(&member->flood);
    }
    flood.set_profile(make_profile(flood_pps, kFloodBurst), now);
    change(initial, now);
}

void VnicPath::change(const VnicProfile& changed, Nanos now) {
    profile = changed;
    if (!changed.addresses.learns)
        guard.forget();
    encryption.set_profile(changed.encryption, now);
    promise.set_profile(changed.promised_packets, now);
    encryption_promise.set_profile(changed.promised_encryption, now);
    promised = promise.given() || encryption_promise.given();
    limiter.set_profiles(changed.limit_bytes, changed.limit_packets, now);
    uplink = member ? member->part(profile.uplink) : profile.uplink;
}

bool VnicPath::refresh_part() {
    // The scheduler is spared changes that are less than this part of the whole.
    constexpr std::uint64_t kParts = 32;
    const ClassProfile part = member->part(profile.uplink);
    const auto differs = [](std::uint64_t before, std::uint64_t after, std::uint64_t whole) {
        return std::max(before, after) - std::min(before, after) > whole / kParts;
    };
    if (!differs(uplink.reservation, part.reservation, profile.uplink.reservation) &&
        !differs(uplink.shares, part.shares, profile.uplink.shares))
        return false;
    uplink = part;
    return true;
}

}  // namespace weir
