// sender_table.h - who sends to this worker's vNICs: what each sent and what it was told.
// Source: EyeQ 3.2 (feedback goes to sampled senders). Units: accounted bytes, ns, tokens per second.
// Threads: one owner (a worker). Allocates only when built; a full table gives the place of nobody in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"

namespace weir {

/// One sender to one vNIC.
struct alignas(64) Sender {
    std::uint64_t address = 0;       ///< MAC, 48 bits
    Nanos told_at = 0;               ///< 0 = never
    std::uint64_t told_rate = 0;     ///< what it was told then
    float rate = 0;                  ///< received from it, smoothed
    std::uint32_t window_bytes = 0;  ///< in this period
    std::uint32_t untold_bytes = 0;  ///< since it was told
    std::uint32_t next_in_bucket = 0;
    std::uint32_t next_of_vnic = 0;
    std::uint16_t silent_periods = 0;
    VnicId vnic = kNoVnic;
};
static_assert(sizeof(Sender) == 64);

class SenderTable {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// @param capacity senders, a power of two
    explicit SenderTable(std::uint32_t capacity);

    /// The sender's entry, made when there is none; kNone when the table is full.
    [[nodiscard]] std::uint32_t find_or_add(VnicId vnic, std::uint64_t address, std::uint32_t& of_vnic);
    [[nodiscard]] Sender& operator[](std::uint32_t at) { return senders_[at]; }

    /// Walks over the senders of a vNIC from `of_vnic` on; those for which keep(sender) is false are
    /// forgotten.
    template <typename Keep>
    void visit(std::uint32_t& of_vnic, Keep&& keep) {
        for (std::uint32_t* link = &of_vnic; *link != kNone;) {
            const std::uint32_t at = *link;
            if (keep(senders_[at])) {
                link = &senders_[at].next_of_vnic;
            } else {
                *link = senders_[at].next_of_vnic;
                release(at);
            }
        }
    }
    [[nodiscard]] std::uint32_t size() const { return size_; }

  private:
    [[nodiscard]] std::size_t bucket_of(VnicId vnic, std::uint64_t address) const {
        const std::uint64_t mixed =
            (address ^ static_cast<std::uint64_t>(vnic) << 48) * 0x9E37'79B9'7F4A'7C15;
        return mixed >> shift_;
    }
    void release(std::uint32_t at);

    unsigned shift_;
    std::uint32_t size_ = 0;
    std::uint32_t free_ = 0;
    std::vector<std::uint32_t> buckets_;
    std::vector<Sender> senders_;
};

/// A full frame on the wire.
inline constexpr float kFullFrame = 1538;
/// More bytes than chance brings: 5 full frames.
inline constexpr std::uint32_t kManyBytes = 8'000;

struct SenderSummary {
    std::uint32_t backlogged = 0;              ///< how many send as much as they were told
    std::uint32_t risen = 0;                   ///< how many are new, or send more than twice what they did
    double others = 0;                         ///< what those send that are not backlogged, per second
    std::span<const std::uint32_t> windows{};  ///< what each sent in the window, if anything
};

[[nodiscard]] inline double per_second(double amount, Nanos span) {
    return amount * static_cast<double>(kNanosPerSec) / static_cast<double>(span);
}
[[nodiscard]] inline double over(double per_sec, Nanos span) {
    return per_sec * static_cast<double>(span) / static_cast<double>(kNanosPerSec);
}

/// The level to which what each sent must be cut to be `room` bytes together.
[[nodiscard]] double level_of(std::span<const std::uint32_t> windows, double room);

/// Closes the window of every sender of a vNIC and forgets those long silent.
/// @param of_vnic the chain of its senders  @param told the least that they were told of late
/// @param room    for the windows: as many places as there may be senders
[[nodiscard]] SenderSummary close_windows(SenderTable& senders, std::uint32_t& of_vnic, std::uint64_t told,
                                          Nanos span, std::span<std::uint32_t> room);
/// The windows as they stand now.
[[nodiscard]] std::span<const std::uint32_t> open_windows(SenderTable& senders, std::uint32_t& of_vnic,
                                                          std::span<std::uint32_t> room);

}  // namespace weir
