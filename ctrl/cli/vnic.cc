// vnic.cc - weirctl vnic: guarantees of a vNIC beside its measured traffic; changes of vNICs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>

#include "common/config/json_text.h"
#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

/// The exact quantity, as the configuration has it; `absent` when it is null or 0.
std::string exact_text(const json& vnic, const char* pointer, Quantity quantity, const char* absent) {
    const json& value = at(vnic, pointer);
    return value.is_number_unsigned() && value != 0 ? format_quantity(quantity, value.get<std::uint64_t>())
                                                    : absent;
}

/// A rate in bits and one in packets, each of which may be absent.
std::string exact_rates_text(const json& vnic, const char* bit_rate, const char* packet_rate) {
    const std::string bits = exact_text(vnic, bit_rate, Quantity::kBitRate, "");
    const std::string packets = exact_text(vnic, packet_rate, Quantity::kPacketRate, "");
    if (bits.empty() && packets.empty())
        return "none";
    return bits + (bits.empty() || packets.empty() ? "" : ", ") + packets;
}

std::string exact_limits_text(const json& vnic) {
    return exact_rates_text(vnic, "/limit_bps", "/limit_pps");
}

std::string exact_reservations_text(const json& vnic) {
    return exact_rates_text(vnic, "/reservation_bps", "/reservation_pps");
}

std::string port_text(const json& vnic) {
    const std::string socket = text_at(vnic, "/socket");
    return socket == "-" ? text_at(vnic, "/device") : socket;
}

std::string port_kind_text(const json& vnic) {
    if (text_at(vnic, "/socket") == "-")
        return "DPDK device";
    return text_at(vnic, "/mode") == "server" ? "vhost-user, the switch listens" : "vhost-user, QEMU listens";
}

std::string features_text(const json& names) {
    std::string text;
    for (const json& name : names)
        if (name.is_string())
            text += (text.empty() ? "" : " ") + name.get<std::string>();
    return text.empty() ? "none negotiated" : text;
}

/// The guarantee kind in force; of a dynamic guarantee also the bytes and the time left.
std::string guarantee_text(const json& vnic) {
    std::string kind = text_at(vnic, "/guarantee/kind");
    const json& dynamic = at(vnic, "/guarantee/dynamic");
    if (!dynamic.is_object())
        return kind;
    const auto part = [&](const char* size, const char* time) {
        return human_count(number_at(dynamic, size)) + "B in " + human_duration(number_at(dynamic, time));
    };
    return (kind == "dynamic" ? kind : "dynamic, now " + kind) + ": " + part("/size_bytes", "/time_ns") +
           "; left " + part("/left_bytes", "/time_left_ns") + ", now " +
           human_rate(number_at(vnic, "/guarantee/rate_bps"));
}

/// The addresses that the guest may use: the configured and the learned ones.
std::string guard_text(const json& guard) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    for (const json& address : list_at(guard, "/addresses"))
        if (address.is_string())
            add(address.get<std::string>());
    for (const json& learned : list_at(guard, "/learned"))
        add(text_at(learned, "/address") + " (" + text_at(learned, "/from") +
            (at(learned, "/left_ns").is_number()
                 ? ", " + whole_text(number_at(learned, "/left_ns") / 1e9) + " s left"
                 : "") +
            ")");
    const std::string role = text_at(guard, "/dhcp");
    if (text.empty())
        add(role == "client" ? "none learned yet" : "any");
    if (role != "-")
        add("DHCP " + role);
    if (at(guard, "/router") == true)
        add("router");
    return text;
}

std::string line(const char* title, const std::string& text) {
    std::string padded(title);
    padded.resize(14, ' ');
    return "  " + padded + text + '\n';
}

std::string duration_at(const json& vnic, const char* pointer) {
    return human_duration(number_at(vnic, pointer));
}

/// The rates and shares of receiving, where they are configured apart from those of sending.
std::string receives_text(const json& vnic) {
    std::string text;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
    if (at(vnic, "/receive_reservation_bps").is_number())
        add("reservation " + human_rate(number_at(vnic, "/receive_reservation_bps")));
    if (at(vnic, "/receive_limit_bps").is_number())
        add("limit " + human_rate(number_at(vnic, "/receive_limit_bps")));
    if (at(vnic, "/receive_shares").is_number())
        add("shares " + whole_text(number_at(vnic, "/receive_shares")));
    return text;
}

std::string settings_text(const json& vnic) {
    std::string text = line("port", port_text(vnic) + " (" + port_kind_text(vnic) + "), queue pairs " +
                                        whole_text(number_at(vnic, "/queues")) + ", MTU " +
                                        whole_text(number_at(vnic, "/mtu")));
    text += line("address", text_at(vnic, "/mac") + ", VLAN " + whole_text(number_at(vnic, "/vlan")) +
                                ", anti-spoofing " + (at(vnic, "/anti_spoofing") == true ? "on" : "off"));
    if (vnic.contains("guard"))
        text += line("addresses",
                     vnic["guard"].is_object() ? guard_text(vnic["guard"]) : "any: they are not checked");
    text += line("rates", "reservation " + exact_reservations_text(vnic) + ", limit " +
                              exact_limits_text(vnic) + ", shares " + whole_text(number_at(vnic, "/shares")) +
                              ", cycle shares " + whole_text(number_at(vnic, "/cycle_shares")));
    if (const std::string promise = promise_text(at(vnic, "/promise")); !promise.empty())
        text += line("promise", promise);
    if (const std::string receives = receives_text(vnic); !receives.empty())
        text += line("receives", receives);
    if (at(vnic, "/guarantee").is_object())
        text += line("guarantee", guarantee_text(vnic));
    text += line("features", features_text(list_at(vnic, "/features")));
    return text + line("steering", steering_text(vnic));
}

