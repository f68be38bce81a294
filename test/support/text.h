// text.h - checks of a text.
// Threads: tests only.
#pragma once

#include <string_view>

namespace weir::test {

inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace weir::test
