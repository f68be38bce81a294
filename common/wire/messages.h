// messages.h - the messages that are JSON, because they are sent rarely: HELLO, WELCOME, TABLES.
// Source: docs/design.md 5.5; docs/protocol.md. Units: in the field names.
// Threads: any; never on a poll thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/guarantee.h"
#include "common/wire/header.h"
#include "common/wire/records.h"

namespace weir::wire {

/// A vNIC in a HELLO.
struct HelloVnic {
    std::string name{};
    std::string tenant{};  ///< from the switch's configuration; empty = none
    std::string mac{};     ///< empty = learned from frames
    std::uint16_t vlan = 0;
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
    bool operator==(const Hello&) const = default;
};

/// The controller's answer: the cluster's intervals, or a refusal.
struct Welcome {
    std::string cluster{};
    Nanos interval = 0;
    std::uint32_t validity = 0;  ///< intervals for which an allocation is valid
    Nanos billing_period = kBillingPeriod;
    std::string refused{};  ///< reason for which the switch is refused; empty = it is not
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
    bool operator==(const Endpoint&) const = default;
};

/// The endpoints of flows that the switch may see, and the rates of its flows while the controller is silent.
struct Tables {
    std::vector<Endpoint> endpoints{};
    std::vector<FlowAllocation> guarantees{};
    bool operator==(const Tables&) const = default;
};

[[nodiscard]] std::string to_text(const Hello& hello);
[[nodiscard]] std::string to_text(const Welcome& welcome);
[[nodiscard]] std::string to_text(const Tables& tables);

// These never throw on input. They return the message, or all of its faults.
[[nodiscard]] std::variant<Hello, Faults> parse_hello(std::string_view text);
[[nodiscard]] std::variant<Welcome, Faults> parse_welcome(std::string_view text);
[[nodiscard]] std::variant<Tables, Faults> parse_tables(std::string_view text);

}  // namespace weir::wire
