// request.h - a request to an appliance and its response, in terms that are common to all protocols.
// Source: Pulsar 3.2. Units: payload bytes without TCP/IP headers. Threads: any (values).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

/// Kinds of operations, common to all protocols. A cost table has a row for each that its appliance knows.
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

/// Relation of a request to the ones before it in its flow.
enum class Access : std::uint8_t {
    kPlain,
    kSequential,  ///< begins where the last one ended
    kRepeat       ///< of a place that was requested within the repeat window
};

/// A request, at the moment when its header has passed.
struct Request {
    Operation operation = Operation::kBytes;
    bool answered = true;              ///< a response will come; false for `noreply`
    bool response_known = false;       ///< response_bytes is known from the header; else it is 0
    bool waits = false;                ///< its response may come late on purpose, at no cost to the service
    std::uint32_t keys = 1;            ///< of a get of several keys
    std::uint32_t request_bytes = 0;   ///< header and body
    std::uint32_t response_bytes = 0;  ///< header and body
    std::uint32_t span = 0;            ///< bytes read or written from `place` on; 0 where place is a hash
    std::uint64_t place = 0;           ///< offset on the device, or hash of the key, for locality
    std::uint64_t cookie = 0;  ///< pairs the request with its response where responses come in any order
};

/// A response or a part of one, at the moment when its header has passed.
struct Response {
    std::uint32_t bytes = 0;  ///< header and body, of the parts that were not reported before
    bool failed = false;      ///< the appliance reported an error
    bool last = true;         ///< false: a part, whose bytes and `failed` are added to its request's record
    bool as_asked = false;    ///< its header has no length: it is its request's response_bytes long
    std::uint64_t cookie = 0;
};

}  // namespace weir
