// messages.h - the messages that are JSON, because they are sent rarely: HELLO, WELCOME, TABLES, ASK.
// Source: docs/design.md 5.5; docs/protocol.md. Units: in the field names.
// Threads: any; never on a poll thread.
//
// A program may be newer than the other end. HELLO and WELCOME state the protocol, so that two that do not
// fit say so in words, and name capabilities: a key that not every program of this protocol knows is sent
// only to one that named its capability. Contents of the object `extensions` are ignored where they are not
// known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/config/vnic_promise.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "common/wire/header.h"
#include "common/wire/records.h"

namespace weir::wire {

/// The protocol that this program speaks: kProtocolVersion, as JSON states it.
inline constexpr std::uint32_t kProtocol = kProtocolVersion;

/// Names of a program's abilities besides its protocol. Those that the receiver does not know are ignored.
using Capabilities = std::vector<std::string>;
inline constexpr std::size_t kCapabilitiesMax = 32;
[[nodiscard]] bool has(const Capabilities& capabilities, std::string_view name);

namespace capability {
/// Of a switch: it knows `floor` of endpoints in TABLES.
inline constexpr std::string_view kPairFloors = "pair-floors";
/// Of a switch: it knows `refused_vnics` in TABLES. Of a controller: it sends them to such a switch.
inline constexpr std::string_view kRefusals = "refusals";
/// Of both: TABLES have the endpoints that the switch needs, and then their changes.
inline constexpr std::string_view kTablesByNeed = "tables-by-need";
/// Of a controller: it knows FlowDemand::blocked.
inline constexpr std::string_view kBlocked = "blocked";
/// Of a switch: it knows `promise` of endpoints in TABLES. Of a controller: it sends them to such a switch,
/// which has kTablesByNeed too.
inline constexpr std::string_view kVnicPromises = "vnic-promises";
/// Of a switch that has kVnicPromises: it knows VnicPromise::worker.
inline constexpr std::string_view kWorkerPromises = "worker-promises";
}  // namespace capability

/// Why the receiver of a message of that protocol cannot work with its sender, and the program to upgrade.
[[nodiscard]] std::string why_protocol(std::string_view sender, std::string_view receiver,
                                       std::uint32_t stated);

/// A vNIC in a HELLO.
struct HelloVnic {
    std::string name{};
    std::string tenant{};  ///< from the switch's configuration; empty = none
    std::string mac{};     ///< empty = learned from frames
    std::uint16_t vlan = 0;
    /// Values of the switch's file that a promise replaces; absent: it states none. Among the extensions.
    std::optional<VnicPromise> stated{};
    bool operator==(const HelloVnic&) const = default;
};

/// An appliance in a HELLO: the switch tracks requests to it.
struct HelloAppliance {
    std::string name{};
    std::string address{};
    std::uint16_t port = 0;
    bool operator==(const HelloAppliance&) const = default;
};

/// From the switch, as its first message: its name and its vNICs.
struct Hello {
    std::string host{};
    std::string version{};
    std::uint64_t uplink_bps = 0;  ///< rate that may be promised on its uplink, bit/s; 0 = no uplink
    std::vector<HelloVnic> vnics{};
    std::vector<HelloAppliance> appliances{};
    std::uint32_t protocol = kProtocol;  ///< another one: only `host` and `version` were read
    Capabilities capabilities{};
    /// vNICs that have left and whose billing periods are not stored yet, ordered; among the extensions.
    std::vector<std::string> unbilled{};
    bool operator==(const Hello&) const = default;
};
inline constexpr std::size_t kUnbilledMax = 1'000;

/// The controller's answer: the cluster's intervals, or a refusal.
struct Welcome {
    std::string cluster{};
    Nanos interval = 0;
    std::uint32_t validity = 0;  ///< intervals for which an allocation is valid
    Nanos billing_period = kBillingPeriod;
    std::string refused{};               ///< reason for which the switch is refused; empty = it is not
    std::uint32_t protocol = kProtocol;  ///< another one: only `cluster` and `refused` were read
    Capabilities capabilities{};
    bool operator==(const Welcome&) const = default;
};

/// An end of flows: a vNIC or an appliance.
struct Endpoint {
    enum class Kind : std::uint8_t { kVnic, kAppliance };
    std::uint32_t id = 0;
    Kind kind = Kind::kVnic;
    std::string name{};
    // Of vNICs only:
    std::string tenant{};
    std::string host{};  ///< empty = on no host at present
    std::string mac{};   ///< empty = unknown
    std::uint16_t vlan = 0;
    /// Bytes per second to or from any one peer while the controller is silent; sent to
    /// capability::kPairFloors.
    std::optional<std::uint64_t> floor{};
    /// Of a vNIC of the switch's own host; sent to capability::kVnicPromises.
    std::optional<VnicPromise> promise{};
    bool operator==(const Endpoint&) const = default;
};

/// A vNIC of the switch that has no place there.
struct RefusedVnic {
    std::string name{};
    std::string why{};
    bool is_unknown = false;  ///< the cluster file does not have it
    bool operator==(const RefusedVnic&) const = default;
};

/// A destination of frames of a vNIC of the switch: an address in the VLAN of the vNIC.
struct PeerAddress {
    std::uint32_t source = 0;  ///< id of the vNIC
    std::string mac{};
    bool operator==(const PeerAddress&) const = default;
};

/// The endpoints of flows that the switch may see, and the rates of its flows while the controller is silent.
/// The last three are only for switches with kTablesByNeed.
struct Tables {
    std::vector<Endpoint> endpoints{};
    std::vector<FlowAllocation> guarantees{};
    /// All that are refused now; absent: no statement. Sent to capability::kRefusals.
    std::optional<std::vector<RefusedVnic>> refused_vnics{};
    bool changes = false;  ///< all others stay; false: they are the whole table
    bool more = false;     ///< the whole table goes on in the next message, which has `changes`
    std::vector<std::uint32_t> removed{};  ///< ids; with `changes`
    std::vector<PeerAddress> unknown{};    ///< answers to an Ask: no endpoint of the vNIC's tenant is there
    bool operator==(const Tables&) const = default;

