// real_server.cc - RealServer: IP, TCP and memcached as a server has them.
#include "test/vswitch/datapath/requests/real_server.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weir::testing {
namespace {

constexpr std::uint8_t kServerFin = 0x01;
constexpr std::uint8_t kServerSyn = 0x02;
constexpr std::uint8_t kServerRst = 0x04;
constexpr std::size_t kSegmentMost = 1400;

std::int32_t distance(std::uint32_t to, std::uint32_t from) {
    return static_cast<std::int32_t>(to - from);
}

FrameBytes part_of(const FrameBytes& bytes, std::size_t from, std::size_t to) {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(from),
            bytes.begin() + static_cast<std::ptrdiff_t>(to)};
}

}  // namespace

void RealServer::receive(const FrameBytes& frame) {
    std::size_t at = 12;
    while (frame.size() > at + 6 && read16(frame, at) == kVlan)
        at += 4;
    if (frame.size() < at + 2 + 40)
        return;
    const std::uint16_t type = read16(frame, at);
    if (type == kIpv4)
        receive_ip4(frame, at + 2);
    else if (type == kIpv6)
        receive_ip6(frame, at + 2);
}

void RealServer::receive_ip4(const FrameBytes& frame, std::size_t at) {
    const std::size_t header = (frame[at] & 0x0FU) * 4;
    const std::size_t end = at + read16(frame, at + 2);
    if (frame[at] >> 4 != 4 || header < 20 || at + header > end || end > frame.size() ||
        frame[at + 9] != kTcp)
        return;
    const std::uint16_t fragment = read16(frame, at + 6);
    const FrameBytes content = part_of(frame, at + header, end);
    if ((fragment & 0x3FFF) == 0)
        receive_tcp(content, false);
    else
        reassemble(read16(frame, at + 4), (fragment & 0x1FFFU) * 8, (fragment & 0x2000) != 0, content, false);
}

void RealServer::receive_ip6(const FrameBytes& frame, std::size_t at) {
    const std::size_t end = at + 40 + read16(frame, at + 4);
    if (frame[at] >> 4 != 6 || end > frame.size())
        return;
    std::uint8_t next = frame[at + 6];
    at += 40;
    while (next == 0 || next == 43 || next == 60) {
        if (at + 8 > end || (next == 43 && frame[at + 3] != 0))
            return;
        next = frame[at];
        at += (frame[at + 1] + 1U) * 8;
    }
    if (at > end)
        return;
    if (next == 44 && at + 8 <= end) {
        const std::uint16_t fragment = read16(frame, at + 2);
        if (frame[at] == kTcp)
            reassemble(read32(frame, at + 4), fragment & 0xFFF8U, (fragment & 1) != 0,
                       part_of(frame, at + 8, end), true);
    } else if (next == kTcp) {
        receive_tcp(part_of(frame, at, end), true);
    }
}

void RealServer::reassemble(std::uint32_t id, std::size_t offset, bool more, const FrameBytes& part,
                            bool ip6) {
    Fragments& packet = fragments_[id];
    packet.parts.try_emplace(offset, part);
    if (!more)
        packet.whole = offset + part.size();
    FrameBytes whole;
    for (const auto& [from, bytes] : packet.parts) {
        if (from != whole.size())
            return;
        whole.insert(whole.end(), bytes.begin(), bytes.end());
    }
    if (packet.whole == 0 || whole.size() != packet.whole)
        return;
    fragments_.erase(id);
    receive_tcp(whole, ip6);
}

