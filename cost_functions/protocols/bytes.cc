#include "cost_functions/protocols/bytes.h"

namespace weir {
namespace {

Parsed nothing(Bytes, ParserState&) {
    return {};
}

}  // namespace

const Protocol kBytesProtocol{.name = "bytes",
                              .header_max = 1,
                              .ordered = true,
                              .request = nothing,
                              .response = nothing,
                              .request_begins = nullptr,
                              .response_begins = nullptr};

}  // namespace weir
