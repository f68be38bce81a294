// guarantee_words.h - the kinds of guarantees as configurations and reports name them. Threads: any.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/config/config_reader.h"
#include "common/guarantee.h"

namespace weir {

inline constexpr std::array kGuaranteeWords{Word<GuaranteeKind>{"strict", GuaranteeKind::kStrict},
                                            Word<GuaranteeKind>{"dynamic", GuaranteeKind::kDynamic},
                                            Word<GuaranteeKind>{"fairness", GuaranteeKind::kFairness},
                                            Word<GuaranteeKind>{"best_effort", GuaranteeKind::kBestEffort}};

[[nodiscard]] inline std::string_view guarantee_name(GuaranteeKind guarantee) {
    return std::ranges::find(kGuaranteeWords, guarantee, &Word<GuaranteeKind>::value)->text;
}

}  // namespace weir
