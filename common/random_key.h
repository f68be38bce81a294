// random_key.h - secrets of hash tables, so that neither guests nor hosts on the wire can choose where theirs
// collide.
// Source: docs/algorithms.md 4.7. Units: words of 64 bits. Threads: any.
//
// A known key would let a sender pick addresses that all fall into one place of the table.
#pragma once

#include <cstdint>
#include <random>

namespace weir {

/// Call it where the table is made, once in its life, and give all workers that share the table the same key.
/// @param Key a std::array of std::uint64_t
/// @return random words, other ones with each call
/// @throws std::exception when the system has no source of randomness
template <typename Key>
Key random_key() {
    std::random_device device;
    Key key{};
    for (std::uint64_t& word : key)
        word = std::uint64_t{device()} << 32 | device();
    return key;
}

}  // namespace weir
