// ebpf_program_check.cc - the rules of instructions, checked in one walk from the first to the last. As jumps
// only go forwards, the walk has seen all ways to an instruction before it reaches the instruction.
#include <array>
#include <bit>
#include <cstdio>
#include <vector>

#include "cost_functions/cost_program.h"
#include "cost_functions/program/ebpf_program.h"

namespace weir {
namespace {

// Kind of value that a register holds on every way to an instruction.
enum class Holds : std::uint8_t { kNothing, kNumber, kArguments, kStack };
using Registers = std::array<Holds, EBPF_REG_NUM>;

struct Broken {
    std::string message;
    std::string allowed;
};
using Outcome = std::optional<Broken>;

constexpr std::uint8_t kJump32 = 0x06;  // BPF_JMP32, which rte_bpf does not know
constexpr const char* kKinds = "arithmetic, loads from the arguments, jumps forwards, exit";

std::string name_of(unsigned reg) {
    return "r" + std::to_string(reg);
}

Outcome unknown() {
    return Broken{"rte_bpf knows no such instruction", kKinds};
}

// Fields that an instruction does not use must be zero, because a later DPDK could give them a meaning.
Outcome unused(bool zero) {
    if (zero)
        return std::nullopt;
    return Broken{"a field that this instruction does not use is not zero", "0"};
}

Outcome must_be_number(const Registers& registers, unsigned reg) {
    switch (registers[reg]) {
        case Holds::kNumber:
            return std::nullopt;
        case Holds::kNothing:
            return Broken{name_of(reg) + " is not set on every way to here",
                          "a register that was set before"};
        case Holds::kStack:
            return Broken{"it uses the stack", "values that fit the registers (compile with -O2)"};
        case Holds::kArguments:
            break;
    }
    return Broken{name_of(reg) + " is the address of the arguments, not a number", "numbers"};
}

Outcome may_write(unsigned reg) {
    if (reg < EBPF_REG_10)
        return std::nullopt;
    return Broken{"r10 cannot be written", "r0 to r9"};
}

Outcome check_end(const ebpf_insn& ins) {
    if (BPF_CLASS(ins.code) != BPF_ALU || (ins.imm != 16 && ins.imm != 32 && ins.imm != 64))
        return unknown();
    // DPDK 22.11 interprets the other direction as doing nothing at all, and compiles it as cutting off.
    if (BPF_SRC(ins.code) != EBPF_TO_BE)
        return Broken{"rte_bpf interprets and compiles this differently", "and, to cut off high bits"};
    return unused(ins.src_reg == 0 && ins.off == 0);
}

Outcome check_divisor(const ebpf_insn& ins) {
    const std::uint8_t operation = BPF_OP(ins.code);
    if (operation != BPF_DIV && operation != BPF_MOD)
        return std::nullopt;
    // A division by zero would end the program, with 0 as its result, and the interpreter would log it.
    if (BPF_SRC(ins.code) == BPF_X)
        return Broken{"it divides by " + name_of(ins.src_reg) + ", which could be 0",
                      "division by a constant"};
    if (ins.imm == 0)
        return Broken{"it divides by 0", "any other constant"};
    return std::nullopt;
}

Outcome check_shift(const ebpf_insn& ins) {
    const std::uint8_t operation = BPF_OP(ins.code);
    const bool wide = BPF_CLASS(ins.code) == EBPF_ALU64;
    if (operation == EBPF_ARSH && !wide)
        return unknown();
    if (operation != BPF_LSH && operation != BPF_RSH && operation != EBPF_ARSH)
        return std::nullopt;
    // DPDK 22.11's compiler and interpreter give some of these different results; a shift by more bits than
    // the register has gives any result.
    if (BPF_SRC(ins.code) == BPF_X)
        return Broken{"it shifts by " + name_of(ins.src_reg) + ", which could be more than there is",
                      "shifts by a constant"};
    const std::int32_t bits = wide ? 64 : 32;
    if (ins.imm < 0 || ins.imm >= bits)
        return Broken{"it shifts by more than there is", "0 to " + std::to_string(bits - 1)};
    return std::nullopt;
}

Outcome check_arithmetic(const ebpf_insn& ins, Registers& registers) {
    const std::uint8_t operation = BPF_OP(ins.code);
    if (operation > EBPF_END)
        return unknown();
    if (operation == EBPF_END) {
        if (Outcome fault = check_end(ins))
            return fault;
    } else if (operation == BPF_NEG) {
        if (BPF_SRC(ins.code) != BPF_K)
            return unknown();
        if (Outcome fault = unused(ins.src_reg == 0 && ins.off == 0 && ins.imm == 0))
            return fault;
    } else if (Outcome fault =
                   unused(ins.off == 0 && (BPF_SRC(ins.code) == BPF_X ? ins.imm : ins.src_reg) == 0)) {
        return fault;
    }
    for (const Outcome& fault : {may_write(ins.dst_reg), check_divisor(ins), check_shift(ins)})
        if (fault)
            return fault;
    const bool two = operation != EBPF_END && operation != BPF_NEG && BPF_SRC(ins.code) == BPF_X;
    // A whole address may be copied from register to register.
    const bool copies = ins.code == (EBPF_ALU64 | EBPF_MOV | BPF_X);
    if (copies && registers[ins.src_reg] == Holds::kArguments) {
        registers[ins.dst_reg] = Holds::kArguments;
        return std::nullopt;
    }
    if (two)
        if (Outcome fault = must_be_number(registers, ins.src_reg))
            return fault;
    if (operation != EBPF_MOV)
        if (Outcome fault = must_be_number(registers, ins.dst_reg))
            return fault;
    registers[ins.dst_reg] = Holds::kNumber;
    return std::nullopt;
}

Outcome check_load(const ebpf_insn& ins, Registers& registers) {
    if (BPF_MODE(ins.code) != BPF_MEM)
        return unknown();
    if (Outcome fault = may_write(ins.dst_reg))
        return fault;
    if (Outcome fault = unused(ins.imm == 0))
        return fault;
    if (registers[ins.src_reg] != Holds::kArguments) {
        Outcome fault = must_be_number(registers, ins.src_reg);
        return fault ? fault : Broken{"it reads at an address of its own making", "reads of the arguments"};
    }
    constexpr std::array<int, 4> kSizes{4, 2, 1, 8};  // BPF_W, BPF_H, BPF_B, EBPF_DW
    const int size = kSizes[BPF_SIZE(ins.code) >> 3U];
    constexpr int kEnd = sizeof(CostArguments);
    if (ins.off < 0 || ins.off + size > kEnd)
        return Broken{"it reads bytes " + std::to_string(ins.off) + " to " +
                          std::to_string(ins.off + size - 1) + " of the arguments",
                      "bytes 0 to " + std::to_string(kEnd - 1)};
    registers[ins.dst_reg] = Holds::kNumber;
    return std::nullopt;
}

Outcome check_jump(const ebpf_insn& ins, const Registers& registers) {
    const std::uint8_t operation = BPF_OP(ins.code);
    const bool of_register = BPF_SRC(ins.code) == BPF_X;
    if (operation == EBPF_CALL)
        return Broken{"it calls a function", "programs that call nothing (static inline in C)"};
    if (operation == EBPF_EXIT) {
        if (of_register)
            return unknown();
        Outcome fault = unused(ins.dst_reg == 0 && ins.src_reg == 0 && ins.off == 0 && ins.imm == 0);
        return fault ? fault : must_be_number(registers, EBPF_REG_0);
    }
    if (operation == BPF_JA)
        return of_register ? unknown() : unused(ins.dst_reg == 0 && ins.src_reg == 0 && ins.imm == 0);
    if (operation > EBPF_JSLE)
        return unknown();
    // DPDK 22.11 compiles it as a jump that is taken at other times than the interpreted one.
    if (operation == BPF_JSET && !of_register)
        return Broken{"rte_bpf interprets and compiles this jump differently",
                      "and, then a comparison with 0"};
    if (Outcome fault = unused((of_register ? ins.imm : ins.src_reg) == 0))
        return fault;
    Outcome fault = must_be_number(registers, ins.dst_reg);
    return fault || !of_register ? fault : must_be_number(registers, ins.src_reg);
}

Outcome check_one(const ebpf_insn& ins, Registers& registers) {
    if (ins.dst_reg >= EBPF_REG_NUM || ins.src_reg >= EBPF_REG_NUM)
        return Broken{"there is no such register", "r0 to r10"};
    switch (BPF_CLASS(ins.code)) {
        case BPF_ALU:
        case EBPF_ALU64:
            return check_arithmetic(ins, registers);
        case BPF_LDX:
            return check_load(ins, registers);
        case BPF_JMP:
            return check_jump(ins, registers);
        case BPF_LD:
            if (ins.code != (BPF_LD | BPF_IMM | EBPF_DW))
                return Broken{"it reads a packet, and there is none", kKinds};
            if (Outcome fault = may_write(ins.dst_reg))
                return fault;
            registers[ins.dst_reg] = Holds::kNumber;
            if (ins.src_reg != 0)
                return Broken{"it refers to something outside of the program", "constants"};
            return unused(ins.off == 0);
        case kJump32:
            return Broken{"rte_bpf knows no jumps on 32 bits", "64 bits (compile with -mcpu=v2)"};
        default:
            return Broken{"it writes to memory", "results in registers (compile with -O2)"};
    }
}

class Walk {
  public:
    explicit Walk(std::span<const ebpf_insn> program) : program_(program), places_(program.size()) {
        Registers start{};
        start[EBPF_REG_1] = Holds::kArguments;
        start[EBPF_REG_10] = Holds::kStack;
        places_[0] = {start, 1};
    }

