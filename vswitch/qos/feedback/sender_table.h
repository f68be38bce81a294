// sender_table.h - the senders to this worker's vNICs: bytes and advertised rate of each, and their summary.
// Source: EyeQ 3.2; Choudhury and Hahne (ToN'98); Dietzfelbinger (STACS'96); docs/algorithms.md 4.3. Units:
// accounted bytes; tokens (accounted bytes) per second; ns. Threads: one owner (a worker). Allocates only
// when built.
//
// A link that is full hides how much its senders offered, but the bytes that each of them sent in the last
// period are known. Example: four senders sent 60, 50, 40 and 2 KB to a vNIC whose part is 100 KB per period.
// level_of() finds that cutting each to 32.7 KB fits: 3 * 32.7 + 2 = 100. A rate law would approach that rate
// in steps.
//
// Any host on the wire may make up source addresses. A vNIC may therefore add a sender only while it has
// fewer than there are free places, and at most 1,024; one that has more than are free forgets some. Example:
// of 8,192 places one flooded vNIC takes 1,024, eight such vNICs take 910 each, and 910 are left for the
// senders of all others. The hash is strongly universal with a random key, so addresses cannot be chosen to
// meet in one bucket, and a bucket has at most 16 entries.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clock.h"
#include "common/types.h"

namespace weir {

/// One sender to one vNIC.
struct alignas(64) Sender {
    std::uint64_t address = 0;          ///< MAC, 48 bits
    Nanos advertised_at = 0;            ///< time of its last feedback; 0: it had none
    std::uint64_t advertised_rate = 0;  ///< tokens per second in its last feedback
    float rate = 0;                     ///< bytes per second received from it, smoothed over periods
    std::uint32_t window_bytes = 0;     ///< received from it in this period
    std::uint32_t bytes_since_feedback = 0;
    std::uint32_t next_in_bucket = 0;  ///< or among the free entries
    std::uint32_t next_of_vnic = 0;
    std::uint16_t silent_periods = 0;
    VnicId vnic = kNoVnic;
};
static_assert(sizeof(Sender) == 64);

/// Places of a table of senders, and of the senders of one vNIC in it.
struct SenderList {
    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::uint32_t first = kNone;
    std::uint32_t count = 0;
};

/// Three random words. The default is for tests and simulations.
using SenderKey = std::array<std::uint64_t, 3>;
inline constexpr SenderKey kSenderKey{0x9E37'79B9'7F4A'7C15, 0xC2B2'AE3D'27D4'EB4F, 0x1656'67B1'9E37'79F9};

class SenderTable {
  public:
    static constexpr std::uint32_t kNone = SenderList::kNone;
    /// Senders of one vNIC. More cannot be held to 9 Gbit/s by a lowest advertised rate of 10 Mbit/s.
    static constexpr std::uint32_t kOfVnicMax = 1024;
    /// Entries that a look-up visits. With random addresses one bucket of 10^13 would have more.
    static constexpr std::uint32_t kBucketMax = 16;

    /// @param capacity senders, a power of two
    explicit SenderTable(std::uint32_t capacity, const SenderKey& key = kSenderKey);

    /// Place of the sender, which is added when it is new; kNone when the vNIC may not add one.
    /// @param of_vnic the vNIC's senders
    [[nodiscard]] std::uint32_t find_or_add(VnicId vnic, std::uint64_t address, SenderList& of_vnic);
    [[nodiscard]] Sender& operator[](std::uint32_t at) { return senders_[at]; }

    /// Walks over the senders of a vNIC and forgets those for which keep(sender) is false.
    template <typename Keep>
    void visit(SenderList& of_vnic, Keep&& keep) {
        for (std::uint32_t* link = &of_vnic.first; *link != kNone;) {
            const std::uint32_t at = *link;
            if (keep(senders_[at])) {
                link = &senders_[at].next_of_vnic;
            } else {
                *link = senders_[at].next_of_vnic;
                release(at);
                --of_vnic.count;
            }
        }
    }
    [[nodiscard]] std::uint32_t size() const { return size_; }
    /// Senders up to which a vNIC may add one: as many as are free. A vNIC that has more when others came
    /// leaves room at the end of its period.
    [[nodiscard]] std::uint32_t quota() const {
        return std::min(static_cast<std::uint32_t>(senders_.size()) - size_, kOfVnicMax);
    }

  private:
    /// Both halves of the vNIC and the address, each with a random word added, multiplied: any two senders
    /// meet in one bucket with the probability 1 / capacity unless the key is known.
    [[nodiscard]] std::size_t bucket_of(VnicId vnic, std::uint64_t address) const {
        const std::uint64_t upper = address >> 32 | static_cast<std::uint64_t>(vnic) << 16;
        const std::uint64_t lower = address & UINT32_MAX;
        return ((key_[0] + upper) * (key_[1] + lower) + key_[2]) >> shift_;
    }
    void release(std::uint32_t at);

    SenderKey key_;
    unsigned shift_;
    std::uint32_t size_ = 0;
    std::uint32_t free_ = 0;
    std::vector<std::uint32_t> buckets_;
    std::vector<Sender> senders_;
};

/// Bytes of a full frame on the wire.
inline constexpr float kFullFrame = 1538;
/// Bytes (5 full frames) that are more than the chance of where a window begins and ends.
inline constexpr std::uint32_t kManyBytes = 8'000;

struct SenderSummary {
    std::uint32_t backlogged = 0;              ///< senders that the advertised rate holds back
    std::uint32_t risen = 0;                   ///< senders that are new, or whose rate more than doubled
    double others = 0;                         ///< bytes per second of all senders that are not backlogged
    std::span<const std::uint32_t> windows{};  ///< bytes of each sender in the window, without zeros; at the
                                               ///< end all senders without an entry, as if they were one
};

/// Rate of `amount` in `span`.
[[nodiscard]] inline double per_second(double amount, Nanos span) {
    return amount * static_cast<double>(kNanosPerSec) / static_cast<double>(span);
}
/// Amount of a rate in `span`.
[[nodiscard]] inline double over(double per_sec, Nanos span) {
    return per_sec * static_cast<double>(span) / static_cast<double>(kNanosPerSec);
}

/// The level to which the larger of `windows` must be cut so that all together are `room` bytes.
[[nodiscard]] double level_of(std::span<const std::uint32_t> windows, double room);

/// Summary of a vNIC's senders at the end of a period: begins their next window, and forgets senders without
/// a packet in 100 periods.
/// @param of_vnic    the vNIC's senders
/// @param unlisted   all of its senders without an entry; the law alone holds them, so they count as not
///                   backlogged
/// @param advertised the lowest rate that was advertised to them in the last periods
/// @param room       for the summary's windows: kOfVnicMax + 1
[[nodiscard]] SenderSummary close_windows(SenderTable& senders, SenderList& of_vnic, Sender& unlisted,
                                          std::uint64_t advertised, Nanos span,
                                          std::span<std::uint32_t> room);
/// Bytes of each of a vNIC's senders so far in the current window, and at the end of those without an entry.
[[nodiscard]] std::span<const std::uint32_t> open_windows(SenderTable& senders, SenderList& of_vnic,
                                                          const Sender& unlisted,
                                                          std::span<std::uint32_t> room);

}  // namespace weir
