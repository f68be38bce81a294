// program_support.h - eBPF instructions by name, for programs written in tests.
#pragma once

#include <rte_bpf.h>

#include <string>
#include <variant>
#include <vector>

#include "cost_functions/program/ebpf_program.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

namespace weir::test {

using Program = std::vector<ebpf_insn>;

inline ebpf_insn instruction(int code, int dst, int src, int off, int imm) {
    ebpf_insn ins{};
    ins.code = static_cast<std::uint8_t>(code);
    ins.dst_reg = static_cast<std::uint8_t>(dst) & 0xFU;
    ins.src_reg = static_cast<std::uint8_t>(src) & 0xFU;
    ins.off = static_cast<std::int16_t>(off);
    ins.imm = imm;
    return ins;
}

// Offsets of the arguments.
enum : int { kOperation = 0, kRequestBytes = 4, kResponseBytes = 8, kTokens = 12, kKeys = 16, kAccess = 20 };

inline ebpf_insn load(int dst, int offset) {
    return instruction(BPF_LDX | BPF_MEM | BPF_W, dst, 1, offset, 0);
}
inline ebpf_insn set(int dst, int value) {
    return instruction(EBPF_ALU64 | EBPF_MOV | BPF_K, dst, 0, 0, value);
}
inline ebpf_insn copy(int dst, int src) {
    return instruction(EBPF_ALU64 | EBPF_MOV | BPF_X, dst, src, 0, 0);
}
/// dst = dst OP value
inline ebpf_insn compute(int operation, int dst, int value) {
    return instruction(EBPF_ALU64 | operation | BPF_K, dst, 0, 0, value);
}
/// dst = dst OP src
inline ebpf_insn combine(int operation, int dst, int src) {
    return instruction(EBPF_ALU64 | operation | BPF_X, dst, src, 0, 0);
}
/// Skips `skip` instructions if dst OP value.
inline ebpf_insn jump_if(int operation, int dst, int value, int skip) {
    return instruction(BPF_JMP | operation | BPF_K, dst, 0, skip, value);
}
inline ebpf_insn jump(int skip) {
    return instruction(BPF_JMP | BPF_JA, 0, 0, skip, 0);
}
inline ebpf_insn finish() {
    return instruction(BPF_JMP | EBPF_EXIT, 0, 0, 0, 0);
}

inline std::shared_ptr<const EbpfProgram> accepted(const Program& program) {
    const EbpfProgram::Loaded loaded = EbpfProgram::load(program, "test");
    if (const Fault* fault = std::get_if<Fault>(&loaded))
        FAIL(fault->to_line());
    return std::get<std::shared_ptr<const EbpfProgram>>(loaded);
}

inline Fault refused(const Program& program) {
    const EbpfProgram::Loaded loaded = EbpfProgram::load(program, "test");
    const Fault* fault = std::get_if<Fault>(&loaded);
    return fault == nullptr ? Fault{"accepted", "", "", ""} : *fault;
}

}  // namespace weir::test
