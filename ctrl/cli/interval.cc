// interval.cc - one option's words.
#include "ctrl/cli/interval.h"

#include "common/units.h"
#include "ctrl/cli/failure.h"

namespace weir::cli {

std::chrono::nanoseconds interval_of(const std::string& text) {
    constexpr std::uint64_t kMin = 50'000'000;
    constexpr std::uint64_t kMax = 3'600'000'000'000;
    const ParsedQuantity parsed = parse_quantity(Quantity::kDuration, text);
    if (!parsed.ok())
        throw bad_input("--interval", text, units_of(Quantity::kDuration), "it " + std::string(parsed.fault));
    if (parsed.value < kMin || parsed.value > kMax)
        throw bad_input("--interval", text, "50ms to 3600s", "out of range");
    return std::chrono::nanoseconds(parsed.value);
}

}  // namespace weir::cli
