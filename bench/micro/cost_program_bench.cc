// cost_program_bench.cc - ns per request of an operator's program of 10 instructions, compiled and
// interpreted. Threads: one.
#include <benchmark/benchmark.h>

#include <array>
#include <bit>
#include <cstdint>

#include "cost_functions/program/ebpf_program.h"

namespace weir::bench {
namespace {

// configs/cost_programs/dear_writes.c as clang 16 compiles it.
constexpr std::array<std::uint64_t, 10> kDearWrites{
    0x0000'0000'000c'1061, 0x0000'0000'0000'1261, 0x0000'0001'0006'0255, 0x0000'0000'0004'1161,
    0x0000'0fff'0004'0125, 0x0000'0000'0000'01bf, 0x0000'0001'0000'0177, 0x0000'0000'0000'010f,
    0x0000'0000'0000'10bf, 0x0000'0000'0000'0095};

std::shared_ptr<const EbpfProgram> program() {
    std::array<ebpf_insn, kDearWrites.size()> instructions{};
    for (std::size_t i = 0; i < instructions.size(); ++i)
        instructions[i] = std::bit_cast<ebpf_insn>(kDearWrites[i]);
    return std::get<0>(EbpfProgram::load(instructions, "dear_writes"));
}

void cost_program_compiled(benchmark::State& state) {
    const auto dear = program();
    CostArguments arguments{1, 512, 16, 8192, 1, 0};
    for (auto _ : state) {
        arguments.operation ^= 1U;
        benchmark::DoNotOptimize(dear->tokens(arguments));
    }
}
BENCHMARK(cost_program_compiled);

void cost_program_interpreted(benchmark::State& state) {
    const auto dear = program();
    CostArguments arguments{1, 512, 16, 8192, 1, 0};
    for (auto _ : state) {
        arguments.operation ^= 1U;
        benchmark::DoNotOptimize(dear->interpret(arguments));
    }
}
BENCHMARK(cost_program_interpreted);

}  // namespace
}  // namespace weir::bench
