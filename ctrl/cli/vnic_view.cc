// vnic_view.cc - what was promised to a vNIC beside what it got.
#include "ctrl/cli/vnic_view.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/units.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

// Exact, as it would be written in the configuration; `absent` when there is none.
std::string exact(const json& vnic, const char* pointer, Quantity quantity, const char* absent) {
    const json& value = at(vnic, pointer);
    return value.is_number_unsigned() && value != 0 ? format_quantity(quantity, value.get<std::uint64_t>())
                                                    : absent;
}

std::string limits_text(const json& vnic) {
    const std::string bits = exact(vnic, "/limit_bps", Quantity::kBitRate, "");
    const std::string packets = exact(vnic, "/limit_pps", Quantity::kPacketRate, "");
    if (bits.empty() && packets.empty())
        return "none";
    return bits + (bits.empty() || packets.empty() ? "" : ", ") + packets;
}

std::string port_text(const json& vnic) {
    const std::string socket = text_at(vnic, "/socket");
    return socket == "-" ? text_at(vnic, "/device") : socket;
}

std::string role_text(const json& vnic) {
    const std::string socket = text_at(vnic, "/socket");
    if (socket == "-")
        return "DPDK device";
    return text_at(vnic, "/mode") == "server" ? "vhost-user, the switch listens" : "vhost-user, QEMU listens";
}

std::string names_text(const json& names) {
    std::string text;
    for (const json& name : names)
        if (name.is_string())
            text += (text.empty() ? "" : " ") + name.get<std::string>();
    return text.empty() ? "none negotiated" : text;
}

std::string line(const char* title, const std::string& text) {
    std::string padded(title);
    padded.resize(14, ' ');
    return "  " + padded + text + '\n';
}

std::string duration_at(const json& vnic, const char* pointer) {
    return human_duration(number_at(vnic, pointer));
}

std::string traffic_text(const json& vnic, const Terminal& terminal) {
    Table table({{"  PACKETS (BYTES)"},
                 {"OFFERED", true},
                 {"ADMITTED", true, 2},
                 {"DELIVERED", true},
                 {"QUEUED", true, 1},
                 {"DROPPED", true}});
    const auto add = [&](const char* title, const json& direction) {
        std::vector<Cell> row{title};
        for (const char* what : {"/offered", "/admitted", "/delivered", "/queued", "/dropped"}) {
            const json& counters = at(direction, what);
            const bool present = counters.is_object();
            row.emplace_back(present ? human_count(number_at(counters, "/packets")) + " (" +
                                           human_count(number_at(counters, "/bytes")) + ")"
                                     : "-");
        }
        table.add_row(std::move(row));
    };
    add("  from VM", at(vnic, "/from_vm"));
    add("  to VM", at(vnic, "/to_vm"));
    return table.render(terminal.columns, terminal.colour);
}

json value_of(const std::string& text) {
    if (text == "none" || text == "null")
        return nullptr;
    if (text == "true" || text == "false")
        return text == "true";
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size())
        return number;
    return text;
}

// "disk.limit" is a key of the vNIC's part of the appliance "disk", whose own name may have dots; others are
// the vNIC's.
json& object_with(json& vnic, std::string& key) {
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos || dot == 0)
        return vnic;
    const std::string appliance = key.substr(0, dot);
    key.erase(0, dot + 1);
    json& parts = vnic["appliances"];
    for (json& part : parts)
        if (part["name"] == appliance)
            return part;
    parts.push_back({{"name", appliance}});
    return parts.back();
}

}  // namespace

std::string vnic_list_text(const json& list, const Terminal& terminal) {
    const json& vnics = list_at(list, "/vnics");
    if (vnics.empty())
        return "no vNICs\n";
    Table table({{"NAME"},
                 {"STATE"},
                 {"WORKER", true, 3},
                 {"MAC", false, 2},
                 {"VLAN", true, 4},
                 {"RESERVATION", true},
                 {"LIMIT", true},
                 {"SHARES", true, 1},
                 {"QUEUES", true, 5},
                 {"PORT"}});
    for (const json& vnic : vnics) {
        const std::string state = text_at(vnic, "/state");
        table.add_row({text_at(vnic, "/name"),
                       {state, state == "up" ? Style::kGood : Style::kBad},
                       whole_text(number_at(vnic, "/worker")),
                       text_at(vnic, "/mac"),
                       whole_text(number_at(vnic, "/vlan")),
                       exact(vnic, "/reservation_bps", Quantity::kBitRate, "none"),
                       limits_text(vnic),
                       whole_text(number_at(vnic, "/shares")),
                       whole_text(number_at(vnic, "/queues")),
                       port_text(vnic)});
    }
    return table.render(terminal.columns, terminal.colour);
}

