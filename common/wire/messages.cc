// messages.cc - the JSON messages, read as strictly as configurations and with every fault.
#include "common/wire/messages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"

namespace weir::wire {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSchema = 1;
constexpr std::size_t kListMax = 20'000;
constexpr std::size_t kTextBytesMax = 300;
constexpr Range kVlanRange{0, 4094};
constexpr Range kRateRange{0, UINT64_MAX};
constexpr Range kIdRange{0, UINT32_MAX};
constexpr Range kProtocolRange{1, 65'535};
constexpr std::array kKinds{Word<Endpoint::Kind>{"vnic", Endpoint::Kind::kVnic},
                            Word<Endpoint::Kind>{"appliance", Endpoint::Kind::kAppliance}};
constexpr std::array<const char*, kParts> kRates{"there", "appliance", "back"};

std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void read_short_text(ObjectReader& reader, std::string_view key, std::string& out) {
    if (reader.read_text(key, out) && out.size() > kTextBytesMax)
        reader.fault(key, "at most 300 bytes", "it is too long");
}

void read_mac(ObjectReader& reader, std::string& out) {
    std::string text;
    if (!reader.read_text("mac", text) || text.empty())
        return;
    if (is_mac_text(text))
        out = std::move(text);
    else
        reader.fault("mac", "an address such as \"52:54:00:00:00:01\"", "this is not a MAC address");
}

void read_names(ObjectReader& reader, std::string_view key, std::size_t most, std::vector<std::string>& out) {
    const json* list = reader.take(key);
    if (list == nullptr)
        return;
    const auto is_named = [](const json& entry) {
        return entry.is_string() && is_name(entry.get_ref<const std::string&>());
    };
    if (!list->is_array() || list->size() > most || !std::ranges::all_of(*list, is_named))
        reader.fault(key, "a list of at most " + std::to_string(most) + " names", "this is none");
    else
        out = list->get<std::vector<std::string>>();
}

/// Marks the object as known, with everything in it.
void read_extensions(ObjectReader& reader) {
    if (const json* object = reader.take("extensions"); object != nullptr && !object->is_object())
        reader.fault("extensions", "an object", "it is none");
}

void read_unbilled(ObjectReader& root, Faults& faults, Hello& hello) {
    const json* object = root.take("extensions");
    if (object == nullptr || !object->is_object())
        return;
    ObjectReader extensions(*object, "extensions", faults);
    read_names(extensions, "unbilled", kUnbilledMax, hello.unbilled);
}

/// Of a message of another protocol: a text that is too long is as if it were absent.
std::string read_readable(ObjectReader& root, std::string_view key) {
    std::string text;
    return root.read_text(key, text) && text.size() <= kTextBytesMax ? text : std::string();
}

/// Of a message of another protocol: reads the sender's name, and its version or refusal, for people.
void read_other(ObjectReader& root, Hello& hello) {
    read_name(root, "host", hello.host);
    hello.version = read_readable(root, "version");
}
void read_other(ObjectReader& root, Welcome& welcome) {
    read_name(root, "cluster", welcome.cluster);
    welcome.refused = read_readable(root, "refused");
}

/// Parses the text; `read(ObjectReader&, Faults&, Message&)` fills the message from its root.
template <typename Message, typename Read>
std::variant<Message, Faults> parse(std::string_view text, Read read) {
    JsonText json_text = read_json_text(text, {.notes_places = false});
    if (!json_text.faults.empty())
        return std::move(json_text.faults);
    Faults faults;
    ObjectReader root(json_text.value, "", faults);
    Message message;
    if (json_text.value.is_object()) {
        if constexpr (requires { message.protocol; }) {
            root.read_integer("protocol", message.protocol, kProtocolRange);
            if (message.protocol != kProtocol) {
                read_other(root, message);
                return message;
            }
            read_names(root, "capabilities", kCapabilitiesMax, message.capabilities);
        }
        read_extensions(root);
        std::uint64_t schema = 0;
        if (require(root, "schema", "1"))
            root.read_integer("schema", schema, {kSchema, kSchema});
        read(root, faults, message);
    }
    root.finish();
    if (!faults.empty())
        return faults;
    return message;
}

/// Values that are absent are the defaults.
void read_promise(ObjectReader& entry, VnicPromise& promise) {
    entry.read_word<GuaranteeKind>("guarantee_kind", promise.guarantee, kGuaranteeWords);
    entry.read_integer("reservation_bps", promise.reservation_bps, kPromisedRateRange);
    entry.read_integer("size_bytes", promise.size_bytes, kPromisedSizeRange);
    entry.read_integer("time_ns", promise.time, kPromisedTimeRange);
    entry.read_integer("limit_bps", promise.limit_bps, kPromisedLimitRange);
    entry.read_integer("shares", promise.shares, kPromisedSharesRange);
    WorkerPromise& worker = promise.worker;
    entry.read_integer("reservation_pps", worker.reservation_pps, kPromisedPacketsRange);
    entry.read_integer("limit_pps", worker.limit_pps, kPromisedPacketLimitRange);
    entry.read_integer("cycle_shares", worker.cycle_shares, kPromisedSharesRange);
    entry.read_integer("encrypt_reservation", worker.encrypt_reservation, kPromisedTokensRange);
    entry.read_integer("encrypt_limit", worker.encrypt_limit, kPromisedTokenLimitRange);
    const bool is_dynamic = promise.guarantee == GuaranteeKind::kDynamic;
    if (is_dynamic != (promise.size_bytes != 0) || is_dynamic != (promise.time != 0))
        entry.fault("size_bytes", "size_bytes and time_ns with guarantee_kind dynamic, and with no other",
                    "a dynamic guarantee is a size within a time");
}

void read_stated(ObjectReader& root, Faults& faults, Hello& hello) {
    const json* object = root.take("extensions");
    if (object == nullptr || !object->is_object())
        return;
    ObjectReader extensions(*object, "extensions", faults);
    std::map<std::string, VnicPromise, std::less<>> stated;
    read_objects(extensions, "stated_vnics", kListMax, faults,
                 [&](ObjectReader& entry, const std::string& /*path*/) {
                     std::string name;
                     if (require(entry, "name", "a name"))
                         read_name(entry, "name", name);
                     read_promise(entry, stated[name]);
                 });
    for (HelloVnic& vnic : hello.vnics)
        if (const auto found = stated.find(vnic.name); found != stated.end())
            vnic.stated = found->second;
}

void read_endpoint(ObjectReader& entry, Faults& faults, Tables& tables) {
    Endpoint endpoint;
    if (require(entry, "id", "a whole number"))
        entry.read_integer("id", endpoint.id, kIdRange);
    if (require(entry, "kind", "vnic, appliance"))
        entry.read_word<Endpoint::Kind>("kind", endpoint.kind, kKinds);
    if (require(entry, "name", "a name"))
        read_name(entry, "name", endpoint.name);
    read_name(entry, "tenant", endpoint.tenant);
    read_name(entry, "host", endpoint.host);
    read_mac(entry, endpoint.mac);
    entry.read_integer("vlan", endpoint.vlan, kVlanRange);
    entry.read_integer("floor", endpoint.floor, kRateRange);
    if (entry.has("promise"))
        read_object(entry, "promise", faults, read_promise, endpoint.promise.emplace());
    tables.endpoints.push_back(std::move(endpoint));
}

void read_guarantee(ObjectReader& entry, Tables& tables) {
    FlowAllocation guarantee;
    if (require(entry, "source", "an endpoint's id"))
        entry.read_integer("source", guarantee.flow.source, kIdRange);
    if (require(entry, "destination", "an endpoint's id"))
        entry.read_integer("destination", guarantee.flow.destination, kIdRange);
    for (std::size_t i = 0; i < kParts; ++i)
        entry.read_integer(kRates[i], guarantee.rate[i], kRateRange);
    tables.guarantees.push_back(guarantee);
}

void read_refused_vnics(ObjectReader& root, Faults& faults, Tables& tables) {
    if (!root.has("refused_vnics"))
        return;
    std::vector<RefusedVnic>& refused = tables.refused_vnics.emplace();
    read_objects(root, "refused_vnics", kListMax, faults,
                 [&](ObjectReader& entry, const std::string& /*path*/) {
                     RefusedVnic& vnic = refused.emplace_back();
                     if (require(entry, "name", "a name"))
                         read_name(entry, "name", vnic.name);
                     if (require(entry, "why", "the reason"))
                         read_short_text(entry, "why", vnic.why);
                     entry.read_flag("unknown", vnic.is_unknown);
                 });
}

void read_addresses(ObjectReader& reader, std::string_view key, std::size_t most, Faults& faults,
                    std::vector<PeerAddress>& out) {
    read_objects(reader, key, most, faults, [&](ObjectReader& entry, const std::string& /*path*/) {
        PeerAddress address;
        if (require(entry, "source", "an endpoint's id"))
            entry.read_integer("source", address.source, kIdRange);
        if (require(entry, "mac", "an address"))
            read_mac(entry, address.mac);
        out.push_back(std::move(address));
    });
}

json addresses_json(const std::vector<PeerAddress>& addresses) {
    json list = json::array();
    for (const PeerAddress& address : addresses)
        list.push_back({{"source", address.source}, {"mac", address.mac}});
    return list;
}

// Moves up to `room` elements from `from` at `at` to `to`.
template <class Element>
void move_some(std::vector<Element>& from, std::size_t& at, std::size_t& room, std::vector<Element>& to) {
    const std::size_t count = std::min(room, from.size() - at);
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(at);
    to.assign(std::make_move_iterator(first),
              std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count)));
    at += count;
    room -= count;
}