    /// @param at set to the instruction of the fault  @return the first fault
    Outcome run(std::size_t& at) {
        for (at = 0; at < program_.size(); at += width(at))
            if (Outcome fault = visit(at))
                return fault;
        return std::nullopt;
    }

  private:
    struct Place {
        Registers registers{};
        std::uint64_t ways = 0;  // number of ways to this instruction
    };

    // A constant of 64 bits takes two instructions.
    [[nodiscard]] std::size_t width(std::size_t i) const {
        return program_[i].code == (BPF_LD | BPF_IMM | EBPF_DW) ? 2 : 1;
    }

    Outcome visit(std::size_t i) {
        if (places_[i].ways == 0)
            return Broken{"nothing leads here", "instructions that can run"};
        ways_ += places_[i].ways;
        if (ways_ > kProgramWaysMax)
            return Broken{"there are too many ways to here through the branches before",
                          std::to_string(kProgramWaysMax) + " instructions, counted on every way to them"};
        const ebpf_insn& ins = program_[i];
        Registers registers = places_[i].registers;
        if (Outcome fault = check_one(ins, registers))
            return fault;
        const bool jumps = BPF_CLASS(ins.code) == BPF_JMP;
        const bool ends = jumps && BPF_OP(ins.code) == EBPF_EXIT;
        const bool always = jumps && BPF_OP(ins.code) == BPF_JA;
        if (jumps && !ends)
            if (Outcome fault = jump(i, ins.off, registers))
                return fault;
        return ends || always ? std::nullopt : next(i, registers);
    }

