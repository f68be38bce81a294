// guest.cc - set-up of a guest and its frames.
#include "test/hostile/guest.h"

#include <cstring>
#include <thread>

namespace weir::hostile {

Guest::Guest(const Endpoint& endpoint, Tally& counts)
    : tally(counts),
      frontend(endpoint, counts),
      rx(memory, place_ring(false, Place::kSpaced, kReceiveRingAt, kRingSize), kRingSize),
      tx(memory, place_ring(false, Place::kSpaced, kTransmitRingAt, kRingSize), kRingSize),
      packed_rx(memory, place_ring(true, Place::kSpaced, kReceiveRingAt, kRingSize), kRingSize),
      packed_tx(memory, place_ring(true, Place::kSpaced, kTransmitRingAt, kRingSize), kRingSize),
      call_(File::event()),
      kick_(File::event()) {}

bool Guest::start() {
    return (up_ && frontend.connected()) || restart();
}

bool Guest::restart(const Shape& shape) {
    shape_ = shape;
    up_ = frontend.reconnect() && negotiate(shape.features) && (place_rings(), send_memory()) &&
          set_up_ring(kReceive) && set_up_ring(kTransmit);
    return up_;
}

void Guest::place_rings() {
    constexpr std::uint64_t kInside = 0x10'0000;
    constexpr std::uint64_t kRegionAt = GuestMemory::kRegionBytes;
    const auto address = [this](std::uint32_t number) {
        const std::uint64_t inside = number == shape_.outermost ? 0 : kInside;
        switch (shape_.place) {
            case Place::kAtBegin:
                return kRegionAt + inside;
            case Place::kAtEnd:
                return GuestMemory::kBytes - inside;
            default:
                return number == kReceive ? kReceiveRingAt : kTransmitRingAt;
        }
    };
    if (shape_.place != Place::kSpaced)
        memory.paint();
    const auto make = [&](auto& ring, bool is_packed, std::uint32_t number, std::uint16_t size) {
        ring = {memory, place_ring(is_packed, shape_.place, address(number), size), size};
    };
    make(rx, false, kReceive, shape_.receive_size);
    make(tx, false, kTransmit, shape_.transmit_size);
    make(packed_rx, true, kReceive, shape_.receive_size);
    make(packed_tx, true, kTransmit, shape_.transmit_size);
}

Virtqueue& Guest::ring(std::uint32_t number) {
    if (packed())
        return number == kReceive ? packed_rx : packed_tx;
    return number == kReceive ? static_cast<Virtqueue&>(rx) : tx;
}

bool Guest::negotiate(std::uint64_t wanted) {
    features_ = frontend.ask(kGetFeatures).value_or(wanted) & wanted;
    const auto protocol = frontend.ask(kGetProtocolFeatures);
    return frontend.send(kSetOwner) && frontend.send(kSetProtocolFeatures, protocol.value_or(0) & 1) &&
           frontend.send(kSetFeatures, features_);
}

bool Guest::send_memory() {
    const RegionTable table = memory.guarded_table();
    return frontend.send(kSetMemTable, bytes_of(table), memory.guarded_files());
}

bool Guest::set_up_ring(std::uint32_t number) {
    constexpr std::size_t kGivenMost = 8 * 3;  // of four connections
    Virtqueue& one = ring(number);
    const RingParts& parts = one.parts();
    if (given_.size() >= kGivenMost)
        given_.erase(given_.begin(), given_.begin() + 3);
    given_.insert(given_.end(), {parts.descriptors, parts.driver, parts.device});
    one.clear();
    one.mute();
    received_.clear();
    received_buffers_ = 0;
    return send_ring_set_up(number);
}

bool Guest::rejoin() {
    up_ = frontend.reconnect() && negotiate(shape_.features) && send_memory() && send_ring_set_up(kReceive) &&
          send_ring_set_up(kTransmit);
    return up_;
}

bool Guest::send_ring_set_up(std::uint32_t number) {
    const Virtqueue& one = ring(number);
    const std::uint64_t index = number;
    return frontend.send_ring(kSetVringNum, number, one.size()) &&
           frontend.send_ring(kSetVringBase, number, one.base()) &&
           frontend.send(kSetVringAddr, one.addresses(number)) &&
           frontend.send(kSetVringCall, index, {call_.number()}) &&
           frontend.send(kSetVringKick, index, {kick_.number()}) &&
           frontend.send_ring(kSetVringEnable, number, 1);
}

bool Guest::transmit(const FrameHeader& header, std::span<const std::uint8_t> frame) {
    Virtqueue& to_switch = ring(kTransmit);
    while (to_switch.reap()) {
    }
    const std::size_t bytes = sizeof(header) + frame.size();
    std::array<Buffer, kRingSize> chain;
    std::size_t buffers = 0;
    if (bytes > std::size_t{to_switch.free()} * kTransmitBufferBytes)
        return false;
    std::uint16_t slot = to_switch.next();
    for (std::size_t done = 0; done < bytes; done += kTransmitBufferBytes) {
        const std::uint64_t address = transmit_buffer(slot);
        const std::size_t now = std::min<std::size_t>(kTransmitBufferBytes, bytes - done);
        const std::size_t skip = done == 0 ? sizeof(header) : 0;
        if (done == 0)
            std::memcpy(memory.at(address), &header, sizeof(header));
        std::memcpy(memory.at(address) + skip, frame.data() + (done + skip - sizeof(header)), now - skip);
        chain[buffers++] = {address, static_cast<std::uint32_t>(now)};
        slot = static_cast<std::uint16_t>((slot + 1) % to_switch.size());
    }
    tally.frames += to_switch.add(std::span(chain).first(buffers));
    return true;
}

bool Guest::taken(std::chrono::microseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!ring(kTransmit).all_used()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
}

void Guest::offer_buffers() {
    Virtqueue& from_switch = ring(kReceive);
    for (std::uint16_t slot = from_switch.next(); from_switch.free() > 0; slot = from_switch.next()) {
        const Buffer buffer{receive_buffer(slot), kReceiveBufferBytes, kWrite};
        from_switch.add({&buffer, 1});
    }
}

unsigned Guest::receive(const std::function<void(std::span<const std::uint8_t>)>& sink) {
    unsigned frames = 0;
    Virtqueue& from_switch = ring(kReceive);
    for (std::optional<Used> used; (used = from_switch.reap()).has_value();) {
        const std::uint8_t* buffer = memory.at(receive_buffer(used->id % from_switch.size()));
        received_.insert(received_.end(), buffer, buffer + std::min(used->bytes, kReceiveBufferBytes));
        ++received_buffers_;
        FrameHeader header;
        if (received_.size() >= sizeof(header)) {
            std::memcpy(&header, received_.data(), sizeof(header));
            if (received_buffers_ >= header.buffers) {
                sink(std::span<const std::uint8_t>(received_).subspan(sizeof(header)));
                received_.clear();
                received_buffers_ = 0;
                ++frames;
            }
        }
        offer_buffers();
    }
    return frames;
}

}  // namespace weir::hostile
