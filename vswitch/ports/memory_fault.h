// memory_fault.h - survives accesses beyond the end of a guest's memory.
// Source: vhost-user protocol (memory regions); virtio 1.2 2.7.5.3. Threads: any; installed once, at start.
//
// A guest's memory is a file that the switch maps. Two things can end a process that maps it, and with it the
// switch of all other guests:
//
// - The front-end truncates the file. The next access beyond its end raises SIGBUS. The handler puts zeros in
//   place of the rest of that mapping, and the access goes on: the guest's rings read as empty descriptors.
//   Example: a region of 512 MiB truncated to 1 MiB costs one signal and one mmap(). No check can prevent
//   this, as the file may change at any moment, and files of hugetlbfs cannot be sealed.
// - The vhost library reads the length of an indirect table twice (22.11, 24.11). A guest that lowers it in
//   between makes the library read up to 32,768 descriptors, 512 KiB, behind the end of the guest's memory,
//   or behind the shorter copy of the table in DPDK's heap: SIGSEGV. The handler lets such a read find zeros,
//   and the library sees empty descriptors, which it refuses.
//
// A memory error of the hardware (BUS_MCEERR) ends the process as before, and so does any other fault.
#pragma once

#include <cstdint>

namespace weir {

/// Called once per process, before the first guest connects.
/// Handles SIGBUS in shared mappings of files, and SIGSEGV of reads closely behind them, from now on; any
/// other SIGBUS or SIGSEGV goes to what handled it before.
void survive_memory_faults();

/// Faults that were survived since the start. A guest in a well-behaved front-end causes none.
[[nodiscard]] std::uint64_t memory_faults();

}  // namespace weir
