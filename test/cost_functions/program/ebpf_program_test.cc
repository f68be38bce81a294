// ebpf_program_test.cc - accepted programs and their results, and the price list when a program is refused.
#include "cost_functions/program/ebpf_program.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "configs/cost_programs/weir_cost.h"
#include "cost_functions/cost_function.h"
#include "test/cost_functions/program/program_support.h"
#include "test/support/places.h"
#include "test/support/random.h"

using namespace weir;
using namespace weir::test;

namespace {

static_assert(sizeof(weir_request) == sizeof(CostArguments));
static_assert(offsetof(weir_request, operation) == offsetof(CostArguments, operation));
static_assert(offsetof(weir_request, request_bytes) == offsetof(CostArguments, request_bytes));
static_assert(offsetof(weir_request, response_bytes) == offsetof(CostArguments, response_bytes));
static_assert(offsetof(weir_request, tokens) == offsetof(CostArguments, tokens));
static_assert(offsetof(weir_request, keys) == offsetof(CostArguments, keys));
static_assert(offsetof(weir_request, access) == offsetof(CostArguments, access));

constexpr std::uint32_t kRead = 0;
constexpr std::uint32_t kWrite = 1;

const std::string kExample = source_path("test/fuzz/corpus/cost_program/dear_writes.o");

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string refusal_of(const std::string& bytes) {
    const auto result = instructions_of(bytes, "FILE");
    const Fault* fault = std::get_if<Fault>(&result);
    return fault == nullptr ? "taken" : fault->to_line();
}

// The table's tokens and half of them.
const Program kHalfAgain{load(0, kTokens), copy(2, 0), compute(BPF_RSH, 2, 1), combine(BPF_ADD, 0, 2),
                         finish()};

}  // namespace

TEST_CASE("the least program returns the price list's tokens") {
    const auto program = accepted({load(0, kTokens), finish()});
    CHECK(program->tokens({kRead, 28, 4096, 8192, 1, 0}) == 8192);
    CHECK(program->tokens({kRead, 28, 4096, UINT32_MAX, 1, 0}) == UINT32_MAX);
}

