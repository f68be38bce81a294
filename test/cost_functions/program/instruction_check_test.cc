// instruction_check_test.cc - refused programs, with the instruction and its fault.
#include "cost_functions/program/ebpf_program.h"
#include "test/cost_functions/program/program_support.h"

using namespace weir;
using namespace weir::test;

namespace {

void check_refused(const Program& program, std::size_t at, const std::string& message) {
    const Fault fault = refused(program);
    INFO(fault.to_line());
    CHECK(fault.path == "test, instruction " + std::to_string(at));
    CHECK(fault.message.find(message) != std::string::npos);
    CHECK_FALSE(fault.allowed.empty());
}

// A program that does one thing with r0 and r2, which hold arguments.
Program with(const ebpf_insn& one) {
    return {load(0, kTokens), load(2, kRequestBytes), one, finish()};
}

}  // namespace

TEST_CASE("loops are refused") {
    check_refused({set(0, 100), compute(BPF_SUB, 0, 1), jump_if(EBPF_JNE, 0, 0, -2), finish()}, 2, "a loop");
    check_refused({set(0, 0), jump(-1)}, 1, "a loop");
}

TEST_CASE("calls are refused, of helpers and of the program's own functions") {
    check_refused({instruction(BPF_JMP | EBPF_CALL, 0, 0, 0, 5), finish()}, 0, "calls a function");
    check_refused({set(0, 0), instruction(BPF_JMP | EBPF_CALL, 0, EBPF_PSEUDO_CALL, 0, 1), finish()}, 1,
                  "calls a function");
}

