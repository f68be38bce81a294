// registry.h - the request protocols that Weir can parse: the only list of them.
// Source: docs/algorithms.md 5.1. Threads: any (constants).
//
// To add a protocol, add one line here and one file beside it. ENTRY(foo, "foo", "...") stands for foo.cc,
// which defines `const Protocol foo_protocol`. The build compiles foo.cc because of this line, configurations
// accept the quoted name, and a test compares the JSON schema, default.jsonc and this folder's README with
// the table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "cost_functions/tracker/protocol.h"

// clang-format off
#define WEIR_PROTOCOLS(ENTRY) \
    ENTRY(bytes, "bytes", "any other service: no headers, every payload byte is charged alike") \
    ENTRY(iscsi, "iscsi", "SCSI commands and data over TCP, with or without digests") \
    ENTRY(memcached, "memcached", "memcached: text, meta and binary commands") \
    ENTRY(nbd, "nbd", "network block device: negotiation, simple, structured and extended replies") \
    ENTRY(nvme_tcp, "nvme-tcp", "NVMe over TCP: admin and I/O queues, with or without digests") \
    ENTRY(redis, "redis", "Redis: RESP2, RESP3 and inline commands")
// clang-format on

namespace weir {

#define WEIR_DECLARE(file, name, summary) extern const Protocol file##_protocol;
WEIR_PROTOCOLS(WEIR_DECLARE)
#undef WEIR_DECLARE

struct ProtocolEntry {
    std::string_view name;  ///< as configurations write it
    std::string_view summary;
};
#define WEIR_DESCRIBE(file, name, summary) ProtocolEntry{name, summary},
inline constexpr std::array kProtocolEntries{WEIR_PROTOCOLS(WEIR_DESCRIBE)};
#undef WEIR_DESCRIBE

/// The parsers, in the order of kProtocolEntries. Connections store an index into this array.
#define WEIR_POINT_TO(file, name, summary) &file##_protocol,
inline constexpr std::array kProtocols{WEIR_PROTOCOLS(WEIR_POINT_TO)};
#undef WEIR_POINT_TO
static_assert(kProtocols.size() <= kProtocolsMax);

/// Index of the protocol with this name, or nothing.
[[nodiscard]] constexpr std::optional<std::uint8_t> protocol_index(std::string_view name) {
    const auto* const found = std::ranges::find(kProtocolEntries, name, &ProtocolEntry::name);
    if (found == kProtocolEntries.end())
        return std::nullopt;
    return static_cast<std::uint8_t>(found - kProtocolEntries.begin());
}
/// The parser of the protocol with this name, or nullptr.
[[nodiscard]] constexpr const Protocol* find_protocol(std::string_view name) {
    const std::optional<std::uint8_t> index = protocol_index(name);
    return index ? kProtocols[*index] : nullptr;
}
/// @param protocol one of kProtocols
[[nodiscard]] constexpr std::string_view protocol_name(const Protocol& protocol) {
    return kProtocolEntries[static_cast<std::size_t>(std::ranges::find(kProtocols, &protocol) -
                                                     kProtocols.begin())]
        .name;
}

}  // namespace weir