// Adds a member, unless it is empty or zero.
void put(json& object, const char* key, const std::string& text) {
    if (!text.empty())
        object[key] = text;
}
void put(json& object, const char* key, std::uint64_t value) {
    if (value != 0)
        object[key] = value;
}
template <typename Value>
void put(json& object, const char* key, const std::optional<Value>& value) {
    if (value)
        object[key] = *value;
}
void put(json& object, const VnicPromise& promise) {
    if (promise.guarantee)
        object["guarantee_kind"] = guarantee_name(*promise.guarantee);
    put(object, "reservation_bps", promise.reservation_bps);
    put(object, "size_bytes", promise.size_bytes);
    put(object, "time_ns", promise.time);
    put(object, "limit_bps", promise.limit_bps.value_or(0));
    if (promise.shares != VnicPromise{}.shares)
        object["shares"] = promise.shares;
    put(object, "reservation_pps", promise.worker.reservation_pps);
    put(object, "limit_pps", promise.worker.limit_pps);
    put(object, "cycle_shares", promise.worker.cycle_shares);
    put(object, "encrypt_reservation", promise.worker.encrypt_reservation);
    put(object, "encrypt_limit", promise.worker.encrypt_limit);
}
void put(json& object, std::uint32_t protocol, const Capabilities& capabilities) {
    object["protocol"] = protocol;
    if (!capabilities.empty())
        object["capabilities"] = capabilities;
}

}  // namespace

