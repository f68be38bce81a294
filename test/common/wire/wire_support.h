// wire_support.h - dumps of bytes in the form of docs/protocol.md.
// Threads: tests only.
#pragma once

#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "common/wire/records.h"
#include "test/support/places.h"

namespace weir::test {

/// Sixteen bytes a line, such as "57 45 49 52".
inline std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", unsigned{bytes[i]});
        if (i != 0)
            text += i % 16 == 0 ? '\n' : ' ';
        text += byte;
    }
    return text;
}

/// The text of docs/protocol.md, without the indentation of its dumps.
inline std::string protocol_page() {
    std::ifstream file(source_path("docs/protocol.md"));
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::string out;
    for (std::size_t i = 0; i < page.size(); ++i)
        if (page[i] != ' ' || (i != 0 && page[i - 1] != '\n' && page[i - 1] != ' '))
            out += page[i];
    return out;
}

inline wire::FlowDemand demand(std::uint32_t source, std::uint32_t destination, float used) {
    wire::FlowDemand record;
    record.flow = {source, destination};
    record.used = {used, 0, 0};
    return record;
}

}  // namespace weir::test