void RealServer::receive_tcp(const FrameBytes& segment, bool ip6) {
    if (segment.size() < 20 || read16(segment, 2) != kPort)
        return;
    const std::size_t header = (segment[12] >> 4) * 4U;
    if (header < 20 || header > segment.size())
        return;
    payload_bytes += segment.size() - header;
    if (read16(segment, 16) == kBroken)
        return;
    const std::uint16_t port = read16(segment, 0);
    const std::uint32_t seq = read32(segment, 4);
    const std::uint8_t flags = segment[13];
    const auto known = connections_.find(port);
    if (known == connections_.end()) {
        if ((flags & (kServerSyn | kServerRst | kAck)) != kServerSyn)
            return;
        Connection& made = connections_[port];
        made = {
            .ip6 = ip6, .expected = seq + 1, .sent = next_first_, .beyond = {}, .first = seq + 1, .read = {}};
        next_first_ += 1'000'003;
        send(port, made, "", kServerSyn | kAck);
        ++made.sent;
        return;
    }
    Connection& connection = known->second;
    if ((flags & kServerRst) != 0) {
        if (seq == connection.expected)
            connections_.erase(known);
        return;
    }
    if ((flags & kServerSyn) != 0) {
        if (!connection.established && seq + 1 == connection.expected) {
            --connection.sent;
            send(port, connection, "", kServerSyn | kAck);
            ++connection.sent;
        } else {
            send(port, connection, "");  // a challenge
        }
        return;
    }
    if ((flags & kAck) == 0)
        return;
    connection.established = true;
    accept(port, connection, seq, part_of(segment, header, segment.size()));
    if ((flags & kServerFin) != 0 && seq + segment.size() - header == connection.expected) {
        ++connection.expected;
        send(port, connection, "", kServerFin | kAck);
        connections_.erase(port);
    }
}

void RealServer::accept(std::uint16_t port, Connection& connection, std::uint32_t seq,
                        const FrameBytes& payload) {
    if (payload.empty())
        return;
    for (std::size_t i = 0; i < payload.size(); ++i) {
        const std::uint32_t at = seq + static_cast<std::uint32_t>(i);
        if (const std::int32_t from = distance(at, connection.expected);
            from >= 0 && from < static_cast<std::int32_t>(kWindow))
            connection.beyond.try_emplace(at - connection.first, payload[i]);
    }
    while (!connection.beyond.empty() &&
           connection.beyond.begin()->first == connection.expected - connection.first) {
        connection.read += static_cast<char>(connection.beyond.begin()->second);
        connection.beyond.erase(connection.beyond.begin());
        ++connection.expected;
        ++tokens;
    }
    serve(port, connection);
    send(port, connection, "");
}

/// The application: the key of a get is the size of its value.
void RealServer::serve(std::uint16_t port, Connection& connection) {
    std::string& read = connection.read;
    for (std::size_t end = read.find("\r\n"); end != std::string::npos; end = read.find("\r\n")) {
        const std::string line = read.substr(0, end);
        std::size_t used = end + 2;
        std::string response = "ERROR\r\n";
        if (line.starts_with("get ")) {
            const std::size_t size = std::strtoul(line.c_str() + 4, nullptr, 10);
            response = "VALUE " + line.substr(4) + " 0 " + std::to_string(size) + "\r\n" +
                       std::string(size, 'v') + "\r\nEND\r\n";
        } else if (line.starts_with("set ")) {
            const std::size_t size = std::strtoul(line.c_str() + line.find(" 0 0 ") + 5, nullptr, 10);
            used += size + 2;
            if (read.size() < used)
                return;
            response = line.ends_with("noreply") ? "" : "STORED\r\n";
        }
        read.erase(0, used);
        tokens += response.size();
        for (std::size_t at = 0; at < response.size(); at += kSegmentMost)
            send(port, connection, response.substr(at, kSegmentMost));
    }
}

void RealServer::send(std::uint16_t port, Connection& connection, const std::string& bytes,
                      std::uint8_t flags) {
    FrameBytes segment = tcp({bytes.begin(), bytes.end()}, connection.sent, flags);
    write16(segment, 0, kPort);
    write16(segment, 2, port);
    write32(segment, 8, connection.expected);
    connection.sent += static_cast<std::uint32_t>(bytes.size());
    answers_.push_back({port, connection.ip6, std::move(segment)});
}

std::vector<RealServer::Answer> RealServer::take_answers() {
    return std::exchange(answers_, {});
}

std::uint32_t RealServer::expects(std::uint16_t port) const {
    const auto known = connections_.find(port);
    return known == connections_.end() ? 0 : known->second.expected;
}

}  // namespace weir::testing
