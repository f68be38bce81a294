// scsi_cdb.h - parser of SCSI command descriptor blocks of 6 to 32 bytes: operation and range of blocks, for
// iscsi.cc.
// Source: SBC-4. Units: blocks. Threads: any (pure).
//
// The first byte is the operation code; address and length follow at places that depend on its group.
// Example: READ(10) of 8 blocks from block 0x1000 is 28 00 00 00 10 00 00 00 08 00: address in bytes 2 to 5,
// length in bytes 7 and 8.
#pragma once

#include <cstdint>

#include "cost_functions/protocols/binary.h"
#include "cost_functions/tracker/protocol.h"

namespace weir {

struct ScsiCommand {
    Operation operation = Operation::kControl;
    std::uint64_t first = 0;    ///< block
    std::uint32_t blocks = 0;   ///< 0 when the command block has no count
    bool moves_blocks = false;  ///< the data are exactly these blocks, so that the block size can be learned
};

inline constexpr std::size_t kScsiCdbBytes = 16;

namespace scsi {

/// Operation codes that touch blocks; the number in a name is the length of its command block.
enum : std::uint8_t {
    kRead6 = 0x08,
    kWrite6 = 0x0A,
    kRead10 = 0x28,
    kWrite10 = 0x2A,
    kWriteVerify10 = 0x2E,
    kSynchronizeCache10 = 0x35,
    kWriteSame10 = 0x41,
    kUnmap = 0x42,
    kVariableLength = 0x7F,
    kRead16 = 0x88,
    kCompareAndWrite = 0x89,
    kWrite16 = 0x8A,
    kWriteVerify16 = 0x8E,
    kSynchronizeCache16 = 0x91,
    kWriteSame16 = 0x93,
    kRead12 = 0xA8,
    kWrite12 = 0xAA,
    kWriteVerify12 = 0xAE
};
/// Service actions of kVariableLength.
inline constexpr std::uint16_t kRead32 = 0x0009;
inline constexpr std::uint16_t kWrite32 = 0x000B;

inline ScsiCommand with_10(Bytes cdb, Operation operation, bool moves) {
    return {operation, big_endian<std::uint32_t>(cdb, 2), big_endian<std::uint16_t>(cdb, 7), moves};
}
inline ScsiCommand with_12(Bytes cdb, Operation operation) {
    return {operation, big_endian<std::uint32_t>(cdb, 2), big_endian<std::uint32_t>(cdb, 6), true};
}
inline ScsiCommand with_16(Bytes cdb, Operation operation, bool moves) {
    return {operation, big_endian<std::uint64_t>(cdb, 2), big_endian<std::uint32_t>(cdb, 10), moves};
}
inline ScsiCommand with_6(Bytes cdb, Operation operation) {
    constexpr std::uint32_t kAddress = 0x1FFFFF;
    return {operation, big_endian<std::uint32_t>(cdb, 0) & kAddress, cdb[4] == 0 ? 256U : cdb[4], true};
}
/// The address of these commands lies behind the first 16 bytes.
inline ScsiCommand with_32(Bytes cdb) {
    const auto action = big_endian<std::uint16_t>(cdb, 8);
    return {.operation = action == kRead32    ? Operation::kRead
                         : action == kWrite32 ? Operation::kWrite
                                              : Operation::kControl};
}

}  // namespace scsi

/// @param cdb kScsiCdbBytes bytes. Shorter commands use only the first of them; of 32-byte commands only the
/// operation is known from these.
[[nodiscard]] inline ScsiCommand parse_scsi_cdb(Bytes cdb) {
    using namespace scsi;
    switch (cdb[0]) {
        case kRead6:
            return with_6(cdb, Operation::kRead);
        case kWrite6:
            return with_6(cdb, Operation::kWrite);
        case kRead10:
            return with_10(cdb, Operation::kRead, true);
        case kWrite10:
        case kWriteVerify10:
            return with_10(cdb, Operation::kWrite, true);
        case kRead12:
            return with_12(cdb, Operation::kRead);
        case kWrite12:
        case kWriteVerify12:
            return with_12(cdb, Operation::kWrite);
        case kRead16:
            return with_16(cdb, Operation::kRead, true);
        case kWrite16:
        case kWriteVerify16:
            return with_16(cdb, Operation::kWrite, true);
        case kSynchronizeCache10:
            return with_10(cdb, Operation::kFlush, false);
        case kSynchronizeCache16:
            return with_16(cdb, Operation::kFlush, false);
        case kWriteSame10:
            return with_10(cdb, Operation::kDelete, false);
        case kWriteSame16:
            return with_16(cdb, Operation::kDelete, false);
        case kUnmap:
            return {.operation = Operation::kDelete};
        case kCompareAndWrite:
            return {Operation::kUpdate, big_endian<std::uint64_t>(cdb, 2), cdb[13], false};
        case kVariableLength:
            return with_32(cdb);
        default:
            return {};
    }
}

}  // namespace weir