bool has(const Capabilities& capabilities, std::string_view name) {
    return std::ranges::find(capabilities, name) != capabilities.end();
}

std::string why_protocol(std::string_view sender, std::string_view receiver, std::uint32_t stated) {
    std::string why(sender);
    why += " speaks protocol " + std::to_string(stated) + ", and ";
    why += std::string(receiver) + " knows protocol " + std::to_string(kProtocol) + " only: upgrade ";
    return why += stated < kProtocol ? sender : receiver;
}

std::string to_text(const Hello& hello) {
    json out{{"schema", kSchema},
             {"host", hello.host},
             {"version", hello.version},
             {"vnics", json::array()},
             {"appliances", json::array()}};
    put(out, hello.protocol, hello.capabilities);
    put(out, "uplink_bps", hello.uplink_bps);
    for (const HelloVnic& vnic : hello.vnics) {
        json one{{"name", vnic.name}};
        put(one, "tenant", vnic.tenant);
        put(one, "mac", vnic.mac);
        put(one, "vlan", std::uint64_t{vnic.vlan});
        out["vnics"].push_back(std::move(one));
    }
    for (const HelloAppliance& appliance : hello.appliances)
        out["appliances"].push_back(
            {{"name", appliance.name}, {"address", appliance.address}, {"port", appliance.port}});
    if (!hello.unbilled.empty())
        out["extensions"]["unbilled"] = hello.unbilled;
    for (const HelloVnic& vnic : hello.vnics)
        if (vnic.stated) {
            json one{{"name", vnic.name}};
            put(one, *vnic.stated);
            out["extensions"]["stated_vnics"].push_back(std::move(one));
        }
    return dump(out);
}

