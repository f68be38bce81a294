// vhost_request.h - requests of a vhost-user front-end, by number.
// Source: vhost-user protocol. Threads: any (constants).
#pragma once

#include <cstdint>

namespace weir::vhost_request {

enum Request : std::uint32_t {
    kGetFeatures = 1,
    kSetFeatures = 2,
    kSetOwner = 3,
    kResetOwner = 4,
    kSetMemTable = 5,
    kSetLogBase = 6,
    kSetLogFd = 7,
    kSetVringNum = 8,
    kSetVringAddr = 9,
    kSetVringBase = 10,
    kGetVringBase = 11,
    kSetVringKick = 12,
    kSetVringCall = 13,
    kSetVringErr = 14,
    kGetProtocolFeatures = 15,
    kSetProtocolFeatures = 16,
    kGetQueueNum = 17,
    kSetVringEnable = 18,
    kSendRarp = 19,
    kSetMtu = 20,
    kSetStatus = 39,
    kGetStatus = 40,
};

}  // namespace weir::vhost_request