    [[nodiscard]] std::size_t entries() const {
        return endpoints.size() + guarantees.size() + removed.size() + unknown.size();
    }
};

/// Entries of a message of TABLES with kTablesByNeed: so many of the longest stay below 4 MiB and 200,000
/// JSON values, beyond which texts are refused, with the promises of kPromisesMax vNICs among them.
inline constexpr std::size_t kTablesEntriesMax = 10'000;
inline constexpr std::size_t kPromisesMax = 2'048;  ///< more than a switch has vNICs
/// The table in messages of at most kTablesEntriesMax entries each; the first one has the refused vNICs.
[[nodiscard]] std::vector<Tables> split(Tables tables);

/// From a switch with kTablesByNeed: it wants to know the endpoints that have these addresses.
struct Ask {
    std::vector<PeerAddress> addresses{};
    bool operator==(const Ask&) const = default;
};
inline constexpr std::size_t kAskAddressesMax = 1'000;

[[nodiscard]] std::string to_text(const Hello& hello);
[[nodiscard]] std::string to_text(const Welcome& welcome);
[[nodiscard]] std::string to_text(const Tables& tables);
[[nodiscard]] std::string to_text(const Ask& ask);

// These never throw on input. They return the message, or all of its faults.
[[nodiscard]] std::variant<Hello, Faults> parse_hello(std::string_view text);
[[nodiscard]] std::variant<Welcome, Faults> parse_welcome(std::string_view text);
[[nodiscard]] std::variant<Tables, Faults> parse_tables(std::string_view text);
[[nodiscard]] std::variant<Ask, Faults> parse_ask(std::string_view text);

}  // namespace weir::wire
