// cost_function.h - the cost of a request at an appliance, from the cost table, the requests before it, and
// the operator's program.
// Source: Pulsar 3.2; Pulsar 8; docs/algorithms.md 5.2. Units: bytes, tokens, nanoseconds.
// Threads: one poll thread (no division, no allocation); built on another.
//
// Each service flow has a cost function of its own, so that sequential and repeated requests are recognized
// within the flow. Example: after a read of 4096 bytes at offset 8192, a read at offset 12288 is sequential,
// and a second read at 8192 within the table's window is a repeat. The table may have lower prices for both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/clock.h"
#include "cost_functions/cost_program.h"
#include "cost_functions/cost_table.h"
#include "cost_functions/recent_places.h"
#include "cost_functions/request.h"

namespace weir {

class CostFunction {
  public:
    explicit CostFunction(std::shared_ptr<const CostTable> table,
                          std::shared_ptr<const CostProgram> program = nullptr);

    /// Tokens of a request that passes now. @param response_bytes known or expected
    [[nodiscard]] std::uint32_t tokens(const Request& request, std::uint32_t response_bytes,
                                       Nanos now) noexcept {
        return tokens(request, response_bytes, see(request, now));
    }

    /// The two halves of tokens(), for a request that is charged by an estimate and settled when its response
    /// is known: see() remembers the request and returns its kind of access; tokens() changes nothing.
    [[nodiscard]] Access see(const Request& request, Nanos now) noexcept {
        if (recent_) [[unlikely]]
            return see_repeats(request, now);
        return has_place(request) && is_sequential(request) ? Access::kSequential : Access::kPlain;
    }
    [[nodiscard]] std::uint32_t tokens(const Request& request, std::uint32_t response_bytes,
                                       Access access) const noexcept {
        if (program_ != nullptr || request.keys > 1) [[unlikely]]
            return tokens_of_more(request, response_bytes, access);
        return table_->tokens(request.operation, request.request_bytes, response_bytes, access);
    }

  private:
    [[nodiscard]] static bool has_place(const Request& request) noexcept {
        return request.operation == Operation::kRead || request.operation == Operation::kWrite ||
               request.operation == Operation::kUpdate;
    }
    /// The request begins where the last one ended.
    [[nodiscard]] bool is_sequential(const Request& request) noexcept {
        const bool sequential = request.span > 0 && request.place == next_place_;
        next_place_ = request.place + request.span;
        return sequential;
    }
    [[nodiscard]] Access see_repeats(const Request& request, Nanos now) noexcept;
    [[nodiscard]] std::uint32_t tokens_of_more(const Request& request, std::uint32_t response_bytes,
                                               Access access) const noexcept;

    std::shared_ptr<const CostTable> table_;
    std::shared_ptr<const CostProgram> program_;
    std::optional<RecentPlaces> recent_;
    std::uint64_t next_place_ = UINT64_MAX;  // where the last request ended
};

}  // namespace weir
