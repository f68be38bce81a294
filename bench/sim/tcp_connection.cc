// tcp_connection.cc - TcpConnection: reordering, delayed acknowledgements, and the messages that each end
// receives.
#include "bench/sim/tcp_connection.h"

namespace weir::sim {

unsigned TcpReceiver::take(const Packet& packet) {
    ++unacked_;
    marks_ = static_cast<std::uint16_t>(marks_ + (packet.congestion_marked ? 1 : 0));
    echo_ = packet.sent;
    urgent_ |= packet.push || packet.sequence != expected_ || early_count_ != 0;
    if (packet.sequence != expected_) {
        if (packet.sequence > expected_)
            keep(packet);
        return 0;
    }
    unsigned messages = packet.end_of_message ? 1 : 0;
    bytes_ += packet.payload;
    for (++expected_; early_count_ != 0 && early(expected_).present; ++expected_) {
        Early& next = early(expected_);
        next.present = false;
        --early_count_;
        bytes_ += next.payload;
        messages += next.end_of_message ? 1 : 0;
    }
    return messages;
}

void TcpReceiver::keep(const Packet& packet) {
    if (early_.empty())
        early_.resize(window_);
    sack_ = packet.sequence;
    Early& slot = early(packet.sequence);
    if (slot.present)
        return;
    slot = {static_cast<std::uint16_t>(packet.payload), true, packet.end_of_message};
    ++early_count_;
}

void TcpReceiver::write_ack(Packet& packet) {
    packet.has_ack = true;
    packet.ack = expected_;
    packet.sack = sack_;
    packet.echo = echo_;
    packet.marks = marks_;
    sack_ = 0;
    echo_ = 0;
    marks_ = 0;
    unacked_ = 0;
    urgent_ = false;
}

TcpConnection::TcpConnection(World& world, const std::vector<Host*>& hosts, const TcpProfile& profile,
                             EndpointId from, EndpointId to, TcpApplication& application, std::uint32_t tag)
    : application_(application),
      tag_(tag),
      flow_(world.add_flow(*this)),
      ends_{End(world, profile,
                {hosts[world.endpoints[from].host], world.endpoints[from].vnic, from, to, flow_, 0}),
            End(world, profile,
                {hosts[world.endpoints[to].host], world.endpoints[to].vnic, to, from, flow_, 1})} {}

void TcpConnection::deliver(const Packet& packet) {
    End& end = ends_[1 - packet.side];
    if (packet.has_ack)
        end.sender.on_ack(packet);
    if (packet.kind != PacketKind::kData)
        return;
    const unsigned messages = end.receiver.take(packet);
    for (unsigned i = 0; i < messages; ++i)
        application_.message_arrived(*this, packet.side);
    if (end.receiver.ack_due())  // unless an answer has carried it
        end.sender.send_ack();
}

}  // namespace weir::sim
