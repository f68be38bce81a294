// cost_program_fuzzer.cc - any bytes as a file with a program, and as the program itself: refused with a
// reason, or loaded with equal results compiled and interpreted.
#include <rte_log.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cost_functions/program/ebpf_program.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using Program = std::vector<ebpf_insn>;

void check_refusal(const Fault& fault) {
    require(!fault.path.empty(), "a fault has a path");
    check_fault(fault);
}

void check_runs(const EbpfProgram& program, std::string_view bytes) {
    for (std::size_t i = 0; i < 8; ++i) {
        CostArguments arguments{static_cast<std::uint32_t>(i), 28, 4096, 8192, 1, 0};
        if (bytes.size() >= sizeof arguments + i)
            std::memcpy(&arguments, bytes.data() + i, sizeof arguments);
        const std::uint64_t meant = std::min<std::uint64_t>(program.interpret(arguments), UINT32_MAX);
        require(program.tokens(arguments) == meant, "a program does the same compiled and interpreted");
    }
}

void check_program(const Program& instructions, std::string_view bytes) {
    const bool allowed = !check_instructions(instructions, "fuzz");
    const EbpfProgram::Loaded loaded = EbpfProgram::load(instructions, "fuzz");
    if (const Fault* fault = std::get_if<Fault>(&loaded)) {
        check_refusal(*fault);
        return;
    }
    require(allowed, "a loaded program was checked");
    check_runs(*std::get<std::shared_ptr<const EbpfProgram>>(loaded), bytes);
}

// Programs that mostly pass: all registers hold numbers, operations are those that exist, jumps are short.
Program built_of(std::string_view bytes) {
    Program program;
    const auto add = [&program](int code, unsigned dst, unsigned src, int off, int imm) {
        ebpf_insn ins{};
        ins.code = static_cast<std::uint8_t>(code);
        ins.dst_reg = dst & 0xFU;
        ins.src_reg = src & 0xFU;
        ins.off = static_cast<std::int16_t>(off);
        ins.imm = imm;
        program.push_back(ins);
    };
    constexpr unsigned kRegisters = 10;
    for (unsigned reg = 0; reg < kRegisters; ++reg)
        if (reg != 1)
            add(BPF_LDX | BPF_MEM | BPF_W, reg, 1, static_cast<int>(reg % 6) * 4, 0);
    add(BPF_LDX | BPF_MEM | EBPF_DW, 1, 1, 8, 0);
    for (std::size_t i = 0; i + 4 <= bytes.size() && program.size() < 200; i += 4) {
        const auto byte = [&](std::size_t j) { return static_cast<unsigned char>(bytes[i + j]); };
        const unsigned dst = byte(1) % kRegisters;
        const unsigned src = (byte(1) / 16U) % kRegisters;
        const int number = static_cast<std::int8_t>(byte(2)) * (byte(3) % 2 ? 1 : 1 << (byte(3) % 24));
        const bool of_register = (byte(0) & BPF_X) != 0;
        const int code = byte(0);
        if (BPF_CLASS(code) == BPF_JMP)
            add(code, dst, of_register ? src : 0, byte(3) % 4, of_register ? 0 : number);
        else if (BPF_OP(code) == BPF_NEG || BPF_OP(code) == EBPF_END)
            add(code, dst, 0, 0, BPF_OP(code) == BPF_NEG ? 0 : 16 << (byte(2) % 3));
        else
            add((code & 0xF8) | (byte(3) & 1 ? BPF_ALU : EBPF_ALU64), dst, of_register ? src : 0, 0,
                of_register ? 0 : number);
    }
    for (int i = 0; i < 4; ++i)  // wherever the last jump goes
        add(EBPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1);
    add(BPF_JMP | EBPF_EXIT, 0, 0, 0, 0);
    return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int quiet = (rte_log_set_global_level(RTE_LOG_EMERG), 0);
    (void)quiet;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto read = instructions_of(bytes, "fuzz");
    if (const Fault* fault = std::get_if<Fault>(&read))
        check_refusal(*fault);
    else
        check_program(std::get<Program>(read), bytes);
    check_program(built_of(bytes), bytes);
    return 0;
}
