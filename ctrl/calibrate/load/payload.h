// payload.h - bytes to write that no appliance can compress, and fields for headers. Threads: any.
#pragma once

#include <concepts>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace weir::calibrate {

/// Most bytes of one request.
inline constexpr std::uint64_t kPayloadMax = 32U << 20;

inline std::string_view random_payload(std::uint64_t size) {
    static const std::string kBytes = [] {
        std::string bytes(kPayloadMax, '\0');
        std::mt19937_64 random(1);
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
            const std::uint64_t word = random();
            for (std::size_t b = 0; b < sizeof word; ++b)
                bytes[i + b] = static_cast<char>(word >> (8 * b));
        }
        return bytes;
    }();
    return std::string_view(kBytes).substr(0, size);
}

/// Most significant byte first.
template <std::unsigned_integral T>
void append_big(std::string& out, T value) {
    for (std::size_t i = sizeof(T); i-- > 0;)
        out += static_cast<char>(std::uint64_t{value} >> (8 * i));
}

}  // namespace weir::calibrate
