// request.h - requests to shared services as the switch sees them: what was asked, how big it is each way.
// Source: Pulsar 3.2 (request characteristics). Units: payload bytes without TCP/IP headers. Threads: any
// (values).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

/// What a request asks for, in every protocol; cost tables have a row for each that their service knows.
enum class Operation : std::uint8_t {
    kRead,     ///< get, gets, NBD read, SCSI READ, ...
    kWrite,    ///< set, add, replace, NBD write, ...
    kUpdate,   ///< changes in place: append, incr, cas, ...
    kDelete,   ///< delete, trim, write zeroes
    kFlush,    ///< makes earlier writes durable
    kControl,  ///< greetings, options, statistics, everything else with a header
    kBytes     ///< bytes of which no header was understood
};
inline constexpr std::array<std::string_view, 7> kOperationNames{"read",  "write",   "update", "delete",
                                                                 "flush", "control", "bytes"};
inline constexpr std::size_t kOperations = kOperationNames.size();

/// A request at the moment its header has passed.
struct Request {
    Operation operation = Operation::kBytes;
    bool answered = true;              ///< a response is to come (not so for noreply)
    bool response_known = false;       ///< response_bytes is what the header says; else 0
    std::uint32_t keys = 1;            ///< of a get of several keys
    std::uint32_t request_bytes = 0;   ///< header and body
    std::uint32_t response_bytes = 0;  ///< header and body
    std::uint32_t span = 0;            ///< bytes read or written from `place` on; 0 where place is a hash
    std::uint64_t place = 0;           ///< offset on the device, or a hash of the key: what locality is about
    std::uint64_t cookie = 0;          ///< pairs with its response where order does not
};

/// A response, or a part of one, at the moment its header has passed.
struct Response {
    std::uint32_t bytes = 0;  ///< header and body, of all its parts up to here that were not reported before
    bool failed = false;      ///< the service said no
    bool last = true;       ///< else a part: its bytes and `failed` are added to the request's, which goes on
    bool as_asked = false;  ///< as long as its request's response_bytes: its header does not say
    std::uint64_t cookie = 0;
};

}  // namespace weir