    Outcome jump(std::size_t i, std::int16_t offset, const Registers& registers) {
        if (offset < 0)
            return Broken{"it jumps back: a loop", "jumps forwards (#pragma unroll)"};
        const std::size_t target = i + 1 + static_cast<std::size_t>(offset);
        if (target >= program_.size())
            return Broken{"it jumps out of the program", "up to " + std::to_string(program_.size() - 1)};
        for (std::size_t j = i + 1; j < target; j += width(j))
            if (j + width(j) > target)
                return Broken{"it jumps into the middle of a constant of 64 bits", "whole instructions"};
        arrive(target, places_[i].ways, registers);
        return std::nullopt;
    }

    Outcome next(std::size_t i, const Registers& registers) {
        const std::size_t after = i + width(i);
        if (after >= program_.size())
            return Broken{"the program goes on behind its last instruction", "exit"};
        if (width(i) == 2) {
            const ebpf_insn& rest = program_[i + 1];
            if (Outcome fault =
                    unused(rest.code == 0 && rest.dst_reg == 0 && rest.src_reg == 0 && rest.off == 0))
                return fault;
        }
        arrive(after, places_[i].ways, registers);
        return std::nullopt;
    }

    // A register that does not hold the same kind of value on all ways cannot be used.
    void arrive(std::size_t i, std::uint64_t ways, const Registers& registers) {
        Place& place = places_[i];
        if (place.ways == 0)
            place.registers = registers;
        for (std::size_t reg = 0; reg < registers.size(); ++reg)
            if (place.registers[reg] != registers[reg])
                place.registers[reg] = Holds::kNothing;
        place.ways += ways;
    }

    std::span<const ebpf_insn> program_;
    std::vector<Place> places_;
    std::uint64_t ways_ = 0;
};

// As a disassembler shows it: 8 bytes.
std::string show(const ebpf_insn& ins) {
    std::string text;
    for (const unsigned char byte : std::bit_cast<std::array<unsigned char, sizeof(ebpf_insn)>>(ins)) {
        std::array<char, 4> hex{};
        std::snprintf(hex.data(), hex.size(), "%02x", byte);
        text += (text.empty() ? "" : " ") + std::string(hex.data());
    }
    return text;
}

}  // namespace

std::optional<Fault> check_instructions(std::span<const ebpf_insn> program, const std::string& name) {
    if (program.empty() || program.size() > kProgramInstructionsMax)
        return Fault{name, std::to_string(program.size()) + " instructions",
                     "1 to " + std::to_string(kProgramInstructionsMax),
                     "the program is too short or too long"};
    std::size_t at = 0;
    Outcome fault = Walk(program).run(at);
    if (!fault)
        return std::nullopt;
    return Fault{name + ", instruction " + std::to_string(at), show(program[at]), std::move(fault->allowed),
                 std::move(fault->message)};
}

}  // namespace weir
