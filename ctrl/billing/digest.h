// digest.h - a hash that nobody finds two texts for. Source: FIPS 180-4. Threads: any. Not for a poll thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view text);
/// 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Sha256& hash);

}  // namespace weir
