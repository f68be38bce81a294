// guest.h - a guest that behaves: negotiates, sets up a pair of rings, sends and receives. Attacks begin from
// it. Source: vhost-user protocol; virtio 1.2 5.1.6. Units: bytes; frames. Threads: one.
//
// The first region holds, from its begin: the receive ring, the transmit ring, 128 KiB for tables, 2 KiB for
// each receive buffer at 1 MiB, 8 KiB for each transmit buffer at 2 MiB. The second region is empty.
#pragma once

#include <functional>
#include <span>

#include "test/hostile/frame.h"
#include "test/hostile/frontend.h"
#include "test/hostile/split_ring.h"

namespace weir::hostile {

class Guest {
  public:
    static constexpr std::uint16_t kRingSize = 256;
    static constexpr std::uint32_t kReceive = 0;  ///< ring numbers
    static constexpr std::uint32_t kTransmit = 1;
    static constexpr std::uint64_t kTablesAt = 0x1'0000;
    static constexpr std::uint64_t kReceiveBuffersAt = 0x10'0000;
    static constexpr std::uint32_t kReceiveBufferBytes = 2048;
    static constexpr std::uint64_t kTransmitBuffersAt = 0x20'0000;
    static constexpr std::uint32_t kTransmitBufferBytes = 8192;
    /// Asked for if the switch offers them.
    static constexpr std::uint64_t kWanted =
        mask(kVersion1, kProtocolFeatures, kChecksum, kHostTso4, kIndirectDescriptors);

    Guest(const Endpoint& endpoint, Tally& tally);

    /// Connects and brings both rings up, unless they are up. @return whether everything was sent
    bool start();
    /// As start(), from the beginning, with these features.
    bool restart(std::uint64_t wanted = kWanted);
    /// The steps of restart(), for guests that go another way.
    bool negotiate(std::uint64_t wanted = kWanted);
    bool send_memory();
    bool set_up_ring(std::uint32_t ring);
    void stop() { up_ = false, frontend.close(); }

    /// Puts a frame into the transmit ring if there is room. @return whether there was
    bool transmit(const FrameHeader& header, std::span<const std::uint8_t> frame);
    /// Waits until the switch has taken all, or for `patience`. @return whether it has
    bool taken(std::chrono::microseconds patience = std::chrono::milliseconds(2));
    /// Gives all receive buffers to the switch.
    void offer_buffers();
    /// Calls `sink` for every received frame, and offers its buffer again. @return frames
    unsigned receive(const std::function<void(std::span<const std::uint8_t>)>& sink);

    [[nodiscard]] std::uint64_t features() const { return features_; }

    Tally& tally;
    GuestMemory memory;
    Frontend frontend;
    SplitRing rx;
    SplitRing tx;

  private:
    std::uint64_t features_ = 0;
    bool up_ = false;
    std::uint16_t received_ = 0;
    std::uint16_t next_ = 0;                          // descriptor of the next frame
    std::array<std::uint16_t, kRingSize> lengths_{};  // of the chains that the switch has, by avail index
    std::uint16_t reaped_ = 0;
    std::uint16_t free_ = kRingSize;
    File call_;
    File kick_;
};

}  // namespace weir::hostile
