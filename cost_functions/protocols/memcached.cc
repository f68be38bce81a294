#include "cost_functions/protocols/memcached.h"

#include "cost_functions/protocols/memcached_binary.h"
#include "cost_functions/protocols/memcached_line.h"
#include "cost_functions/protocols/memcached_text.h"

namespace weir {
namespace {

Parsed parse_request(Bytes bytes, ParserState& state) {
    return bytes[0] == memcached::kRequestMagic && state.phase == memcached::kLine
               ? memcached::binary_request(bytes, state)
               : memcached::text_request(bytes, state);
}

Parsed parse_response(Bytes bytes, ParserState& state) {
    return bytes[0] == memcached::kResponseMagic && state.phase == memcached::kLine
               ? memcached::binary_response(bytes, state)
               : memcached::text_response(bytes, state);
}

bool request_begins(Bytes bytes) {
    return memcached::text_request_begins(bytes) || memcached::binary_request_begins(bytes);
}

bool response_begins(Bytes bytes) {
    return memcached::text_response_begins(bytes) || memcached::binary_response_begins(bytes);
}

}  // namespace

const Protocol kMemcachedProtocol{.name = "memcached",
                                  .header_max = kHeaderMax,
                                  .ordered = true,
                                  .request = parse_request,
                                  .response = parse_response,
                                  .request_begins = request_begins,
                                  .response_begins = response_begins,
                                  .lines = true};

}  // namespace weir
