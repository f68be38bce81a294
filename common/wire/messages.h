// messages.h - what is said once and not every interval, as JSON: HELLO, WELCOME, TABLES.
// Source: design section 5; docs/protocol.md. Units: in the field names. Threads: any; never on a poll
// thread.
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

/// A vNIC as its switch has it.
struct HelloVnic {
    std::string name{};
    std::string tenant{};  ///< as the switch's file says; empty = none
    std::string mac{};     ///< empty = it learns
    std::uint16_t vlan = 0;
    bool operator==(const HelloVnic&) const = default;
};

/// An appliance that the switch tracks requests to.
struct HelloAppliance {
    std::string name{};
    std::string address{};
    std::uint16_t port = 0;
    bool operator==(const HelloAppliance&) const = default;
};

/// From the switch, first of all: who it is and what it has.
struct Hello {
    std::string host{};
    std::string version{};
    std::uint64_t uplink_bps = 0;  ///< what it may promise; 0 = no uplink
    std::vector<HelloVnic> vnics{};
    std::vector<HelloAppliance> appliances{};
    bool operator==(const Hello&) const = default;
};

/// The answer: how things are done here, or why not.
struct Welcome {
    std::string cluster{};
    Nanos interval = 0;
    std::uint32_t validity = 0;  ///< intervals for which an allocation counts
    Nanos billing_period = kBillingPeriod;
    std::string refused{};  ///< not empty: the switch is not taken, and this is why
    bool operator==(const Welcome&) const = default;
};

/// One end of flows.
struct Endpoint {
    enum class Kind : std::uint8_t { kVnic, kAppliance };
    std::uint32_t id = 0;
    Kind kind = Kind::kVnic;
    std::string name{};
    std::string tenant{};    ///< of a vNIC
    std::string host{};      ///< of a vNIC; empty = not there now
    std::string mac{};       ///< of a vNIC; empty = not known
    std::uint16_t vlan = 0;  ///< of a vNIC
    bool operator==(const Endpoint&) const = default;
};

/// The ends of the flows that the switch may see, and what its flows may use when nobody says anything.
struct Tables {
    std::vector<Endpoint> endpoints{};
    std::vector<FlowAllocation> guarantees{};
    bool operator==(const Tables&) const = default;
};

[[nodiscard]] std::string to_text(const Hello& hello);
[[nodiscard]] std::string to_text(const Welcome& welcome);
[[nodiscard]] std::string to_text(const Tables& tables);

// Never throw on input; on any fault all of them are returned.
[[nodiscard]] std::variant<Hello, Faults> parse_hello(std::string_view text);
[[nodiscard]] std::variant<Welcome, Faults> parse_welcome(std::string_view text);
[[nodiscard]] std::variant<Tables, Faults> parse_tables(std::string_view text);

}  // namespace weir::wire
