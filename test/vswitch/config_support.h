// config_support.h - short ways to ask the parser in tests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "test/support/catch.h"
#include "vswitch/config.h"

namespace weir::test {

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

inline bool has_fault(const Faults& faults, std::string_view path, std::string_view fragment) {
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
        return fault.path == path && fault.to_line().find(fragment) != std::string::npos;
    });
}

inline std::string lines_of(const Faults& faults) {
    std::string text;
    for (const Fault& fault : faults)
        text += fault.to_line() + '\n';
    return text;
}

}  // namespace weir::test
