// scsi_cdb.h - the request in a SCSI command descriptor block: operation and range of blocks.
// Source: SBC-4. Units: blocks. Threads: any (pure).
#pragma once

#include <cstdint>

#include "cost_functions/tracker/protocol.h"

namespace weir {

struct ScsiCommand {
    Operation operation = Operation::kControl;
    std::uint64_t first = 0;    ///< block
    std::uint32_t blocks = 0;   ///< 0 when the command block has no count
    bool moves_blocks = false;  ///< the data are exactly these blocks, so that the block size can be learned
};

inline constexpr std::size_t kScsiCdbBytes = 16;

/// @param cdb kScsiCdbBytes bytes. Shorter commands use only the first of them; of 32-byte commands the
/// operation is known from these.
[[nodiscard]] ScsiCommand parse_scsi_cdb(Bytes cdb);

}  // namespace weir
