// client.h - requests to a switch or controller over its command socket; the only part that sees ZeroMQ.
// Source: docs/operations.md
// Threads: any; a call waits for its reply.
//
// A request and its reply are one JSON frame each:
//   {"schema":1,"command":"vnic.show","args":{"name":"vm1"}}
//   {"schema":1,"ok":true,"data":{...}} or {"schema":1,"ok":false,"faults":[...]}
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir::cli {

/// Time for sending a request, and again for its reply, where the caller states none.
inline constexpr std::chrono::milliseconds kReplyTimeout{2000};

/// Sends one command and returns the `data` of its reply. Each call makes a new connection, so that the
/// program may restart between two calls.
/// @param socket path of the program's control_socket
/// @param timeout of sending the request, and again of receiving the reply
/// @throws Failure with kExitRefused: no listener, no reply in time, a reply of another schema, or the
/// program's own faults
[[nodiscard]] nlohmann::json ask_program(const std::string& socket, const std::string& command,
                                         const nlohmann::json& args,
                                         std::chrono::milliseconds timeout = kReplyTimeout);

}  // namespace weir::cli
