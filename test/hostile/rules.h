// rules.h - rules that virtio gives a driver, and one violation of each.
// Source: virtio 1.2 2.7; virtio 1.2 2.8; virtio 1.2 5.1.6. Units: bytes; entries.
// Threads: one.
//
// A violation is written into the rings of a guest that behaved until then and goes on as if nothing had
// been: it takes the next descriptors as an honest frame would. Frames after it must be served, or the ring
// must be stopped and named.
#pragma once

#include <span>
#include <string_view>

#include "test/hostile/guest.h"

namespace weir::hostile {

enum class Layout { kEither, kSplit, kPacked };

/// Where the rule is broken.
enum class Way {
    kRing,        ///< in memory, while the switch's worker rests
    kMessage,     ///< in a message of the connection
    kConnection,  ///< in the messages of a new connection, when the old one has ended
};

/// The guest, and the honest frame that the violation sends, where it sends one.
struct Offense {
    Guest& guest;
    Frame frame;

    /// Puts the frame into memory behind `header`. @return where it is
    [[nodiscard]] Buffer place(const FrameHeader& header = {});
    /// Adds a chain to a ring in which at least as many descriptors are free.
    void add(std::initializer_list<Buffer> chain, std::uint32_t ring = Guest::kTransmit);
    /// Writes an indirect table in the rings' layout: descriptors of `flags` with the frame, `next` each to
    /// the one behind it. @return the descriptor that names it
    [[nodiscard]] Buffer table(std::uint16_t entries, std::uint16_t flags = 0);
};

inline constexpr std::uint64_t kNone = 0;                                     ///< of features
inline constexpr std::uint64_t kNowhere = GuestMemory::kBytes + (64U << 20);  ///< an address of no region

struct Rule {
    std::string_view rule;       ///< that a driver must keep
    std::string_view violation;  ///< the way in which it breaks the rule
    Layout layout;
    std::uint32_t ring;      ///< in which honest frames go on: Guest::kReceive or Guest::kTransmit
    std::uint64_t features;  ///< asked for besides Guest::kWanted, and not asked for where kWanted has them
    void (*violate)(Offense& offense);
    Way way = Way::kRing;
};

/// Chains of descriptors, in either layout or in one.
[[nodiscard]] std::span<const Rule> descriptor_rules();
/// Indices, entries and event indices; sizes and addresses of rings; features.
[[nodiscard]] std::span<const Rule> ring_rules();
/// Headers in front of frames, lengths of frames and of receive buffers.
[[nodiscard]] std::span<const Rule> network_rules();

}  // namespace weir::hostile
