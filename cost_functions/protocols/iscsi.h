// iscsi.h - SCSI over TCP: login, then commands and data units that pair by the initiator's task tag.
// Source: RFC 7143, SBC-4. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A request's `place` is its first block times the block size seen last, and a write's bytes include the
/// Data-Out units to come, which cost nothing again. Whether digests are in use is agreed in the other
/// direction as well, so each direction finds it out: a header's digest by its CRC, a data digest by where
/// the next header stands.
extern const Protocol kIscsiProtocol;

}  // namespace weir
