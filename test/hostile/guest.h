// guest.h - a guest that behaves: negotiates, sets up a pair of rings, sends and receives. Attacks begin from
// it. Source: vhost-user protocol; virtio 1.2 5.1.6. Units: bytes; frames. Threads: one.
//
// The first region holds, from its begin: the receive ring, the transmit ring, 128 KiB for tables, 2 KiB for
// each receive buffer at 1 MiB, 8 KiB for each transmit buffer at 2 MiB. The second region is empty, unless
// the rings lie at its begin or end: then the rest of it is painted, so that a write beside a ring shows.
#pragma once

#include <functional>
#include <span>

#include "test/hostile/frame.h"
#include "test/hostile/frontend.h"
#include "test/hostile/packed_ring.h"
#include "test/hostile/split_ring.h"

namespace weir::hostile {

// Ring numbers.
inline constexpr std::uint32_t kReceive = 0;
inline constexpr std::uint32_t kTransmit = 1;

class Guest {
  public:
    static constexpr std::uint16_t kRingSize = 256;
    static constexpr std::uint32_t kReceive = hostile::kReceive;
    static constexpr std::uint32_t kTransmit = hostile::kTransmit;
    static constexpr std::uint64_t kReceiveRingAt = 0;
    static constexpr std::uint64_t kTransmitRingAt = 0x4000;
    static constexpr std::uint64_t kTablesAt = 0x1'0000;
    static constexpr std::uint64_t kReceiveBuffersAt = 0x10'0000;
    static constexpr std::uint32_t kReceiveBufferBytes = 2048;
    static constexpr std::uint64_t kTransmitBuffersAt = 0x20'0000;
    static constexpr std::uint32_t kTransmitBufferBytes = 8192;
    /// Where a slot's buffer lies; rings of more than kRingSize entries share them.
    static constexpr std::uint64_t receive_buffer(std::uint64_t slot) {
        return kReceiveBuffersAt + slot % kRingSize * kReceiveBufferBytes;
    }
    static constexpr std::uint64_t transmit_buffer(std::uint64_t slot) {
        return kTransmitBuffersAt + slot % kRingSize * kTransmitBufferBytes;
    }
    /// Asked for if the switch offers them.
    static constexpr std::uint64_t kWanted =
        mask(kVersion1, kProtocolFeatures, kChecksum, kHostTso4, kIndirectDescriptors);

    /// Sizes, layout and place of the guest's rings.
    struct Shape {
        std::uint16_t receive_size = kRingSize;  ///< entries, 1 to 256; to 32,768 unless kSpaced
        std::uint16_t transmit_size = kRingSize;
        std::uint64_t features = kWanted;  ///< with kPackedRing the rings are packed
        Place place = Place::kSpaced;      ///< else both rings are in the second region
        std::uint32_t outermost =
            kTransmit;  ///< the ring at the very begin or end; the other 1 MiB beside it
    };

    Guest(const Endpoint& endpoint, Tally& tally);

    /// Connects and brings both rings up, unless they are up. @return whether everything was sent
    bool start();
    /// As start(), from the beginning, with these rings.
    bool restart(const Shape& shape);
    /// As start(), from the beginning, with rings of kRingSize and these features.
    bool restart(std::uint64_t wanted = kWanted) { return restart(Shape{.features = wanted}); }
    /// Connects again with the rings as they are, as QEMU does when its connection has ended: the base of a
    /// packed ring is that of its begin.
    bool rejoin();
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
    [[nodiscard]] bool packed() const { return (features_ & mask(kPackedRing)) != 0; }
    /// kReceive or kTransmit, in the layout that was negotiated.
    [[nodiscard]] Virtqueue& ring(std::uint32_t number);
    /// Bytes beside the rings that changed and that nothing but the rings' wrong use changes.
    [[nodiscard]] std::uint64_t bytes_changed() const { return memory.bytes_changed(given_); }

    Tally& tally;
    GuestMemory memory;
    Frontend frontend;
    SplitRing rx;
    SplitRing tx;
    PackedRing packed_rx;  ///< instead of `rx` and `tx`, in the same place
    PackedRing packed_tx;

  private:
    void place_rings();
    bool send_ring_set_up(std::uint32_t ring);

    Shape shape_;
    std::vector<Extent> given_;  // rings' parts that the switch may still write for connections that ended
    std::vector<std::uint8_t> received_;  // of a frame in several buffers, and how many of them
    unsigned received_buffers_ = 0;
    std::uint64_t features_ = 0;
    bool up_ = false;
    File call_;
    File kick_;
};

}  // namespace weir::hostile
