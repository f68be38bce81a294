// scsi_cdb.h - what the command block of a SCSI command asks for. Source: SBC-4. Units: blocks. Threads: any
// (pure).
#pragma once

#include <cstdint>

#include "cost_functions/tracker/protocol.h"

namespace weir {

struct ScsiCommand {
    Operation operation = Operation::kControl;
    std::uint64_t first = 0;    ///< block
    std::uint32_t blocks = 0;   ///< 0: none, or not in the command block
    bool moves_blocks = false;  ///< its data are those blocks, so that their size is known
};

inline constexpr std::size_t kScsiCdbBytes = 16;

/// `cdb` has kScsiCdbBytes bytes, of which shorter commands use the first. Longer ones are known by what
/// these say.
ScsiCommand parse_scsi_cdb(Bytes cdb);

}  // namespace weir
