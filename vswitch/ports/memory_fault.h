// memory_fault.h - survives a guest's memory that becomes shorter.
// Source: vhost-user protocol (memory regions); Threads: any; installed once, at start.
//
// A guest's memory is a file that the switch maps. The front-end may truncate it, and the next access beyond
// its end raises SIGBUS, which would end the switch of all other guests. The handler puts zeros in place of
// the rest of that mapping, and the access goes on: the guest's rings read as empty descriptors. Example: a
// region of 512 MiB truncated to 1 MiB costs one signal and one mmap(). No check can prevent this, as the
// file may change at any moment, and files of hugetlbfs cannot be sealed.
//
// A memory error of the hardware (BUS_MCEERR) ends the process as before, and so does any other fault.
#pragma once

#include <cstdint>

namespace weir {

/// Called once per process, before the first guest connects.
/// Handles SIGBUS in shared mappings of files from now on; any other SIGBUS goes to the handler that was
/// installed before.
void survive_memory_faults();

/// Faults that were survived since the start. A guest in a well-behaved front-end causes none.
[[nodiscard]] std::uint64_t memory_faults();

}  // namespace weir