TEST_CASE("a program computes from operation, sizes and the price list") {
    // Reads: a third of the larger size; others: 7 + request * response.
    const auto program = accepted(
        {load(2, kOperation), load(0, kRequestBytes), load(3, kResponseBytes), jump_if(EBPF_JNE, 2, 0, 4),
         instruction(BPF_JMP | BPF_JGE | BPF_X, 0, 3, 1, 0), copy(0, 3), compute(BPF_DIV, 0, 3), finish(),
         combine(BPF_MUL, 0, 3), compute(BPF_ADD, 0, 7), finish()});
    CHECK(program->tokens({kRead, 28, 300, 0, 1, 0}) == 100);
    CHECK(program->tokens({kRead, 600, 300, 0, 1, 0}) == 200);
    CHECK(program->tokens({kWrite, 600, 300, 0, 1, 0}) == 180'007);
    // 64 bits are more than tokens can be: all of them.
    CHECK(program->tokens({kWrite, UINT32_MAX, UINT32_MAX, 0, 1, 0}) == UINT32_MAX);
}

TEST_CASE("every argument can be read, in every width") {
    const auto program =
        accepted({load(0, kKeys), load(2, kAccess), combine(BPF_ADD, 0, 2), load(2, kOperation),
                  combine(BPF_ADD, 0, 2), instruction(BPF_LDX | BPF_MEM | EBPF_DW, 3, 1, kKeys, 0),
                  instruction(BPF_LDX | BPF_MEM | BPF_H, 4, 1, kAccess + 2, 0),
                  instruction(BPF_LDX | BPF_MEM | BPF_B, 5, 1, kAccess + 3, 0), finish()});
    CHECK(program->tokens({3, 0, 0, 0, 500, 2}) == 505);
}

TEST_CASE("constants of 64 bits, negations, shifts and byte order are understood") {
    const auto program = accepted({instruction(BPF_LD | BPF_IMM | EBPF_DW, 0, 0, 0, 0x1000),
                                   instruction(0, 0, 0, 0, 2), compute(BPF_RSH, 0, 12), load(2, kTokens),
                                   instruction(EBPF_ALU64 | BPF_NEG, 2, 0, 0, 0), combine(BPF_SUB, 0, 2),
                                   instruction(BPF_ALU | EBPF_END | EBPF_TO_BE, 2, 0, 0, 64), finish()});
    CHECK(program->tokens({0, 0, 0, 5, 1, 0}) == 0x20'0001 + 5);
}

TEST_CASE("a program of 256 instructions is accepted, one of 257 is refused") {
    Program longest{load(0, kTokens)};
    while (longest.size() < 255)
        longest.push_back(compute(BPF_ADD, 0, 1));
    longest.push_back(finish());
    CHECK(accepted(longest)->tokens({0, 0, 0, 1'000, 1, 0}) == 1'254);
    longest.insert(longest.begin() + 1, compute(BPF_ADD, 0, 1));
    CHECK(refused(longest).to_line().find("257 instructions; allowed: 1 to 256") != std::string::npos);
}

TEST_CASE("a program is compiled where DPDK can, and does the same when it is interpreted") {
    const auto program = accepted(kHalfAgain);
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK(program->compiled());
#endif
    testing::Random32 random(9);
    for (int i = 0; i < 1'000; ++i) {
        const CostArguments arguments{random() % 7, random(), random(), random() >> (random() % 32), 1,
                                      random() % 3};
        REQUIRE(std::min<std::uint64_t>(program->interpret(arguments), UINT32_MAX) ==
                program->tokens(arguments));
    }
}

TEST_CASE("a cost function runs its program, and uses its price list without one") {
    const auto table = std::make_shared<const CostTable>();
    Request request;
    request.request_bytes = 100;
    CHECK(CostFunction(table).tokens(request, 900, 0) == 1'000);
    CHECK(CostFunction(table, accepted(kHalfAgain)).tokens(request, 900, 0) == 1'500);
    // A refused program is none: the loader's caller has nothing to hand on.
    const EbpfProgram::Loaded loaded = EbpfProgram::load(Program{finish()}, "test");
    const auto* program = std::get_if<std::shared_ptr<const EbpfProgram>>(&loaded);
    CHECK(program == nullptr);
    CHECK(CostFunction(table, program == nullptr ? nullptr : *program).tokens(request, 900, 0) == 1'000);
}

TEST_CASE("the example, as clang compiles it, makes small writes dearer") {
    // Compiled just now where there is a clang for it, else as it was when it was committed.
    const char* compiled = std::getenv("WEIR_COST_EXAMPLE");
    for (const std::string& file : {kExample, std::string(compiled == nullptr ? kExample : compiled)}) {
        const EbpfProgram::Loaded loaded = EbpfProgram::read(file);
        if (const Fault* fault = std::get_if<Fault>(&loaded))
            FAIL(fault->to_line());
        const auto& program = std::get<std::shared_ptr<const EbpfProgram>>(loaded);
        CHECK(program->tokens({kWrite, 512, 16, 8192, 1, 0}) == 12'288);
        CHECK(program->tokens({kWrite, 4096, 16, 8192, 1, 0}) == 8192);
        CHECK(program->tokens({kRead, 28, 512, 8192, 1, 0}) == 8192);
        CHECK(program->tokens({kWrite, 512, 16, UINT32_MAX, 1, 0}) == UINT32_MAX);
    }
}

TEST_CASE("bare instructions in a file are a program too") {
    const std::string bytes(reinterpret_cast<const char*>(kHalfAgain.data()),
                            kHalfAgain.size() * sizeof(ebpf_insn));
    const auto read = instructions_of(bytes, "FILE");
    REQUIRE(std::holds_alternative<Program>(read));
    CHECK(accepted(std::get<Program>(read))->tokens({0, 0, 0, 100, 1, 0}) == 150);
}

TEST_CASE("files without a program are refused with the reason") {
    const std::string elf = bytes_of(kExample);
    CHECK(refusal_of("") ==
          "FILE: found 0 bytes; allowed: an ELF object for eBPF, or instructions of 8 bytes; this is no "
          "program");
    CHECK(refusal_of("1234567").find("7 bytes") != std::string::npos);
    CHECK(refusal_of("\x7F"
                     "ELF")
              .find("this is no eBPF object") != std::string::npos);
    std::string other = elf;
    other[18] = 62;  // e_machine: x86-64
    CHECK(refusal_of(other).find("this is no eBPF object") != std::string::npos);
    other = elf;
    other.replace(other.find("cost"), 4, "kost");  // the section's name, for want of another place
    CHECK(refusal_of(other).find("section \"cost\"") != std::string::npos);
    // Wherever it is cut off, it is refused or the program is whole.
    for (std::size_t size = 0; size < elf.size(); ++size) {
        const auto result = instructions_of(elf.substr(0, size), "FILE");
        CHECK_FALSE(std::holds_alternative<Program>(result));
    }
    CHECK(std::holds_alternative<Fault>(EbpfProgram::read("/nonexistent/program.o")));
}
