// memory_fault.h - survives a guest whose memory file becomes shorter while the switch uses it.
// Source: vhost-user protocol (memory regions). Threads: any; installed once, at start.
//
// A guest's memory is a file that the switch maps. When the front-end truncates the file, the next access
// beyond its end raises SIGBUS, which ends a process, and with it the switch of all other guests. The handler
// puts zeros in place of the rest of that mapping, and the access goes on: the guest's rings read as empty
// descriptors. Example: a region of 512 MiB truncated to 1 MiB costs one signal and one mmap().
//
// No check can prevent this, as the file may change at any moment, and files of hugetlbfs cannot be sealed. A
// memory error of the hardware (BUS_MCEERR) ends the process as before, and so does a fault in memory that is
// not shared with a file.
#pragma once

#include <cstdint>

namespace weir {

/// Called once per process, before the first guest connects.
/// Handles SIGBUS in shared mappings of files from now on; any other SIGBUS ends the process as before.
void survive_memory_faults();

/// Mappings that had to be replaced since the start. A guest in a well-behaved front-end causes none.
[[nodiscard]] std::uint64_t memory_faults();

}  // namespace weir
