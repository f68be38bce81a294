// endpoint.h - the address of a ZeroMQ socket, as configurations write it.
// Source: docs/protocol.md; RFC 4291. Threads: any (values).
//
// "tcp://10.0.0.1:5555", "tcp://[fd00::1]:5555", "tcp://[fe80::1%eth0]:5555", "tcp://ctrl.example.com:5555",
// "ipc:///run/weir/admin/ctrl.ipc"; to listen on also "tcp://*:5555" and "tcp://eth0:5555". An IPv6 address
// needs its brackets: without them its end cannot be distinguished from the port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct SocketEndpoint {
    enum class Kind : std::uint8_t { kIpc, kIpv4, kIpv6, kName, kAny };
    Kind kind = Kind::kIpc;
    std::string host;        ///< of tcp; IPv6 without brackets, with its zone. Of ipc the path
    std::uint16_t port = 0;  ///< of tcp: 1..65535

    /// @return nothing when the text is no such address
    [[nodiscard]] static std::optional<SocketEndpoint> parse(std::string_view text);
};

/// An address that a program can connect to.
[[nodiscard]] bool is_endpoint(std::string_view text);
/// IP address and port: "127.0.0.1:9417", "[::1]:9417".
[[nodiscard]] bool is_address_with_port(std::string_view text);
/// The same, of this machine alone: 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback_with_port(std::string_view text);
/// An address that a program can listen on: no name but that of an interface.
[[nodiscard]] bool is_listen_endpoint(std::string_view text);

}  // namespace weir
