// config_support.h - short ways to ask the parser in tests.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"
#include "vswitch/config/config.h"

namespace weir::test {

/// The cost tables that come with the switch.
inline const std::string kShipped = source_path("configs/costs");

inline SwitchConfig valid(std::string_view text) {
    auto parsed = parse_config(text);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        FAIL(faults->front().to_line());
    return std::get<SwitchConfig>(parsed);
}

inline Faults faults_of(std::string_view text) {
    auto parsed = parse_config(text);
    const Faults* faults = std::get_if<Faults>(&parsed);
    return faults == nullptr ? Faults{} : *faults;
}

}  // namespace weir::test
