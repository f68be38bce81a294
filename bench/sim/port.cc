// port.cc - Port: an idle link costs one event per packet, a busy one two.
#include "bench/sim/port.h"

#include <algorithm>

namespace weir::sim {
namespace {

Nanos ceil_nanos(FineTime t) {
    return (t + (FineTime{1} << kFineBits) - 1) >> kFineBits;
}

}  // namespace

Port::Port(Engine& engine, PacketPool& pool, const Setup& setup, Node& peer)
    : engine_(engine), pool_(pool), setup_(setup), pace_(make_profile(setup.rate, 0)), line_(engine, peer) {}

void Port::send(Packet& packet) {
    if (waiting_ == 0 && free_at_ <= to_fine(engine_.now())) {
        transmit(packet, to_fine(engine_.now()));
        announce(packet);
        return;
    }
    if (!admit(packet.bytes)) {
        ++stats_.dropped;
        stats_.dropped_bytes += packet.bytes;
        pool_.give_back(packet);
        return;
    }
    if (packet.ecn_capable && queue_bytes() > setup_.ecn_threshold) {
        packet.congestion_marked = true;
        ++stats_.marked;
    }
    Queue& queue = queues_[packet.low_priority ? 1 : 0];
    queue.bytes += packet.bytes;
    queue.packets.push(packet);
    ++waiting_;
    peak_ = std::max(peak_, queue_bytes());
    if (!event_) {
        event_ = true;
        engine_.at(ceil_nanos(free_at_), *this);
    }
}

/// A port first fills its own bytes, then takes of the shared ones while there are any.
bool Port::admit(std::uint32_t bytes) {
    const std::uint64_t before = queue_bytes();
    const std::uint64_t after = before + bytes;
    if (after <= setup_.buffer)
        return true;
    if (setup_.shared == nullptr)
        return false;
    const std::uint64_t more = after - std::max(before, setup_.buffer);
    SharedBuffer& shared = *setup_.shared;
    const std::uint64_t free = shared.bytes - shared.used;
    if (more > free ||
        static_cast<double>(after - setup_.buffer) > shared.threshold * static_cast<double>(free))
        return false;
    shared.used += more;
    return true;
}

void Port::release(Queue& queue, const Packet& packet) {
    const std::uint64_t before = queue_bytes();
    if (setup_.shared != nullptr && before > setup_.buffer)
        setup_.shared->used -= std::min<std::uint64_t>(packet.bytes, before - setup_.buffer);
    queue.bytes -= packet.bytes;
    --waiting_;
}

void Port::transmit(Packet& packet, FineTime start) {
    free_at_ = start + pace_.price(packet.bytes);
    ++stats_.sent;
    stats_.sent_bytes += packet.bytes;
    line_.send(packet, ceil_nanos(free_at_) + setup_.delay);
}

/// Last of all, since the watcher may send.
void Port::announce(const Packet& packet) {
    if (setup_.watcher != nullptr)
        setup_.watcher->departed(packet);
}

/// The link is free: the next packet follows without a gap, to the fraction of a nanosecond.
void Port::fire(std::uint32_t) {
    Queue& queue = queues_[queues_[0].packets.empty() ? 1 : 0];
    Packet& packet = queue.packets.pop();
    release(queue, packet);
    event_ = waiting_ != 0;
    transmit(packet, free_at_);
    if (event_)
        engine_.at(ceil_nanos(free_at_), *this);
    announce(packet);
}

std::uint64_t Port::take_peak() {
    const std::uint64_t peak = std::max(peak_, queue_bytes());
    peak_ = 0;
    return peak;
}

}  // namespace weir::sim
