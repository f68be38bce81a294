// byte_order.h - integers in big-endian order, as network protocols have them, and in little-endian order, as
// messages to the controller have them.
// Units: bytes. Threads: any (pure functions). The caller must have checked that the bytes exist.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {

template <std::unsigned_integral T>
constexpr T swap_bytes(T value) {
    if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(value);
    else if constexpr (sizeof(T) == 8)
        return __builtin_bswap64(value);
    return value;
}

/// Each compiles to one load.
template <std::unsigned_integral T>
[[nodiscard]] T load_big(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return std::endian::native == std::endian::big ? value : swap_bytes(value);
}
template <std::unsigned_integral T>
[[nodiscard]] T load_little(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

[[nodiscard]] inline std::uint16_t be16(const std::uint8_t* at) {
    return load_big<std::uint16_t>(at);
}
[[nodiscard]] inline std::uint32_t be32(const std::uint8_t* at) {
    return load_big<std::uint32_t>(at);
}
/// @param value its low 16 bits are written
inline void put_be16(std::uint8_t* at, std::uint32_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 8);
    at[1] = static_cast<std::uint8_t>(value);
}
inline void put_be32(std::uint8_t* at, std::uint32_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 24);
    at[1] = static_cast<std::uint8_t>(value >> 16);
    at[2] = static_cast<std::uint8_t>(value >> 8);
    at[3] = static_cast<std::uint8_t>(value);
}

/// Writes little-endian values one after the other.
class LittleEndianWriter {
  public:
    explicit LittleEndianWriter(std::uint8_t* at) : at_(at) {}
    template <std::unsigned_integral T>
    void put(T value) {
        for (std::size_t i = 0; i < sizeof value; ++i)
            *at_++ = static_cast<std::uint8_t>(value >> (8 * i));
    }
    void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }

  private:
    std::uint8_t* at_;
};

/// Reads little-endian values one after the other.
class LittleEndianReader {
  public:
    explicit LittleEndianReader(const std::uint8_t* at) : at_(at) {}
    template <std::unsigned_integral T>
    void get(T& value) {
        value = load_little<T>(at_);
        at_ += sizeof value;
    }
    void get(float& value) {
        value = std::bit_cast<float>(load_little<std::uint32_t>(at_));
        at_ += sizeof value;
    }

  private:
    const std::uint8_t* at_;
};

}  // namespace weir
