// nvme_tcp.h - NVMe over TCP: one queue per connection, commands and data units that pair by the command's
// identifier. Source: NVMe TCP transport 1.0, NVMe base 2.0, NVM command set 1.0. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A request's `place` is its first block times the block size seen last; a write's bytes include the data
/// units to come, which cost nothing again. The queue is believed to carry I/O unless its Connect said that
/// it is the admin's.
extern const Protocol kNvmeTcpProtocol;

}  // namespace weir