/// What is promised now; of a dynamic guarantee also what is left.
std::string guarantee_text(const json& vnic) {
    const std::string kind = text_at(vnic, "/guarantee/kind");
    const json& dynamic = at(vnic, "/guarantee/dynamic");
    if (!dynamic.is_object())
        return kind;
    const auto part = [&](const char* size, const char* time, const char* between) {
        return human_count(number_at(dynamic, size)) + "B" + between +
               human_duration(number_at(dynamic, time));
    };
    return (kind == "dynamic" ? kind : "dynamic, now " + kind) + ": " +
           part("/size_bytes", "/time_ns", " in ") + "; left " +
           part("/left_bytes", "/time_left_ns", " in ") + ", now " +
           human_rate(number_at(vnic, "/guarantee/rate_bps"));
}

std::string vnic_text(const json& vnic, const std::string& accounting, const Terminal& terminal) {
    const std::string state = text_at(vnic, "/state");
    std::string text = text_at(vnic, "/name") + ": " +
                       styled(state, state == "up" ? Style::kGood : Style::kBad, terminal.colour) +
                       ", worker " + whole_text(number_at(vnic, "/worker")) + ", tenant " +
                       text_at(vnic, "/tenant") + '\n';
    text += line("port", port_text(vnic) + " (" + role_text(vnic) + "), queue pairs " +
                             whole_text(number_at(vnic, "/queues")) + ", MTU " +
                             whole_text(number_at(vnic, "/mtu")));
    text += line("address", text_at(vnic, "/mac") + ", VLAN " + whole_text(number_at(vnic, "/vlan")) +
                                ", anti-spoofing " + (at(vnic, "/anti_spoofing") == true ? "on" : "off"));
    text += line("promise", "reservation " + exact(vnic, "/reservation_bps", Quantity::kBitRate, "none") +
                                ", limit " + limits_text(vnic) + ", shares " +
                                whole_text(number_at(vnic, "/shares")) + ", cycle shares " +
                                whole_text(number_at(vnic, "/cycle_shares")));
    if (at(vnic, "/guarantee").is_object())
        text += line("guarantee", guarantee_text(vnic));
    text += line("features", names_text(list_at(vnic, "/features")));
    text += line("steering", steering_text(vnic));
    text += line(
        "held back",
        duration_at(vnic, "/held_back_ns/total") + ": own limit " + duration_at(vnic, "/held_back_ns/limit") +
            ", uplink " + duration_at(vnic, "/held_back_ns/uplink") + ", buffers " +
            duration_at(vnic, "/held_back_ns/buffers") +
            (at(vnic, "/encrypt") == true ? ", encryption " + duration_at(vnic, "/held_back_ns/encryption")
                                          : ""));
    text += line("queue delay", "p50 " + duration_at(vnic, "/queue_delay_ns/p50") + ", p99 " +
                                    duration_at(vnic, "/queue_delay_ns/p99") + ", max " +
                                    duration_at(vnic, "/queue_delay_ns/max"));
    if (at(vnic, "/receive").is_object())
        text += line("receives", human_rate(number_at(vnic, "/receive/received_bps")) + " of its " +
                                     human_rate(number_at(vnic, "/receive/capacity_bps")) +
                                     ", senders are told " +
                                     human_rate(number_at(vnic, "/receive/advertised_bps")));
    text += line("switch", human_count(number_at(vnic, "/cycles")) + " cycles, mean burst " +
                               decimal_text(number_at(vnic, "/mean_burst")) + ", ring errors " +
                               whole_text(number_at(vnic, "/ring_errors")));
    text += traffic_text(vnic, terminal);
    for (const auto& [title, pointer] :
         {std::pair{"dropped from", "/from_vm/drops"}, {"dropped to", "/to_vm/drops"}}) {
        const std::string reasons = reasons_text(at(vnic, pointer));
        text += line(title, reasons.empty() ? "nothing" : styled(reasons, Style::kWarn, terminal.colour));
    }
    return text + line("accounting",
                       accounting == "l2" ? "bytes are L2 frames" : "bytes are on the wire (frame + 24)");
}

json object_of_pairs(const std::vector<std::string>& pairs) {
    json object = json::object();
    for (const std::string& pair : pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0)
            throw bad_input("KEY=VALUE", pair, "key=value, such as limit=2Gbit",
                            "this is not a key and a value");
        std::string key = pair.substr(0, equals);
        json& of = object_with(object, key);
        if (of.contains(key))
            throw bad_input("KEY=VALUE", pair, "each key once", "duplicate key");
        of[key] = value_of(pair.substr(equals + 1));
    }
    return object;
}

}  // namespace weir::cli
