// cost_program.h - what an operator's program after the table looks like from here; how it is loaded and run
// is cost_functions/program's business. Units: bytes, tokens. Threads: poll threads, several at once.
#pragma once

#include <cstdint>

namespace weir {

/// What a program is given: the layout is its interface (example in cost_functions/program).
struct CostArguments {
    std::uint32_t operation;  ///< Operation
    std::uint32_t request_bytes;
    std::uint32_t response_bytes;  ///< expected, or as it was
    std::uint32_t tokens;          ///< what the table says
    std::uint32_t keys;
    std::uint32_t access;  ///< Access
};
static_assert(sizeof(CostArguments) == 24);

class CostProgram {
  public:
    CostProgram() = default;
    CostProgram(const CostProgram&) = delete;
    CostProgram& operator=(const CostProgram&) = delete;
    virtual ~CostProgram() = default;
    [[nodiscard]] virtual std::uint32_t tokens(const CostArguments& arguments) const noexcept = 0;
};

}  // namespace weir
