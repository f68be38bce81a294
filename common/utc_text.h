// utc_text.h - a time as people write it. Units: Unix seconds. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <string>

namespace weir {

/// 1795691200 is "2026-11-26 11:06:40 UTC". @param unix_seconds of a year from 0 to 9999, else the text is
/// empty
[[nodiscard]] inline std::string utc_text(std::int64_t unix_seconds) {
    const std::time_t seconds = unix_seconds;
    std::tm parts{};
    std::array<char, 32> text{};
    if (::gmtime_r(&seconds, &parts) == nullptr)
        return {};
    (void)std::strftime(text.data(), text.size(), "%F %T UTC", &parts);
    return text.data();
}

}  // namespace weir
