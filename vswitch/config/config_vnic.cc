// config_vnic.cc - one vNIC: read and checked against the others, changed at run time, written as JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/vnic_promise.h"
#include "common/units.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr Range kLimitRange = kPromisedLimitRange;       // bit/s
constexpr Range kLimitPpsRange{10, 1'000'000'000};       // packet/s
constexpr Range kReservationRange{0, kRateMax};          // bit/s
constexpr Range kReservationPpsRange{0, 1'000'000'000};  // packet/s
constexpr std::uint64_t kPromisedFrameBytes = 64;        // of `reservation_pps`
constexpr Range kBuffersRange{64, 1'048'576};
constexpr Range kVlanRange{0, 4094};
constexpr std::array kModes{Word<VhostMode>{"client", VhostMode::kClient},
                            Word<VhostMode>{"server", VhostMode::kServer}};
/// Keys that can change while the vNIC runs; the others are negotiated with the guest, or decide its queues.
constexpr std::array<std::string_view, 20> kRunTimeKeys{"guarantee_kind",
                                                        "reservation",
                                                        "reservation_pps",
                                                        "size",
                                                        "time",
                                                        "limit",
                                                        "limit_pps",
                                                        "shares",
                                                        "cycle_shares",
                                                        "buffers",
                                                        "receive_reservation",
                                                        "receive_limit",
                                                        "receive_shares",
                                                        "encrypt_reservation",
                                                        "encrypt_limit",
                                                        "addresses",
                                                        "dhcp",
                                                        "router",
                                                        "appliances",
                                                        "worker"};

/// "0660"
std::string octal(std::uint32_t mode) {
    std::string text = "0000";
    for (std::size_t digit = text.size(); mode != 0; mode >>= 3U)
        text[--digit] = static_cast<char>('0' + (mode & 7U));
    return text;
}

/// Of the socket's file, which in the mode "client" is QEMU's.
void read_socket_rights(ObjectReader& reader, VnicConfig& vnic) {
    constexpr std::uint32_t kAll = 0777;
    constexpr std::size_t kGroupBytesMax = 32;
    if (reader.read_text("socket_group", vnic.socket_group)) {
        if (vnic.socket_group.empty() || vnic.socket_group.size() > kGroupBytesMax)
            reader.fault("socket_group", "the name of a group, such as \"weir-vm\"", "this cannot be one");
    }
    if (vnic.mode == VhostMode::kClient && !reader.has("device") &&
        (reader.has("socket_group") || reader.has("socket_mode")))
        reader.fault("mode", "\"server\", or neither socket_group nor socket_mode",
                     "in the mode \"client\" QEMU makes the socket");
    std::string mode;
    if (!reader.read_text("socket_mode", mode))
        return;
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(mode.data(), mode.data() + mode.size(), bits, 8);
    if (error != std::errc() || end != mode.data() + mode.size() || mode.size() < 3 || bits > kAll)
        reader.fault("socket_mode", "three or four octal digits up to \"0777\", such as \"0660\"",
                     "this is no mode of a file");
    else
        vnic.socket_mode = bits;
}

void read_port(ObjectReader& reader, VnicConfig& vnic) {
    read_socket_path(reader, "socket", vnic.socket);
    read_device(reader, "device", vnic.device);
    reader.read_word<VhostMode>("mode", vnic.mode, kModes);
    reader.read_flag("mergeable", vnic.mergeable);
    reader.read_flag("packed", vnic.packed);
    read_socket_rights(reader, vnic);
    const bool has_device = reader.has("device");
    if (reader.has("socket") == has_device)
        reader.fault(has_device ? "device" : "socket", "a socket (vhost-user) or a device (DPDK)",
                     has_device ? "there is a socket too; a vNIC has one port" : "the vNIC has no port");
    if (!has_device)
        return;
    for (const std::string_view key : {"mode", "mergeable", "packed", "socket_group", "socket_mode"})
        if (reader.has(key))
            reader.fault(key, "no such key: the vNIC has a device", "this key is for vhost-user sockets");
}

void read_offloads(ObjectReader& reader, VnicConfig& vnic) {
    reader.read_flag("checksum", vnic.checksum);
    vnic.tso = vnic.checksum;
    reader.read_flag("tso", vnic.tso);
    if (vnic.tso && !vnic.checksum)
        reader.fault("tso", "false, or \"checksum\": true", "segmentation needs checksum offload");
}

/// Reads the kind of the guarantee and the keys that belong to it; those of other kinds are faults.
void read_kind(ObjectReader& reader, VnicConfig& vnic) {
    reader.read_quantity("reservation_pps", Quantity::kPacketRate, vnic.reservation_pps,
                         kReservationPpsRange);
    VnicPromise stated;
    read_guarantee(reader, stated, vnic.reservation_pps != 0);
    vnic.guarantee = stated.guarantee;
    vnic.reservation_bps = stated.reservation_bps;
    vnic.size_bytes = stated.size_bytes;
    vnic.time = stated.time;
    const bool has_rate = !vnic.guarantee || *vnic.guarantee == GuaranteeKind::kStrict ||
                          *vnic.guarantee == GuaranteeKind::kDynamic;
    if (!has_rate && vnic.reservation_pps != 0)
        reader.fault("reservation_pps", "0pps, or \"guarantee_kind\": \"strict\"",
                     "this kind of guarantee has no rate");
    if (vnic.guarantee == GuaranteeKind::kBestEffort && reader.has("shares"))
        reader.fault("shares", "nothing, or \"guarantee_kind\": \"fairness\"",
                     "all best-effort vNICs have one share each");
}

/// Frame of 64 bytes as the uplink accounts it.
std::uint64_t promised_packet_bits(const VnicConfig& vnic, Accounting accounting) {
    const std::uint64_t overhead = accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0;
    const std::uint64_t tag = vnic.vlan != 0 ? limits::kVlanTagBytes : 0;
    return (kPromisedFrameBytes + overhead + tag) * kBitsPerByte;
}

/// Promised packets fit into both limits.
void check_packet_promise(ObjectReader& reader, const VnicConfig& vnic, Accounting accounting) {
    if (vnic.limit_pps && vnic.reservation_pps > *vnic.limit_pps)
        reader.fault("reservation_pps", "at most limit_pps, " + format_packet_rate(*vnic.limit_pps),
                     "the reservation is above the limit");
    const std::uint64_t bits = promised_packet_bits(vnic, accounting);
    if (vnic.limit_bps && vnic.reservation_pps > *vnic.limit_bps / bits)
        reader.fault("reservation_pps",
                     "at most " + format_packet_rate(*vnic.limit_bps / bits) + ", the limit of " +
                         format_rate(*vnic.limit_bps) + " in packets of 64 bytes",
                     "the reservation is above the limit");
}

void read_guarantees(ObjectReader& reader, VnicConfig& vnic, const SwitchConfig& base) {
    read_kind(reader, vnic);
    reader.read_limit("limit", Quantity::kBitRate, vnic.limit_bps, kLimitRange);
    reader.read_limit("limit_pps", Quantity::kPacketRate, vnic.limit_pps, kLimitPpsRange);
    reader.read_integer("shares", vnic.shares, kSharesRange);
    reader.read_integer("cycle_shares", vnic.cycle_shares, kSharesRange);
    reader.read_integer("buffers", vnic.buffers, kBuffersRange);
    const char* const kPromise = vnic.guarantee == GuaranteeKind::kDynamic ? "size" : "reservation";
    if (vnic.guarantee == GuaranteeKind::kBestEffort)
        vnic.shares = 1;
    if (vnic.limit_bps && vnic.reservation_bps > *vnic.limit_bps)
        reader.fault(kPromise, "at most the limit, " + format_rate(*vnic.limit_bps),
                     "the reservation is above the limit");
    check_packet_promise(reader, vnic, base.accounting);
    if (vnic.reservation_bps > 0 && base.uplink.device.empty())
        reader.fault(kPromise, "0bit, or an \"uplink\"",
                     "a reservation is a part of the uplink, and there is none");
}

/// Reads the rates at which the vNIC may receive, from the wire and from VMs of this host.
void read_receiving(ObjectReader& reader, VnicConfig& vnic, const SwitchConfig& base) {
    reader.read_limit("receive_reservation", Quantity::kBitRate, vnic.receive_reservation_bps,
                      kReservationRange);
    reader.read_limit("receive_limit", Quantity::kBitRate, vnic.receive_limit_bps, kLimitRange);
    reader.read_optional("receive_shares", vnic.receive_shares, kSharesRange);
    const std::uint64_t reservation = vnic.receive_reservation_bps.value_or(0);
    if (vnic.receive_limit_bps && reservation > *vnic.receive_limit_bps)
        reader.fault("receive_reservation", "at most receive_limit, " + format_rate(*vnic.receive_limit_bps),
                     "the reservation is above the limit");
    if (reservation > 0 && base.uplink.device.empty())
        reader.fault("receive_reservation", "0bit, or an \"uplink\"",
                     "it is a part of the traffic from the uplink, and there is none");
}

/// @param last index into `workers`
void read_worker(ObjectReader& reader, VnicConfig& vnic, std::size_t last) {
    const json* const worker = reader.take("worker");
    if (worker == nullptr || *worker == "auto")
        return;
    if (worker->is_string())
        reader.fault("worker", "0 to " + std::to_string(last) + ", or \"auto\"",
                     "it is an index into `workers`");
    else
        reader.read_integer("worker", vnic.worker, {0, last});
}

void read_place(ObjectReader& reader, VnicConfig& vnic, const SwitchConfig& base) {
    reader.read_integer("queues", vnic.queues, {1, limits::kQueuesMax});
    vnic.mtu = base.uplink.mtu;
    reader.read_integer("mtu", vnic.mtu, kMtuRange);
    read_worker(reader, vnic, std::max<std::size_t>(base.workers.size(), 1) - 1);
    vnic.isolation = base.isolation;
    reader.read_flag("spread", vnic.spread);
    if (vnic.spread)
        vnic.members =
            std::clamp<std::uint32_t>(static_cast<std::uint32_t>(base.workers.size()), 1, vnic.queues);
}

/// Several workers poll the queue pairs, and know nothing of each other's connections and addresses.
void check_spread(ObjectReader& reader, const VnicConfig& vnic, const SwitchConfig& base) {
    if (!vnic.spread)
        return;
    const auto refuse = [&reader](const char* allowed, const std::string& why) {
        reader.fault("spread", std::string(allowed) + ", or no \"spread\"", why);
    };
    if (!vnic.device.empty())
        refuse("a \"socket\"", "the switch uses one queue of a device");
    else if (vnic.queues < 2)
        refuse("\"queues\": 2 to 16", "a queue pair is polled by one worker");
    if (base.workers.size() < 2)
        refuse("two or more \"workers\" of the switch", "there is one");
    if (!vnic.appliances.empty())
        refuse("no \"appliances\"", "connections to them are tracked on one worker");
    if (vnic.dhcp == DhcpRole::kClient)
        refuse("\"addresses\"", "addresses that DHCP assigns are learned on one worker");
}

void check_unique(ObjectReader& reader, const VnicConfig& vnic, const SwitchConfig& base,
                  const std::vector<VnicConfig>& others) {
    for (const VnicConfig& other : others) {
        const std::string owner = "vNIC \"" + other.name + "\" has it already";
        if (!vnic.name.empty() && other.name == vnic.name)
            reader.fault("name", "a name of its own", owner);
        if (!vnic.socket.empty() && other.socket == vnic.socket)
            reader.fault("socket", "a socket of its own", owner);
        if (!vnic.device.empty() && device_identity(other.device) == device_identity(vnic.device))
            reader.fault("device", "a device of its own", owner);
        if (vnic.mac && other.mac == vnic.mac && other.vlan == vnic.vlan)
            reader.fault("mac", "an address of its own in VLAN " + std::to_string(vnic.vlan), owner);
    }
    if (!vnic.socket.empty() && vnic.socket == base.control_socket)
        reader.fault("socket", "a socket of its own", "it is the control_socket");
    if (!vnic.socket.empty() && vnic.socket == base.control_read_socket)
        reader.fault("socket", "a socket of its own", "it is the control_read_socket");
    if (!vnic.device.empty() && device_identity(vnic.device) == device_identity(base.uplink.device))
        reader.fault("device", "a device of its own", "it is the uplink's");
}

/// Checks the sum of all reservations against the uplink.
void check_total(const VnicConfig& vnic, const std::string& path, const SwitchConfig& base,
                 const std::vector<VnicConfig>& others, Faults& faults) {
    const std::uint64_t own = uplink_reservation_bps(vnic, base.accounting);
    std::uint64_t total = own;
    for (const VnicConfig& other : others)
        total += uplink_reservation_bps(other, base.accounting);
    if (base.uplink.device.empty() || own == 0 || reservation_excess(base, total) == 0)
        return;
    const std::string why = "with the other vNICs that would be " + format_rate(total);
    if (own > vnic.reservation_bps)
        faults.push_back({path + ".reservation_pps", format_packet_rate(vnic.reservation_pps),
                          reservation_rule(base),
                          "its packets of 64 bytes are " + format_rate(own) + "; " + why});
    else
        faults.push_back({path + (vnic.guarantee == GuaranteeKind::kDynamic ? ".size" : ".reservation"),
                          format_rate(vnic.reservation_bps), reservation_rule(base), why});
}

/// The same for the reservations of receiving.
void check_receive_total(const VnicConfig& vnic, const std::string& path, const SwitchConfig& base,
                         const std::vector<VnicConfig>& others, Faults& faults) {
    const std::uint64_t own = vnic.receive_reservation_bps.value_or(0);
    std::uint64_t total = own;
    for (const VnicConfig& other : others)
        total += other.receive_reservation_bps.value_or(0);
    if (!base.uplink.device.empty() && own != 0 && reservation_excess(base, total) != 0)
        faults.push_back({path + ".receive_reservation", format_rate(own), reservation_rule(base),
                          "with the other vNICs that would be " + format_rate(total)});
}

}  // namespace

VnicConfig read_vnic(const json& object, const std::string& path, const SwitchConfig& base,
                     const std::vector<VnicConfig>& others, Faults& faults) {
    ObjectReader reader(object, path, faults);
    VnicConfig vnic;
    if (!object.is_object())
        return vnic;
    read_name(reader, "name", vnic.name);
    if (!reader.has("name"))
        reader.fault("name", "a name, such as \"vm1\"", "every vNIC needs a name");
    read_port(reader, vnic);
    read_name(reader, "tenant", vnic.tenant);
    read_mac_address(reader, "mac", vnic.mac);
    reader.read_integer("vlan", vnic.vlan, kVlanRange);
    reader.read_flag("anti_spoofing", vnic.anti_spoofing);
    if (!reader.has("mac") && vnic.anti_spoofing)
        reader.fault("mac", "the guest's address, or \"anti_spoofing\": false",
                     "anti-spoofing needs the guest's address");
    read_addresses(reader, vnic, others, faults);
    read_guarantees(reader, vnic, base);
    read_receiving(reader, vnic, base);
    read_place(reader, vnic, base);
    read_vnic_appliances(reader, vnic.appliances, base, faults);
    read_encryption(reader, vnic, base);
    read_offloads(reader, vnic);
    check_spread(reader, vnic, base);
    reader.finish();
    check_unique(reader, vnic, base, others);
    return vnic;
}

std::uint64_t uplink_reservation_bps(const VnicConfig& vnic, Accounting accounting) {
    return std::max(vnic.reservation_bps, vnic.reservation_pps * promised_packet_bits(vnic, accounting));
}

std::uint64_t reservation_excess(const SwitchConfig& base, std::uint64_t total_bps) {
    const std::uint64_t capacity = base.uplink.capacity_bps();
    return base.overcommit || total_bps <= capacity ? 0 : total_bps - capacity;
}

std::string reservation_rule(const SwitchConfig& base) {
    const auto headroom = static_cast<std::uint64_t>(std::llround(base.uplink.headroom * 1e6));
    return "in all at most " + format_rate(base.uplink.capacity_bps()) + ", the uplink's " +
           format_rate(base.uplink.rate_bps) + " less " + format_quantity(Quantity::kPercent, headroom) +
           " headroom; or \"overcommit\": true";
}

std::variant<VnicConfig, Faults> parse_vnic(const json& object, const std::string& path,
                                            const SwitchConfig& base, const std::vector<VnicConfig>& others) {
    Faults faults;
    VnicConfig vnic = read_vnic(object, path, base, others, faults);
    check_total(vnic, path, base, others, faults);
    check_receive_total(vnic, path, base, others, faults);
    check_buffers(vnic, path, base, others, faults);
    if (!faults.empty())
        return faults;
    return vnic;
}

std::variant<VnicConfig, Faults> change_vnic(const VnicConfig& current, const json& change,
                                             const std::string& path, const SwitchConfig& base,
                                             const std::vector<VnicConfig>& others) {
    if (!change.is_object() || change.empty())
        return Faults{
            {path, show_value(change), "an object such as {\"limit\": \"2Gbit\"}", "nothing to change"}};
    json merged = vnic_to_json(current);
    if (change.contains("guarantee_kind"))  // keys that belong to the kind before are removed with it
        for (const char* key : {"reservation", "reservation_pps", "size", "time", "shares"})
            if (std::string_view(key) != "shares" || change["guarantee_kind"] == "best_effort" ||
                current.guarantee == GuaranteeKind::kBestEffort)
                merged.erase(key);
    merged.update(change);
    if (change.contains("appliances"))
        merged["appliances"] = merge_vnic_appliances(change["appliances"], current.appliances);
    Faults faults;
    VnicConfig vnic = read_vnic(merged, path, base, others, faults);
    check_vnic_appliances(vnic.appliances, current.appliances, path + ".appliances", faults);
    if (uplink_reservation_bps(vnic, base.accounting) != uplink_reservation_bps(current, base.accounting) ||
        change.contains("reservation") || change.contains("reservation_pps"))
        check_total(vnic, path, base, others, faults);
    if (change.contains("receive_reservation"))
        check_receive_total(vnic, path, base, others, faults);
    if (change.contains("buffers"))
        check_buffers(vnic, path, base, others, faults);
    for (const auto& [key, value] : change.items()) {
        const std::string where = path + '.' + show_text(key);
        const auto reported = [&where](const Fault& fault) { return fault.path == where; };
        const bool run_time = std::find(kRunTimeKeys.begin(), kRunTimeKeys.end(), key) != kRunTimeKeys.end();
        if (!run_time && std::none_of(faults.begin(), faults.end(), reported))
            faults.push_back({where, show_value(value), list_words(kRunTimeKeys),
                              "this cannot change while the vNIC runs; remove it and add it anew"});
    }
    if (!faults.empty())
        return faults;
    return vnic;
}

json vnic_to_json(const VnicConfig& vnic) {
    json out{{"name", vnic.name},
             {"vlan", vnic.vlan},
             {"anti_spoofing", vnic.anti_spoofing},
             {"cycle_shares", vnic.cycle_shares},
             {"queues", vnic.queues},
             {"tso", vnic.tso},
             {"checksum", vnic.checksum}};
    if (vnic.guarantee)
        out["guarantee_kind"] = guarantee_name(*vnic.guarantee);
    if (vnic.guarantee == GuaranteeKind::kDynamic) {
        out["size"] = format_size(vnic.size_bytes);
        out["time"] = format_duration(vnic.time);
    } else {
        out["reservation"] = format_rate(vnic.reservation_bps);
    }
    if (vnic.reservation_pps != 0)
        out["reservation_pps"] = format_packet_rate(vnic.reservation_pps);
    if (vnic.guarantee != GuaranteeKind::kBestEffort)
        out["shares"] = vnic.shares;
    if (vnic.device.empty()) {
        out["socket"] = vnic.socket;
        out["mode"] = std::ranges::find(kModes, vnic.mode, &Word<VhostMode>::value)->text;
        if (!vnic.socket_group.empty())
            out["socket_group"] = vnic.socket_group;
        if (vnic.socket_mode)
            out["socket_mode"] = octal(*vnic.socket_mode);
        out["mergeable"] = vnic.mergeable;
        out["packed"] = vnic.packed;
    } else {
        out["device"] = vnic.device;
    }
    if (!vnic.tenant.empty())
        out["tenant"] = vnic.tenant;
    if (vnic.mac)
        out["mac"] = vnic.mac->to_string();
    write_addresses(vnic, out);
    if (vnic.limit_bps)
        out["limit"] = format_rate(*vnic.limit_bps);
    if (vnic.limit_pps)
        out["limit_pps"] = format_packet_rate(*vnic.limit_pps);
    if (vnic.receive_reservation_bps)
        out["receive_reservation"] = format_rate(*vnic.receive_reservation_bps);
    if (vnic.receive_limit_bps)
        out["receive_limit"] = format_rate(*vnic.receive_limit_bps);
    if (vnic.receive_shares)
        out["receive_shares"] = *vnic.receive_shares;
    if (vnic.mtu != 0)
        out["mtu"] = vnic.mtu;
    if (vnic.buffers != 0)
        out["buffers"] = vnic.buffers;
    if (vnic.worker)
        out["worker"] = *vnic.worker;
    if (vnic.spread)
        out["spread"] = true;
    if (vnic.encrypt)
        out["encrypt"] = true;
    if (vnic.encrypt_reservation != 0)
        out["encrypt_reservation"] = format_quantity(Quantity::kTokenRate, vnic.encrypt_reservation);
    if (vnic.encrypt_limit)
        out["encrypt_limit"] = format_quantity(Quantity::kTokenRate, *vnic.encrypt_limit);
    if (!vnic.appliances.empty())
        out["appliances"] = vnic_appliances_to_json(vnic.appliances);
    return out;
}

}  // namespace weir