std::string to_text(const Welcome& welcome) {
    json out{{"schema", kSchema}};
    put(out, welcome.protocol, welcome.capabilities);
    put(out, "cluster", welcome.cluster);
    put(out, "refused", welcome.refused);
    put(out, "interval_ns", welcome.interval);
    put(out, "validity", std::uint64_t{welcome.validity});
    if (welcome.billing_period != kBillingPeriod)  // so that switches that know no other period accept it
        put(out, "billing_period_ns", welcome.billing_period);
    return dump(out);
}

std::string to_text(const Tables& tables) {
    json out{{"schema", kSchema}, {"endpoints", json::array()}, {"guarantees", json::array()}};
    for (const Endpoint& endpoint : tables.endpoints) {
        json one{{"id", endpoint.id},
                 {"kind", kKinds[static_cast<std::size_t>(endpoint.kind)].text},
                 {"name", endpoint.name}};
        put(one, "tenant", endpoint.tenant);
        put(one, "host", endpoint.host);
        put(one, "mac", endpoint.mac);
        put(one, "vlan", std::uint64_t{endpoint.vlan});
        if (endpoint.floor)
            one["floor"] = *endpoint.floor;
        if (endpoint.promise)
            put(one["promise"] = json::object(), *endpoint.promise);
        out["endpoints"].push_back(std::move(one));
    }
    for (const FlowAllocation& guarantee : tables.guarantees) {
        json one{{"source", guarantee.flow.source}, {"destination", guarantee.flow.destination}};
        for (std::size_t i = 0; i < kParts; ++i)
            if (guarantee.rate[i] != kNoStatement)
                one[kRates[i]] = guarantee.rate[i];
        out["guarantees"].push_back(std::move(one));
    }
    if (tables.refused_vnics) {
        out["refused_vnics"] = json::array();
        for (const RefusedVnic& vnic : *tables.refused_vnics) {
            json one{{"name", vnic.name}, {"why", vnic.why.substr(0, kTextBytesMax)}};
            if (vnic.is_unknown)
                one["unknown"] = true;
            out["refused_vnics"].push_back(std::move(one));
        }
    }
    if (tables.changes)
        out["changes"] = true;
    if (tables.more)
        out["more"] = true;
    if (!tables.removed.empty())
        out["removed"] = tables.removed;
    if (!tables.unknown.empty())
        out["unknown"] = addresses_json(tables.unknown);
    return dump(out);
}

std::string to_text(const Ask& ask) {
    return dump({{"schema", kSchema}, {"addresses", addresses_json(ask.addresses)}});
}

std::vector<Tables> split(Tables tables) {
    std::vector<Tables> parts;
    std::size_t endpoints = 0;
    std::size_t guarantees = 0;
    std::size_t removed = 0;
    std::size_t unknown = 0;
    for (std::size_t left = tables.entries(); parts.empty() || left > 0;) {
        Tables part{.changes = tables.changes || !parts.empty()};
        std::size_t room = kTablesEntriesMax;
        if (parts.empty())
            part.refused_vnics = std::move(tables.refused_vnics);
        move_some(tables.endpoints, endpoints, room, part.endpoints);
        move_some(tables.guarantees, guarantees, room, part.guarantees);
        move_some(tables.removed, removed, room, part.removed);
        move_some(tables.unknown, unknown, room, part.unknown);
        left -= part.entries();
        part.more = left > 0 && !tables.changes;
        parts.push_back(std::move(part));
    }
    return parts;
}

