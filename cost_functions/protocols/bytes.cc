// bytes.cc - the protocol of appliances whose requests Weir cannot parse: every payload byte is a plain byte.
// Source: docs/algorithms.md 5.1. Units: bytes. Threads: any (pure).
//
// The tracker reports 1460 plain bytes for a segment of 1460 bytes, and the cost table's row "bytes" prices
// them.
#include "cost_functions/protocols/registry.h"

namespace weir {
namespace {

/// Finds no header anywhere. With `request_begins` absent the tracker does not search for one either.
Parsed parse_nothing(Bytes, ParserState&) {
    return {};
}

}  // namespace

const Protocol bytes_protocol{.header_max = 1,
                              .ordered = true,
                              .request = parse_nothing,
                              .response = parse_nothing,
                              .request_begins = nullptr,
                              .response_begins = nullptr};

}  // namespace weir