std::string times_text(const json& vnic) {
    std::string text = line(
        "held back",
        duration_at(vnic, "/held_back_ns/total") + ": own limit " + duration_at(vnic, "/held_back_ns/limit") +
            ", uplink " + duration_at(vnic, "/held_back_ns/uplink") + ", buffers " +
            duration_at(vnic, "/held_back_ns/buffers") + ", receivers " +
            duration_at(vnic, "/held_back_ns/receiver") +
            (at(vnic, "/encrypt") == true ? ", encryption " + duration_at(vnic, "/held_back_ns/encryption")
                                          : ""));
    text += line("queue delay", "p50 " + duration_at(vnic, "/queue_delay_ns/p50") + ", p99 " +
                                    duration_at(vnic, "/queue_delay_ns/p99") + ", max " +
                                    duration_at(vnic, "/queue_delay_ns/max"));
    if (at(vnic, "/receive").is_object())
        text += line("receiving", human_rate(number_at(vnic, "/receive/received_bps")) + " of " +
                                      human_rate(number_at(vnic, "/receive/capacity_bps")) +
                                      ", advertised to each sender " +
                                      human_rate(number_at(vnic, "/receive/advertised_bps")));
    if (at(vnic, "/refusal").is_string())
        text += line("refused", "by the controller: " + text_at(vnic, "/refusal"));
    if (at(vnic, "/socket_fault").is_string())
        text += line("no front-end", text_at(vnic, "/socket_fault"));
    if (at(vnic, "/front_end_fault").is_string())
        text += line("front-end", text_at(vnic, "/front_end_fault"));
    if (at(vnic, "/ring_fault").is_string())
        text += line("stopped", text_at(vnic, "/ring_fault"));
    if (at(vnic, "/link_fault").is_string())
        text += line("down", text_at(vnic, "/link_fault"));
    if (number_at(vnic, "/send_errors") > 0)
        text += line("device", "lost " + human_count(number_at(vnic, "/send_errors")) + " frames to the VM");
    return text + line("worker", human_count(number_at(vnic, "/cycles")) + " cycles, mean burst " +
                                     decimal_text(number_at(vnic, "/mean_burst")) + ", ring errors " +
                                     whole_text(number_at(vnic, "/ring_errors")));
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
            row.emplace_back(counters.is_object() ? human_count(number_at(counters, "/packets")) + " (" +
                                                        human_count(number_at(counters, "/bytes")) + ")"
                                                  : "-");
        }
        table.add_row(std::move(row));
    };
    add("  from VM", at(vnic, "/from_vm"));
    add("  to VM", at(vnic, "/to_vm"));
    std::string text = table.render(terminal.columns, terminal.color);
    const double delivered = number_at(vnic, "/to_vm/delivered/packets");
    if (const double straight = number_at(vnic, "/to_vm/straight_packets"); straight > 0 && delivered > 0)
        text +=
            line("straight", percent_text(100 * straight / delivered) + " of the packets to it, in one copy");
    for (const auto& [title, pointer] :
         {std::pair{"drops from VM", "/from_vm/drops"}, {"drops to VM", "/to_vm/drops"}}) {
        const std::string reasons = reasons_text(at(vnic, pointer));
        text += line(title, reasons.empty() ? "none" : styled(reasons, Style::kWarn, terminal.color));
    }
    return text;
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

/// "10.0.0.5,fd00::5" as a list; none as null.
json list_of(const std::string& text) {
    if (value_of(text).is_null())
        return nullptr;
    json list = json::array();
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
        list.push_back(part);
    return list;
}

/// The object that `key` is a member of; `key` loses its prefix. The name of an appliance may contain dots:
/// "my.cache.limit" is the limit at "my.cache".
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

json parse_object(const std::string& text) {
    JsonText parsed = read_json_text(text);
    if (!parsed.faults.empty())
        throw Failure(kExitBadInput, std::move(parsed.faults));
    return std::move(parsed.value);
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
    for (const json& vnic : vnics)
        table.add_row({text_at(vnic, "/name"), state_cell(vnic), whole_text(number_at(vnic, "/worker")),
                       text_at(vnic, "/mac"), whole_text(number_at(vnic, "/vlan")),
                       exact_reservations_text(vnic), exact_limits_text(vnic),
                       whole_text(number_at(vnic, "/shares")), whole_text(number_at(vnic, "/queues")),
                       port_text(vnic)});
    return table.render(terminal.columns, terminal.color);
}