TEST_CASE("reads beyond the arguments are refused, at any address") {
    check_refused({load(0, 24), finish()}, 0, "bytes 24 to 27");
    check_refused({load(0, 22), finish()}, 0, "bytes 22 to 25");
    check_refused({load(0, -4), finish()}, 0, "bytes -4 to -1");
    check_refused({instruction(BPF_LDX | BPF_MEM | EBPF_DW, 0, 1, 20, 0), finish()}, 0, "bytes 20 to 27");
    check_refused({load(0, 32'767), finish()}, 0, "bytes 32767");
    // At a number, at the stack, in a packet.
    check_refused({load(2, 0), instruction(BPF_LDX | BPF_MEM | BPF_W, 0, 2, 0, 0), finish()}, 1,
                  "of its own making");
    check_refused({instruction(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -8, 0), finish()}, 0, "the stack");
    check_refused({instruction(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 12), finish()}, 0, "a packet");
    // Through a copy of the address it is allowed, through a changed one not.
    CHECK(
        accepted({copy(6, 1), set(1, 0), instruction(BPF_LDX | BPF_MEM | BPF_W, 0, 6, kTokens, 0), finish()})
            ->tokens({0, 0, 0, 77, 1, 0}) == 77);
    check_refused({compute(BPF_ADD, 1, 16), load(0, 0), finish()}, 0, "the address of the arguments");
}

TEST_CASE("writes to memory are refused") {
    check_refused({load(0, kTokens), instruction(BPF_STX | BPF_MEM | BPF_W, 1, 0, kTokens, 0), finish()}, 1,
                  "writes to memory");
    check_refused({instruction(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 1), set(0, 1), finish()}, 0,
                  "writes to memory");
    check_refused({load(0, 0), instruction(BPF_STX | EBPF_XADD | BPF_W, 1, 0, 0, 0), finish()}, 1,
                  "writes to memory");
}

TEST_CASE("divisions that could be by zero are refused") {
    for (const int operation : {BPF_DIV, BPF_MOD}) {
        check_refused(with(compute(operation, 0, 0)), 2, "divides by 0");
        check_refused(with(combine(operation, 0, 2)), 2, "divides by r2, which could be 0");
        check_refused(with(instruction(BPF_ALU | operation | BPF_K, 0, 0, 0, 0)), 2, "divides by 0");
        check_refused(with(instruction(BPF_ALU | operation | BPF_X, 0, 2, 0, 0)), 2, "divides by r2");
        CHECK(accepted(with(compute(operation, 0, 10)))->tokens({0, 0, 0, 105, 1, 0}) ==
              (operation == BPF_DIV ? 10U : 5U));
    }
}

TEST_CASE("registers are used only when they are set on every way") {
    check_refused({finish()}, 0, "r0 is not set");
    check_refused({set(0, 1), combine(BPF_ADD, 0, 5), finish()}, 1, "r5 is not set");
    check_refused({compute(BPF_ADD, 0, 1), finish()}, 0, "r0 is not set");
    // r0 on one of two ways.
    check_refused({load(2, 0), jump_if(BPF_JEQ, 2, 0, 1), set(0, 1), finish()}, 3,
                  "r0 is not set on every way");
    // On both.
    CHECK(accepted({load(2, 0), set(0, 9), jump_if(BPF_JEQ, 2, 0, 1), set(0, 1), finish()})
              ->tokens({0, 0, 0, 0, 1, 0}) == 9);
    // A number on one way, the address on the other: neither.
    check_refused({load(2, 0), copy(3, 1), jump_if(BPF_JEQ, 2, 0, 1), set(3, 0),
                   instruction(BPF_LDX | BPF_MEM | BPF_W, 0, 3, 0, 0), finish()},
                  4, "r3 is not set on every way");
}

TEST_CASE("addresses are no numbers: not returned, compared, computed with or cut in half") {
    check_refused({copy(0, 1), finish()}, 1, "r0 is the address");
    check_refused({set(0, 0), jump_if(BPF_JEQ, 1, 0, 0), finish()}, 1, "r1 is the address");
    check_refused({set(0, 0), combine(BPF_ADD, 0, 1), finish()}, 1, "r1 is the address");
    check_refused({instruction(BPF_ALU | EBPF_MOV | BPF_X, 0, 1, 0, 0), finish()}, 0, "r1 is the address");
    check_refused({copy(0, 10), finish()}, 0, "the stack");
    check_refused({set(10, 0), set(0, 0), finish()}, 0, "r10 cannot be written");
}

TEST_CASE("jumps stay in the program, on whole instructions, and every instruction can be reached") {
    check_refused({set(0, 0), jump(7), finish()}, 1, "out of the program");
    check_refused({set(0, 0), jump_if(BPF_JEQ, 0, 0, 1), finish()}, 1, "out of the program");
    check_refused({set(0, 0), jump_if(BPF_JEQ, 0, 0, 1), instruction(BPF_LD | BPF_IMM | EBPF_DW, 0, 0, 0, 1),
                   instruction(0, 0, 0, 0, 0), finish()},
                  1, "middle of a constant");
    check_refused({set(0, 0), finish(), set(0, 1), finish()}, 2, "nothing leads here");
    check_refused({set(0, 0)}, 0, "behind its last instruction");
    check_refused({set(0, 0), instruction(BPF_LD | BPF_IMM | EBPF_DW, 0, 0, 0, 1)}, 1,
                  "behind its last instruction");
}

TEST_CASE("instructions that DPDK compiles and interprets differently are refused") {
    check_refused(with(jump_if(BPF_JSET, 0, 8, 0)), 2, "interprets and compiles this jump differently");
    check_refused(with(instruction(BPF_ALU | BPF_RSH | BPF_X, 0, 2, 0, 0)), 2, "shifts by r2");
    check_refused(with(combine(BPF_LSH, 0, 2)), 2, "shifts by r2");
    check_refused(with(instruction(BPF_ALU | EBPF_END | EBPF_TO_LE, 0, 0, 0, 16)), 2, "differently");
}

TEST_CASE("instructions that rte_bpf does not know, and fields without a use, are refused") {
    check_refused(with(instruction(0x06 | BPF_JEQ, 0, 0, 0, 0)), 2, "no jumps on 32 bits");
    check_refused(with(instruction(BPF_ALU | EBPF_ARSH | BPF_K, 0, 0, 0, 1)), 2, "no such instruction");
    check_refused(with(instruction(EBPF_ALU64 | 0xe0, 0, 0, 0, 1)), 2, "no such instruction");
    check_refused(with(instruction(BPF_JMP | 0xe0, 0, 0, 0, 1)), 2, "no such instruction");
    check_refused(with(instruction(BPF_LDX | BPF_ABS, 0, 1, 0, 0)), 2, "no such instruction");
    check_refused(with(instruction(EBPF_ALU64 | BPF_ADD | BPF_K, 0, 2, 0, 1)), 2, "not zero");
    check_refused(with(instruction(EBPF_ALU64 | BPF_ADD | BPF_X, 0, 2, 0, 1)), 2, "not zero");
    check_refused(with(instruction(EBPF_ALU64 | BPF_ADD | BPF_X, 0, 2, 3, 0)), 2, "not zero");
    check_refused(with(instruction(BPF_LD | BPF_IMM | EBPF_DW, 0, 1, 0, 0)), 2, "outside of the program");
    check_refused(with(instruction(EBPF_ALU64 | BPF_ADD | BPF_X, 0, 11, 0, 0)), 2, "no such register");
    check_refused(with(compute(BPF_LSH, 0, 64)), 2, "shifts by more");
    check_refused(with(instruction(BPF_ALU | BPF_LSH | BPF_K, 0, 0, 0, 32)), 2, "shifts by more");
}

TEST_CASE("a program with too many ways through it is refused before a validator walks them all") {
    // Each pair doubles the ways; DPDK 22.11's validator would take 6 s for 22 of them.
    Program branches{load(2, 0), set(0, 0)};
    for (int i = 0; i < 60; ++i) {
        branches.push_back(jump_if(BPF_JEQ, 2, i, 1));
        branches.push_back(compute(BPF_ADD, 0, i));
    }
    branches.push_back(finish());
    const Fault fault = refused(branches);
    CHECK(fault.message.find("too many ways") != std::string::npos);
    CHECK(fault.path.find("test, instruction ") == 0);
}

TEST_CASE("a fault shows the instruction as a disassembler does") {
    CHECK(refused({set(0, 1), instruction(BPF_JMP | EBPF_CALL, 0, 0, 0, 5), finish()}).to_line() ==
          "test, instruction 1: found 85 00 00 00 05 00 00 00; allowed: programs that call nothing (static "
          "inline in "
          "C); it calls a function");
}
