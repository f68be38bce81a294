// ebpf_program.h - an operator's eBPF program after the price list, and the two steps before it runs: reading
// its instructions from a file, and checking each of them.
// Source: DPDK rte_bpf; eBPF; ELF-64; docs/algorithms.md 5.2. Units: bytes, tokens.
// Threads: loading any but a poll thread; tokens() poll threads, several at once.
//
// Programs come from the operator, never from a guest. A program computes a number from its arguments and
// does nothing else: it reads the arguments, writes registers, jumps forwards and returns. So it ends after
// at most as many instructions as it has, and cannot fail while it runs. Example, which doubles the table's
// price: `r0 = *(u32*)(r1 + 12); r0 *= 2; exit`. A program that is refused is not run, and the price list
// alone counts.
//
// Loading has three checks. check_instructions() is stricter than rte_bpf's own validator, which has had
// holes; rte_bpf then validates; and at last the compiled program must give the interpreter's results for
// arguments small, usual and extreme.
#pragma once

#include <rte_bpf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"
#include "cost_functions/cost_program.h"

namespace weir {

/// Most instructions of a program; compiled, about as many cycles for a request.
inline constexpr std::size_t kProgramInstructionsMax = 256;
/// Most instructions when each counts once for every way to reach it: rte_bpf's validator walks all ways.
inline constexpr std::uint64_t kProgramWaysMax = 1U << 19;
/// Section of an ELF object that holds the program.
inline constexpr std::string_view kProgramSection = "cost";

/// Reads the instructions from the bytes of a file: an ELF object as clang writes it, or the bare
/// instructions. Accepts any bytes and never reads beyond them. rte_bpf_elf_load() reads such files too, but
/// does not return the instructions that it loads, so they could not be checked. @param name of the file, for
/// the faults
[[nodiscard]] std::variant<std::vector<ebpf_insn>, Fault> instructions_of(std::string_view bytes,
                                                                          const std::string& name);

/// @param name of the program, for the fault's path  @return the fault of the first instruction that breaks a
/// rule, or nothing
[[nodiscard]] std::optional<Fault> check_instructions(std::span<const ebpf_insn> program,
                                                      const std::string& name);

class EbpfProgram : public CostProgram {
  public:
    using Loaded = std::variant<std::shared_ptr<const EbpfProgram>, Fault>;

    /// Loads the program of a file.
    [[nodiscard]] static Loaded read(const std::string& file);
    /// @param name for the faults
    [[nodiscard]] static Loaded load(std::span<const ebpf_insn> instructions, const std::string& name);

    /// The program's result, at most 2^32 - 1.
    [[nodiscard]] std::uint32_t tokens(const CostArguments& arguments) const noexcept override;

    [[nodiscard]] bool compiled() const { return compiled_ != nullptr; }
    /// The interpreter's result. tokens() interprets only where DPDK has no compiler for this CPU.
    [[nodiscard]] std::uint64_t interpret(const CostArguments& arguments) const noexcept;

  private:
    struct Destroy {
        void operator()(rte_bpf* bpf) const { rte_bpf_destroy(bpf); }
    };
    using Handle = std::unique_ptr<rte_bpf, Destroy>;

    explicit EbpfProgram(Handle bpf);
    [[nodiscard]] bool agrees_with_itself() const;

    Handle bpf_;
    std::uint64_t (*compiled_)(void*) = nullptr;
};

}  // namespace weir
