// vhost_message.h - one vhost-user message, and the check that it passes before the vhost library believes
// it. Source: vhost-user protocol; virtio 1.2 2.7; DPDK vhost library guide. Units: bytes. Threads: one per
// connection.
//
// The library (22.11) trusts a front-end in more than one place: it dereferences a ring that was stopped and
// started without a size, reads beyond a ring that grew while it ran, maps files that are shorter than
// stated, and loses file descriptors of messages that it refuses. A front-end
// is a process beside the guest, and a guest that has escaped speaks through it. So a message that no
// front-end needs, or that comes at a wrong moment, ends the connection here. A ring's life:
//
//   stopped -- NUM --> sized -- ADDR --> placed -- KICK --> started -- GET_VRING_BASE --> stopped
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vswitch/base/limits.h"
#include "vswitch/ports/foreign_files.h"

namespace weir {

struct VhostMessage {
    static constexpr std::size_t kHeaderBytes = 12;  ///< request, flags, payload's bytes: 32 bits each
    static constexpr std::size_t kRegionsMax = 8;
    static constexpr std::size_t kRegionBytes = 32;
    /// Of the largest that is let through: a full table of regions.
    static constexpr std::size_t kPayloadMax = 8 + kRegionsMax * kRegionBytes;

    std::array<std::uint8_t, kHeaderBytes + kPayloadMax> bytes{};
    std::size_t received = 0;  ///< of `bytes`, so far
    std::vector<FileHandle> files;

    /// Whether the library does nothing with the file that came along, and gets none of a front-end's.
    [[nodiscard]] bool has_idle_file() const;
    [[nodiscard]] std::uint32_t word(std::size_t at) const;
    [[nodiscard]] std::uint32_t request() const { return word(0); }
    [[nodiscard]] std::uint32_t flags() const { return word(4); }
    [[nodiscard]] std::uint32_t payload_bytes() const { return word(8); }
    /// A 64-bit number of the payload.
    [[nodiscard]] std::uint64_t number(std::size_t at) const;
    void set_number(std::size_t at, std::uint64_t value);
    /// Bytes of the whole message, as far as they are known.
    [[nodiscard]] std::size_t expected() const {
        return received < kHeaderBytes ? kHeaderBytes : kHeaderBytes + payload_bytes();
    }
};

/// The rules of one connection: whether a message is allowed depends on those before it.
class VhostMessageCheck {
  public:
    /// @param queues ring pairs of the vNIC, 1 to limits::kQueuesMax; there are no other rings
    explicit VhostMessageCheck(std::uint32_t queues) : queues_(queues) {}

    /// @return why the connection must end; empty: the message may go to the library
    [[nodiscard]] std::string refusal(const VhostMessage& message);
    /// Remembers the features that the library offers, and changes a reply that states more ring pairs than
    /// the vNIC has.
    void note_reply(VhostMessage& reply);

  private:
    enum class Life : std::uint8_t { kStopped, kSized, kPlaced, kStarted };
    struct Ring {
        Life life = Life::kStopped;
        bool has_base = false;
        std::uint16_t base = 0;
        std::uint32_t size = 0;
    };
    [[nodiscard]] std::string ring_number(std::uint64_t ring) const;
    [[nodiscard]] std::string shape(const VhostMessage& message) const;
    [[nodiscard]] std::string features(std::uint64_t bits);
    [[nodiscard]] std::string size(Ring& ring, std::uint64_t number, std::uint32_t entries) const;
    [[nodiscard]] std::string address(Ring& ring, const VhostMessage& message) const;
    [[nodiscard]] std::string base(Ring& ring, std::uint32_t index) const;
    [[nodiscard]] std::string start(Ring& ring) const;
    [[nodiscard]] bool is_packed() const;

    std::uint32_t queues_;
    std::uint64_t features_ = 0;
    std::uint64_t offered_ = ~0ULL;  ///< features, once the front-end has asked
    std::array<Ring, 2 * limits::kQueuesMax> rings_{};
};

}  // namespace weir
