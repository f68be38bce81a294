// instruction_check.h - what an operator's program may consist of, and which instruction breaks the rule.
// Source: the eBPF instruction set; rules of ours, beside rte_bpf's own validator, which has had holes
// (algorithms 8). Threads: any; never used on a poll thread.
//
// A program computes a number from its arguments and does nothing else: it reads the arguments, writes
// registers, jumps forwards and returns. So it ends after as many instructions as it has, and cannot fail
// while it runs.
#pragma once

#include <rte_bpf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/error.h"

namespace weir {

/// Instructions at most; compiled, about as many cycles for a request.
inline constexpr std::size_t kProgramInstructionsMax = 256;
/// Instructions at most, counted once for every way to reach them: rte_bpf's validator walks them all.
inline constexpr std::uint64_t kProgramWaysMax = 1U << 19;

/// Nothing, or what is wrong with the first instruction that breaks a rule.
/// @param name of the program, for the fault's path
[[nodiscard]] std::optional<Fault> check_instructions(std::span<const ebpf_insn> program,
                                                      const std::string& name);

}  // namespace weir
