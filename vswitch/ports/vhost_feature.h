// vhost_feature.h - feature bits of virtio-net and their names in reports.
// Source: virtio 1.2 5.1.3; virtio 1.2 6; vhost-user protocol. Threads: any (pure).
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace weir::vhost {

enum Feature : unsigned {
    kChecksum = 0,
    kGuestChecksum = 1,
    kMtu = 3,
    kGuestTso4 = 7,
    kGuestTso6 = 8,
    kGuestEcn = 9,
    kGuestUfo = 10,
    kHostTso4 = 11,
    kHostTso6 = 12,
    kHostEcn = 13,
    kHostUfo = 14,
    kMergeable = 15,
    kMultiqueue = 22,
    kLogAll = 26,
    kIndirect = 28,
    kEventIndex = 29,
    kVersion1 = 32,
    kRingPacked = 34,
    kInOrder = 35,
};

[[nodiscard]] constexpr bool has(std::uint64_t features, Feature feature) {
    return (features >> feature & 1) != 0;
}

[[nodiscard]] constexpr std::uint64_t mask(std::initializer_list<Feature> features) {
    std::uint64_t bits = 0;
    for (const Feature feature : features)
        bits |= 1ULL << feature;
    return bits;
}

[[nodiscard]] inline std::vector<std::string> names(std::uint64_t features) {
    static constexpr std::pair<Feature, const char*> kNames[] = {
        {kChecksum, "checksum"},
        {kGuestChecksum, "guest-checksum"},
        {kMtu, "mtu"},
        {kGuestTso4, "guest-tso4"},
        {kHostTso4, "tso4"},
        {kMergeable, "mergeable"},
        {kMultiqueue, "multiqueue"},
        {kLogAll, "dirty-log"},
        {kIndirect, "indirect"},
        {kEventIndex, "event-index"},
        {kRingPacked, "packed"},
        {kInOrder, "in-order"},
    };
    std::vector<std::string> found;
    for (const auto& [feature, name] : kNames)
        if (has(features, feature))
            found.emplace_back(name);
    return found;
}

/// The bits in hexadecimal, and the names of those that have one: "0x400000 (multiqueue)".
[[nodiscard]] inline std::string text(std::uint64_t features) {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(features));
    std::string all;
    for (const std::string& name : names(features))
        all += (all.empty() ? " (" : ", ") + name;
    return hex.data() + all + (all.empty() ? "" : ")");
}

}  // namespace weir::vhost