std::string vnic_text(const json& vnic, const std::string& accounting, const Terminal& terminal) {
    const Cell state = state_cell(vnic);
    std::string text = text_at(vnic, "/name") + ": " + styled(state.text, state.style, terminal.color) +
                       ", worker " + whole_text(number_at(vnic, "/worker")) + ", tenant " +
                       text_at(vnic, "/tenant") + '\n';
    text += settings_text(vnic) + times_text(vnic) + traffic_text(vnic, terminal);
    return text +
           line("accounting", accounting == "l2" ? "bytes of L2 frames" : "bytes on the wire (frame + 24)");
}

/// One word is JSON or a file, unless it has "=" and no such file exists.
json object_of_words(const std::vector<std::string>& words) {
    const std::string& first = words.front();
    const std::size_t begin = first.find_first_not_of(" \t\n");
    if (words.size() == 1 && begin != std::string::npos && first[begin] == '{')
        return parse_object(first);
    const bool file =
        words.size() == 1 && (first.find('=') == std::string::npos || std::ifstream(first).good());
    return file ? parse_object(read_input(first, "a readable file, an object in { }, or key=value words"))
                : object_of_pairs(words);
}

json object_of_pairs(const std::vector<std::string>& pairs) {
    json object = json::object();
    for (const std::string& pair : pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0)
            throw bad_input("KEY=VALUE", pair, "key=value, such as limit=2Gbit",
                            "this word has no key or no \"=\"");
        std::string key = pair.substr(0, equals);
        json& owner = object_with(object, key);
        if (owner.contains(key))
            throw bad_input("KEY=VALUE", pair, "each key once", "this key was given twice");
        const std::string value = pair.substr(equals + 1);
        owner[key] = key == "addresses" ? list_of(value) : value_of(value);
    }
    return object;
}

void add_vnic_list(CLI::App& command, Session& session) {
    command.footer("Example:\n  weirctl vnic list --json");
    command.callback([&session] { session.print(session.ask("vnic.list"), vnic_list_text); });
}

void add_vnic_show(CLI::App& command, Session& session) {
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "the vNIC")->required();
    command.footer("Example:\n  weirctl vnic show vm1\nCounters and times are since the vNIC was added.");
    command.callback([&session, name] {
        session.print(session.ask("vnic.show", {{"name", *name}}),
                      [&](const json& vnic, const Terminal& terminal) {
                          const json status = session.ask("status");
                          return vnic_text(vnic, text_at(status, "/accounting"), terminal);
                      });
    });
}

void add_vnic_set(CLI::App& command, Session& session) {
    auto name = std::make_shared<std::string>();
    auto pairs = std::make_shared<std::vector<std::string>>();
    command.add_option("NAME", *name, "the vNIC")->required();
    command.add_option("PAIRS", *pairs, "KEY=VALUE, each a new value; none removes a limit")->required();
    command.footer(
        "KEY is guarantee_kind, reservation, reservation_pps, size, time, limit, limit_pps, shares,\n"
        "cycle_shares, buffers, receive_reservation, receive_limit, receive_shares, encrypt_reservation,\n"
        "encrypt_limit, addresses (A,B,...), dhcp or router; APPLIANCE.KEY\n"
        "changes the vNIC's part of an appliance (limit, shares, ...).\n"
        "Either all values change or, with any fault, none. The configuration file is not changed.\n"
        "Examples:\n"
        "  weirctl vnic set vm1 limit=2Gbit shares=200\n"
        "  weirctl vnic set vm1 limit_pps=none disk.limit=5ktokens\n"
        "  weirctl vnic set vm1 addresses=10.0.0.5,fd00:5::/64 dhcp=none");
    command.callback([&session, name, pairs] {
        session.print(session.ask("vnic.set", {{"name", *name}, {"change", object_of_pairs(*pairs)}}),
                      *name + " changed\n");
    });
}

void add_vnic_add(CLI::App& command, Session& session) {
    auto words = std::make_shared<std::vector<std::string>>();
    command
        .add_option(
            "FILE|JSON|PAIRS", *words,
            "the vNIC as in \"vnics\" of the configuration: a file (- is standard input), an object, or "
            "its keys as pairs, KEY=VALUE")
        ->required();
    command.footer(
        "Examples:\n"
        "  weirctl vnic add name=vm9 socket=/run/weir/vm/vm9.sock mac=52:54:00:00:00:09 limit=1Gbit\n"
        "  weirctl vnic add vm9.jsonc");
    command.callback([&session, words] {
        const json vnic = object_of_words(*words);
        const json& name = at(vnic, "/name");
        session.print(session.ask("vnic.add", {{"vnic", vnic}}),
                      (name.is_string() ? name.get<std::string>() : "vNIC") + " added\n");
    });
}

void add_vnic_remove(CLI::App& command, Session& session) {
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "the vNIC")->required();
    command.footer(
        "Its guest loses the link, its queued frames are dropped as vnic_removed, and its counters are "
        "lost.\n"
        "Example:\n"
        "  weirctl vnic remove vm9");
    command.callback([&session, name] {
        session.print(session.ask("vnic.remove", {{"name", *name}}), *name + " removed\n");
    });
}

}  // namespace weir::cli
