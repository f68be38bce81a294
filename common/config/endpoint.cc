// endpoint.cc - strict: a text that ZeroMQ refuses at the start, or would wait for without end, is no
// address.
#include "common/config/endpoint.h"

#include <algorithm>
#include <charconv>

#include "common/ip_address.h"

namespace weir {
namespace {

using Kind = SocketEndpoint::Kind;

constexpr std::size_t kEndpointPathMax = 107;  // sockaddr_un has 108 with the end
constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kInterfaceBytesMax = 15;

bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}
bool is_host_text(std::string_view text, std::size_t most) {
    return !text.empty() && text.size() <= most && std::ranges::all_of(text, is_host_char);
}

std::optional<Kind> kind_of_host(std::string_view host) {
    if (host == "*")
        return Kind::kAny;
    if (IpAddress::parse(host))
        return host.find(':') == std::string_view::npos ? std::optional(Kind::kIpv4) : std::nullopt;
    // Digits and dots alone are a mistyped address.
    const bool has_other = host.find_first_not_of("0123456789.") != std::string_view::npos;
    return has_other && is_host_text(host, kHostBytesMax) && host.front() != '-' && host.front() != '.'
               ? std::optional(Kind::kName)
               : std::nullopt;
}

/// @param text between the brackets
bool is_ip6(std::string_view text) {
    const std::size_t percent = text.find('%');
    const auto address = IpAddress::parse(text.substr(0, percent));
    return address && address->v6 &&
           (percent == std::string_view::npos || is_host_text(text.substr(percent + 1), kInterfaceBytesMax));
}

std::optional<std::uint16_t> read_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() && port != 0 ? std::optional(port)
                                                                                 : std::nullopt;
}

}  // namespace

std::optional<SocketEndpoint> SocketEndpoint::parse(std::string_view text) {
    constexpr std::string_view kIpc = "ipc://";
    constexpr std::string_view kTcp = "tcp://";
    if (text.starts_with(kIpc)) {
        const std::string_view path = text.substr(kIpc.size());
        if (!path.starts_with('/') || path.ends_with('/') || path.size() > kEndpointPathMax)
            return std::nullopt;
        return SocketEndpoint{.kind = Kind::kIpc, .host = std::string(path)};
    }
    const std::size_t colon = text.rfind(':');
    if (!text.starts_with(kTcp) || colon < kTcp.size())
        return std::nullopt;
    const auto port = read_port(text.substr(colon + 1));
    std::string_view host = text.substr(kTcp.size(), colon - kTcp.size());
    std::optional<Kind> kind;
    if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        kind = is_ip6(host) ? std::optional(Kind::kIpv6) : std::nullopt;
    } else if (!host.empty()) {
        kind = kind_of_host(host);
    }
    if (!port || !kind)
        return std::nullopt;
    return SocketEndpoint{.kind = *kind, .host = std::string(host), .port = *port};
}

bool is_endpoint(std::string_view text) {
    const auto endpoint = SocketEndpoint::parse(text);
    return endpoint && endpoint->kind != Kind::kAny;
}

bool is_address_with_port(std::string_view text) {
    const auto endpoint = SocketEndpoint::parse("tcp://" + std::string(text));
    return endpoint && (endpoint->kind == Kind::kIpv4 || endpoint->kind == Kind::kIpv6);
}

bool is_loopback_with_port(std::string_view text) {
    const auto endpoint = SocketEndpoint::parse("tcp://" + std::string(text));
    if (!endpoint)
        return false;
    const auto address = IpAddress::parse(endpoint->host);
    IpAddress one{.v6 = true};
    one.bytes.back() = 1;
    return address && (address->v6 ? *address == one : address->bytes.front() == 127);
}

bool is_listen_endpoint(std::string_view text) {
    const auto endpoint = SocketEndpoint::parse(text);
    return endpoint && (endpoint->kind != Kind::kName ||
                        (endpoint->host.size() <= kInterfaceBytesMax && endpoint->host != "localhost"));
}

}  // namespace weir