std::variant<Hello, Faults> parse_hello(std::string_view text) {
    return parse<Hello>(text, [](ObjectReader& root, Faults& faults, Hello& hello) {
        if (require(root, "host", "the host's name"))
            read_name(root, "host", hello.host);
        read_short_text(root, "version", hello.version);
        root.read_integer("uplink_bps", hello.uplink_bps, {0, 400'000'000'000});
        read_unbilled(root, faults, hello);
        read_objects(root, "vnics", kListMax, faults, [&](ObjectReader& entry, const std::string& /*path*/) {
            HelloVnic vnic;
            if (require(entry, "name", "a name"))
                read_name(entry, "name", vnic.name);
            read_name(entry, "tenant", vnic.tenant);
            read_mac(entry, vnic.mac);
            entry.read_integer("vlan", vnic.vlan, kVlanRange);
            hello.vnics.push_back(std::move(vnic));
        });
        read_stated(root, faults, hello);
        read_objects(root, "appliances", kListMax, faults,
                     [&](ObjectReader& entry, const std::string& /*path*/) {
                         HelloAppliance appliance;
                         if (require(entry, "name", "a name"))
                             read_name(entry, "name", appliance.name);
                         read_short_text(entry, "address", appliance.address);
                         entry.read_integer("port", appliance.port, {0, 65'535});
                         hello.appliances.push_back(std::move(appliance));
                     });
    });
}

std::variant<Welcome, Faults> parse_welcome(std::string_view text) {
    return parse<Welcome>(text, [](ObjectReader& root, Faults& /*faults*/, Welcome& welcome) {
        read_name(root, "cluster", welcome.cluster);
        root.read_integer("interval_ns", welcome.interval, {10'000'000, 60 * kNanosPerSec});
        root.read_integer("validity", welcome.validity, {1, 100});
        root.read_integer("billing_period_ns", welcome.billing_period, {kBillingPeriod, kBillingPeriodMax});
        read_short_text(root, "refused", welcome.refused);
        if (welcome.refused.empty() && (welcome.interval == 0 || welcome.validity == 0))
            root.fault("interval_ns", "interval_ns and validity, or refused",
                       "a welcome that refuses nothing must state both");
    });
}

std::variant<Tables, Faults> parse_tables(std::string_view text) {
    return parse<Tables>(text, [](ObjectReader& root, Faults& faults, Tables& tables) {
        read_objects(
            root, "endpoints", kListMax, faults,
            [&](ObjectReader& entry, const std::string& /*path*/) { read_endpoint(entry, faults, tables); });
        read_objects(
            root, "guarantees", kListMax, faults,
            [&](ObjectReader& entry, const std::string& /*path*/) { read_guarantee(entry, tables); });
        read_refused_vnics(root, faults, tables);
        root.read_flag("changes", tables.changes);
        root.read_flag("more", tables.more);
        for (const json& id : read_list(root, "removed", kListMax)) {
            if (id.is_number_unsigned() && id.get<std::uint64_t>() <= kIdRange.max)
                tables.removed.push_back(id.get<std::uint32_t>());
            else
                root.fault("removed", "a list of whole numbers", "this is no endpoint's id");
        }
        read_addresses(root, "unknown", kListMax, faults, tables.unknown);
    });
}

std::variant<Ask, Faults> parse_ask(std::string_view text) {
    return parse<Ask>(text, [](ObjectReader& root, Faults& faults, Ask& ask) {
        read_addresses(root, "addresses", kAskAddressesMax, faults, ask.addresses);
    });
}

}  // namespace weir::wire
