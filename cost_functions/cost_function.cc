// cost_function.cc - the rarer cases: repeats, requests of several keys, programs.
#include "cost_functions/cost_function.h"

#include <algorithm>

namespace weir {

CostFunction::CostFunction(std::shared_ptr<const CostTable> table, std::shared_ptr<const CostProgram> program)
    : table_(std::move(table)), program_(std::move(program)) {
    if (table_->facts().repeat)
        recent_.emplace(*table_->facts().repeat);
}

Access CostFunction::see_repeats(const Request& request, Nanos now) noexcept {
    if (request.operation == Operation::kDelete)
        recent_->forget(request.place);
    if (!has_place(request))
        return Access::kPlain;
    const bool sequential = is_sequential(request);
    // A request of several keys has the place of its first key only, which proves nothing about the others.
    const bool repeated = request.keys == 1 && recent_->touch(request.place, request.span, now);
    if (repeated && table_->row(request.operation).repeat)
        return Access::kRepeat;
    return sequential ? Access::kSequential : Access::kPlain;
}

std::uint32_t CostFunction::tokens_of_more(const Request& request, std::uint32_t response_bytes,
                                           Access access) const noexcept {
    const std::uint32_t first =
        table_->tokens(request.operation, request.request_bytes, response_bytes, access);
    const std::uint64_t more =
        std::uint64_t{std::max(request.keys, 1U) - 1} * table_->row(request.operation).key_tokens;
    const auto listed = static_cast<std::uint32_t>(std::min<std::uint64_t>(first + more, UINT32_MAX));
    if (!program_)
        return listed;
    return program_->tokens({static_cast<std::uint32_t>(request.operation), request.request_bytes,
                             response_bytes, listed, request.keys, static_cast<std::uint32_t>(access)});
}

}  // namespace weir
