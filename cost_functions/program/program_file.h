// program_file.h - the instructions of an operator's program out of a file: an ELF object as clang writes it
// (the section "cost"), or the bare instructions. Source: ELF-64; the eBPF instruction format (8 bytes,
// little endian). Threads: any; never used on a poll thread.
//
// rte_bpf_elf_load() reads such files too, but shows nobody what it read: what is checked here is what is
// loaded.
#pragma once

#include <rte_bpf.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"

namespace weir {

inline constexpr std::string_view kProgramSection = "cost";

/// Any bytes at all are taken or refused; never reads beyond them.
/// @param name of the file, for the faults
[[nodiscard]] std::variant<std::vector<ebpf_insn>, Fault> instructions_of(std::string_view bytes,
                                                                          const std::string& name);

}  // namespace weir
