// ebpf_program.h - an operator's eBPF program after the price list, run by rte_bpf: compiled where DPDK can.
// Source: DPDK's bpf library. Units: bytes, tokens. Threads: loading any but a poll thread; tokens() poll
// threads, several at once.
//
// Programs come from the operator, never from a guest. The price list is what counts when there is none, or
// when it is refused.
#pragma once

#include <rte_bpf.h>

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "common/error.h"
#include "cost_functions/cost_program.h"

namespace weir {

class EbpfProgram : public CostProgram {
  public:
    using Loaded = std::variant<std::shared_ptr<const EbpfProgram>, Fault>;

    /// An ELF object or bare instructions (program_file.h).
    [[nodiscard]] static Loaded read(const std::string& file);
    /// @param name for the faults
    [[nodiscard]] static Loaded load(std::span<const ebpf_insn> instructions, const std::string& name);

    /// What the program returns, 32 bits of it at most: more is all of them.
    [[nodiscard]] std::uint32_t tokens(const CostArguments& arguments) const noexcept override;

    [[nodiscard]] bool compiled() const { return compiled_ != nullptr; }
    /// What it returns by interpreting, which tokens() does only where it is not compiled.
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
