// window_part.h - what of a host's window at an appliance is for one vNIC's requests. Units: tokens per
// second; shares. Threads: any (values).
#pragma once

#include <cstdint>

namespace weir {

struct WindowPart {
    std::uint64_t tokens = 0;  ///< reserved
    std::uint64_t shares = 0;  ///< 0: the switch's own count
    bool operator==(const WindowPart&) const = default;
};

}  // namespace weir
