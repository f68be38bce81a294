// bytes.h - integers and floats as little-endian bytes, whatever the machine: of messages and of stored
// blobs. Threads: any (pure functions).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir::wire {

/// Writes values one after the other.
class Writer {
  public:
    explicit Writer(std::uint8_t* at) : at_(at) {}
    void put(std::uint8_t value) { integer(value, 1); }
    void put(std::uint16_t value) { integer(value, 2); }
    void put(std::uint32_t value) { integer(value, 4); }
    void put(std::uint64_t value) { integer(value, 8); }
    void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }

  private:
    void integer(std::uint64_t value, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i, value >>= 8)
            *at_++ = static_cast<std::uint8_t>(value);
    }
    std::uint8_t* at_;
};

/// Reads values one after the other; the caller has checked that they are there.
class Reader {
  public:
    explicit Reader(const std::uint8_t* at) : at_(at) {}
    void get(std::uint8_t& value) { value = static_cast<std::uint8_t>(integer(1)); }
    void get(std::uint16_t& value) { value = static_cast<std::uint16_t>(integer(2)); }
    void get(std::uint32_t& value) { value = static_cast<std::uint32_t>(integer(4)); }
    void get(std::uint64_t& value) { value = integer(8); }
    void get(float& value) { value = std::bit_cast<float>(static_cast<std::uint32_t>(integer(4))); }

  private:
    std::uint64_t integer(std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            value |= std::uint64_t{*at_++} << (8 * i);
        return value;
    }
    const std::uint8_t* at_;
};

}  // namespace weir::wire
