// ebpf_program.cc - loading with its three checks, and the run of a program.
#include "cost_functions/program/ebpf_program.h"

#include <rte_errno.h>

#include <algorithm>
#include <array>

#include "common/config/config_text.h"
#include "cost_functions/request.h"

namespace weir {
namespace {

// Programs that check_instructions() accepts cannot write to the arguments.
void* passed(const CostArguments& arguments) {
    return const_cast<CostArguments*>(&arguments);
}

}  // namespace

EbpfProgram::EbpfProgram(Handle bpf) : bpf_(std::move(bpf)) {
    rte_bpf_jit jit{};
    if (rte_bpf_get_jit(bpf_.get(), &jit) == 0)
        compiled_ = jit.func;
}

EbpfProgram::Loaded EbpfProgram::read(const std::string& file) {
    std::variant<std::string, Fault> text = read_text_file(file);
    if (Fault* fault = std::get_if<Fault>(&text)) {
        fault->message = "the program could not be read";
        return std::move(*fault);
    }
    std::variant<std::vector<ebpf_insn>, Fault> instructions =
        instructions_of(std::get<std::string>(text), file);
    if (Fault* fault = std::get_if<Fault>(&instructions))
        return std::move(*fault);
    return load(std::get<std::vector<ebpf_insn>>(instructions), file);
}

EbpfProgram::Loaded EbpfProgram::load(std::span<const ebpf_insn> instructions, const std::string& name) {
    if (std::optional<Fault> fault = check_instructions(instructions, name))
        return std::move(*fault);
    rte_bpf_prm parameters{};
    parameters.ins = instructions.data();
    parameters.nb_ins = static_cast<std::uint32_t>(instructions.size());
    parameters.prog_arg.type = RTE_BPF_ARG_PTR;
    parameters.prog_arg.size = sizeof(CostArguments);
    Handle bpf(rte_bpf_load(&parameters));
    if (bpf == nullptr)
        return Fault{name, rte_strerror(rte_errno), "a program that rte_bpf takes",
                     "its validator refuses it and logs the instruction (pc)"};
    const std::shared_ptr<const EbpfProgram> program(new EbpfProgram(std::move(bpf)));
    if (!program->agrees_with_itself())
        return Fault{name, "two different results", "a program that this DPDK compiles as it interprets it",
                     "this DPDK compiles one of its instructions wrongly; use other instructions"};
    return program;
}

std::uint32_t EbpfProgram::tokens(const CostArguments& arguments) const noexcept {
    const std::uint64_t result = compiled_ != nullptr ? compiled_(passed(arguments)) : interpret(arguments);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(result, UINT32_MAX));
}

std::uint64_t EbpfProgram::interpret(const CostArguments& arguments) const noexcept {
    return rte_bpf_exec(bpf_.get(), passed(arguments));
}

// Compares compiler and interpreter for all operations, with sizes small, usual and extreme.
bool EbpfProgram::agrees_with_itself() const {
    if (compiled_ == nullptr)
        return true;
    constexpr std::array<std::uint32_t, 9> kSizes{0,      1,        28,       512,       4096,
                                                  65'537, 1U << 20, 1U << 31, UINT32_MAX};
    for (std::uint32_t operation = 0; operation < kOperations; ++operation)
        for (const std::uint32_t request : kSizes)
            for (const std::uint32_t response : kSizes) {
                const CostArguments arguments{
                    operation, request, response, request / 2 + response / 2, 1 + operation, operation % 3};
                if (compiled_(passed(arguments)) != interpret(arguments))
                    return false;
            }
    return true;
}

}  // namespace weir
