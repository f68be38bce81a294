// cost_function.h - what a request costs at a service: its price list, what came before, the operator's
// program. Source: Pulsar 3.2; state: the caching that Pulsar 8 leaves open. Units: bytes, tokens,
// nanoseconds. Threads: one, a poll thread (no division, no allocation); made elsewhere.
//
// One for each flow to a service: what is sequential or repeated is seen within it.
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

    /// For a request that passes now. `response_bytes`: known or expected.
    [[nodiscard]] std::uint32_t tokens(const Request& request, std::uint32_t response_bytes,
                                       Nanos now) noexcept {
        return tokens(request, response_bytes, see(request, now));
    }

    /// The two halves of it, for a request that is charged by an estimate and settled when its response is
    /// known: see() remembers the request and says how it came; tokens() changes nothing.
    [[nodiscard]] Access see(const Request& request, Nanos now) noexcept {
        if (recent_) [[unlikely]]
            return see_repeats(request, now);
        return has_place(request) && goes_on(request) ? Access::kSequential : Access::kPlain;
    }
    [[nodiscard]] std::uint32_t tokens(const Request& request, std::uint32_t response_bytes,
                                       Access access) const noexcept {
        if (program_ != nullptr || request.keys > 1) [[unlikely]]
            return tokens_of_more(request, response_bytes, access);
        return table_->tokens(request.operation, request.request_bytes, response_bytes, access);
    }

    [[nodiscard]] const CostTable& table() const { return *table_; }

  private:
    [[nodiscard]] static bool has_place(const Request& request) noexcept {
        return request.operation == Operation::kRead || request.operation == Operation::kWrite ||
               request.operation == Operation::kUpdate;
    }
    /// It begins where the last one ended.
    [[nodiscard]] bool goes_on(const Request& request) noexcept {
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
