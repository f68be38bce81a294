// cost_program.h - interface of an operator's program that changes the cost table's price of a request.
// Source: docs/algorithms.md 5.2. Units: bytes, tokens. Threads: poll threads, several at once.
//
// cost_functions/program implements it with eBPF, so that this library needs no DPDK.
#pragma once

#include <cstdint>

namespace weir {

/// Arguments of a program. Operators' programs depend on this layout.
struct CostArguments {
    std::uint32_t operation;  ///< Operation
    std::uint32_t request_bytes;
    std::uint32_t response_bytes;  ///< expected, or the real size once the response has come
    std::uint32_t tokens;          ///< price of the table, which the program may replace
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
    /// @return the request's price instead of arguments.tokens
    [[nodiscard]] virtual std::uint32_t tokens(const CostArguments& arguments) const noexcept = 0;
};

}  // namespace weir
