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
    [[nodiscard]] Access see(const Request& request, Nanos now) noexcept;
    [[nodiscard]] std::uint32_t tokens(const Request& request, std::uint32_t response_bytes,
                                       Access access) const noexcept;

    [[nodiscard]] const CostTable& table() const { return *table_; }

  private:
    std::shared_ptr<const CostTable> table_;
    std::shared_ptr<const CostProgram> program_;
    std::optional<RecentPlaces> recent_;
    std::uint64_t next_place_ = UINT64_MAX;  // where the last request ended
};

}  // namespace weir
