// random_key.h - secrets of hash tables, so that neither guests nor hosts on the wire can choose where theirs
// collide.
// Threads: any.
#pragma once

#include <cstdint>
#include <random>

namespace weir {

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
