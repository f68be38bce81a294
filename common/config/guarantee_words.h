// guarantee_words.h - the kinds of guarantees as configurations and reports name them. Threads: any.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/config/config_reader.h"
#include "common/guarantee.h"

namespace weir {

inline constexpr std::array kGuaranteeWords{
    Word<Guarantee>{"strict", Guarantee::kStrict}, Word<Guarantee>{"dynamic", Guarantee::kDynamic},
    Word<Guarantee>{"fairness", Guarantee::kFairness}, Word<Guarantee>{"best_effort", Guarantee::kBestEffort}};

[[nodiscard]] inline std::string_view guarantee_name(Guarantee guarantee) {
    return std::ranges::find(kGuaranteeWords, guarantee, &Word<Guarantee>::value)->text;
}

}  // namespace weir
