// guest.cc - set-up of a guest and its frames.
#include "test/hostile/guest.h"

#include <cstring>
#include <thread>

namespace weir::hostile {

Guest::Guest(const Endpoint& endpoint, Tally& counts)
    : tally(counts),
      frontend(endpoint, counts),
      rx(memory, 0, kRingSize),
      tx(memory, SplitRing::kBytes, kRingSize),
      call_(File::event()),
      kick_(File::event()) {}

bool Guest::start() {
    return (up_ && frontend.connected()) || restart();
}

bool Guest::restart(std::uint64_t wanted) {
    up_ = frontend.reconnect() && negotiate(wanted) && send_memory() && set_up_ring(kReceive) &&
          set_up_ring(kTransmit);
    return up_;
}

bool Guest::negotiate(std::uint64_t wanted) {
    features_ = frontend.ask(kGetFeatures).value_or(wanted) & wanted;
    const auto protocol = frontend.ask(kGetProtocolFeatures);
    return frontend.send(kSetOwner) && frontend.send(kSetProtocolFeatures, protocol.value_or(0) & 1) &&
           frontend.send(kSetFeatures, features_);
}

bool Guest::send_memory() {
    return frontend.send(kSetMemTable, memory.table(),
                         {memory.regions()[0].file.number(), memory.regions()[1].file.number()});
}

bool Guest::set_up_ring(std::uint32_t ring) {
    SplitRing& memory_of = ring == kReceive ? rx : tx;
    memory_of.clear();
    memory_of.mute();
    if (ring == kTransmit)
        next_ = reaped_ = 0, free_ = kRingSize;
    else
        received_ = 0;
    const std::uint64_t index = ring;
    return frontend.send_ring(kSetVringNum, ring, memory_of.size()) &&
           frontend.send_ring(kSetVringBase, ring, 0) &&
           frontend.send(kSetVringAddr, memory_of.addresses(ring)) &&
           frontend.send(kSetVringCall, index, {call_.number()}) &&
           frontend.send(kSetVringKick, index, {kick_.number()}) &&
           frontend.send_ring(kSetVringEnable, ring, 1);
}

bool Guest::transmit(const FrameHeader& header, std::span<const std::uint8_t> frame) {
    for (; reaped_ != tx.used_index().load(std::memory_order_acquire) && free_ < kRingSize; ++reaped_)
        free_ = static_cast<std::uint16_t>(free_ + lengths_[reaped_ % kRingSize]);
    const std::size_t bytes = sizeof(header) + frame.size();
    const auto buffers =
        static_cast<std::uint16_t>((bytes + kTransmitBufferBytes - 1) / kTransmitBufferBytes);
    if (buffers > free_)
        return false;
    const std::uint16_t head = next_;
    for (std::size_t done = 0; done < bytes; done += kTransmitBufferBytes) {
        const std::uint64_t address = kTransmitBuffersAt + std::uint64_t{next_} * kTransmitBufferBytes;
        const std::size_t now = std::min<std::size_t>(kTransmitBufferBytes, bytes - done);
        std::size_t skip = 0;
        if (done == 0) {
            std::memcpy(memory.at(address), &header, sizeof(header));
            skip = sizeof(header);
        }
        std::memcpy(memory.at(address) + skip, frame.data() + (done == 0 ? 0 : done - sizeof(header)),
                    now - skip);
        const auto following = static_cast<std::uint16_t>((next_ + 1) % kRingSize);
        tx.descriptor(next_) = {address, static_cast<std::uint32_t>(now),
                                done + now < bytes ? kNext : std::uint16_t{0}, following};
        next_ = following;
    }
    lengths_[tx.avail_index().load() % kRingSize] = buffers;
    free_ = static_cast<std::uint16_t>(free_ - buffers);
    tx.publish(head);
    ++tally.frames;
    return true;
}

bool Guest::taken(std::chrono::microseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (tx.used_index().load() != tx.avail_index().load()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
}

void Guest::offer_buffers() {
    for (std::uint16_t i = 0; i < kRingSize; ++i) {
        rx.descriptor(i) = {kReceiveBuffersAt + std::uint64_t{i} * kReceiveBufferBytes, kReceiveBufferBytes,
                            kWrite, 0};
        rx.publish(i);
    }
}

unsigned Guest::receive(const std::function<void(std::span<const std::uint8_t>)>& sink) {
    unsigned frames = 0;
    const std::uint16_t used = rx.used_index().load(std::memory_order_acquire);
    for (; received_ != used; ++received_, ++frames) {
        const UsedElement element = rx.used_element(received_);
        const auto head = static_cast<std::uint16_t>(element.head % kRingSize);
        const std::uint8_t* buffer = memory.at(rx.descriptor(head).address);
        if (element.bytes > sizeof(FrameHeader) && element.bytes <= kReceiveBufferBytes)
            sink({buffer + sizeof(FrameHeader), element.bytes - sizeof(FrameHeader)});
        rx.publish(head);
    }
    return frames;
}

}  // namespace weir::hostile
