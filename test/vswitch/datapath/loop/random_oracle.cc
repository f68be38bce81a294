// random_oracle.cc - RandomOracle: stamps frames, and judges the stamps of those that arrive.
#include "test/vswitch/datapath/loop/random_oracle.h"

#include <rte_mbuf.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/vnic/mac_table.h"

namespace weir::testing {
namespace {

constexpr std::uint32_t kStamp = 0x00ED'FE00;  // behind the byte that is a RandomOracle::To
constexpr std::uint32_t kStampMask = 0x00FF'FF00;
constexpr std::uint32_t kSpecialMask = 0xFF;
constexpr std::uint32_t kPartyMask = 0xFFFF;
constexpr unsigned kToShift = 24;
constexpr std::size_t kSourceAt = 26;
constexpr std::size_t kDestinationAt = 30;
constexpr std::size_t kSequenceAt = 38;
constexpr std::size_t kHeaders = 54;
constexpr std::size_t kTagBytes = 4;

std::string hex(std::uint64_t address) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), ":%02x", static_cast<unsigned>(address >> 40 & 0xFF));
    return (address & kMacGroupBit) != 0 ? "a group" : text.data();
}

}  // namespace

PartyId RandomOracle::add(const Party& party) {
    parties_.push_back(party);
    return static_cast<PartyId>(parties_.size() - 1);
}

FrameBytes RandomOracle::stamped(PartyId from, std::uint64_t to, std::uint64_t source, std::size_t payload,
                                 std::uint32_t special, To address) {
    std::uint32_t& next = next_[{from, to}];
    FrameBytes frame = ethernet(to, source, kIpv4, ipv4(kTcp, tcp(FrameBytes(payload), next)));
    write32(frame, kSourceAt, address_of(from));
    write32(frame, kDestinationAt, static_cast<std::uint32_t>(address) << kToShift | kStamp | special);
    next += static_cast<std::uint32_t>(payload);
    return frame;
}

/// nullopt: the frame is not stamped.
std::optional<RandomOracle::Stamp> RandomOracle::read(const rte_mbuf* frame) const {
    constexpr std::size_t kMost = kHeaders + 2 * kTagBytes;
    FrameBytes bytes(std::min<std::size_t>(frame->pkt_len, kMost));
    const void* at = rte_pktmbuf_read(frame, 0, static_cast<std::uint32_t>(bytes.size()), bytes.data());
    if (at == nullptr || bytes.size() < kHeaders)
        return std::nullopt;
    if (at != bytes.data())
        std::memcpy(bytes.data(), at, bytes.size());
    Stamp stamp;
    std::memcpy(&stamp.to, bytes.data(), 6);
    std::size_t tags = 0;
    for (; read16(bytes, 12) == kVlan && bytes.size() >= kHeaders + kTagBytes; ++tags) {
        if (tags == 0)
            stamp.outer_vlan = read16(bytes, 14) & 0x0FFF;
        bytes.erase(bytes.begin() + 12, bytes.begin() + 12 + kTagBytes);
    }
    if (read16(bytes, 12) != kIpv4 || bytes[23] != kTcp ||
        (read32(bytes, kDestinationAt) & kStampMask) != kStamp)
        return std::nullopt;
    stamp.from = read32(bytes, kSourceAt) & kPartyMask;
    stamp.special = read32(bytes, kDestinationAt) & kSpecialMask;
    stamp.first = read32(bytes, kSequenceAt);
    stamp.end = stamp.first + frame->pkt_len - static_cast<std::uint32_t>(kHeaders + tags * kTagBytes);
    return stamp.from < parties_.size() ? std::optional(stamp) : std::nullopt;
}

void RandomOracle::found(PartyId by, const Stamp& stamp, const std::string& what) {
    if (fault_)
        return;
    const std::string receiver = by == kWire ? "the wire" : parties_[by].name;
    fault_ = receiver + " got a frame of " + parties_[stamp.from].name + " to " + hex(stamp.to) + " " + what;
}

void RandomOracle::judge_order(PartyId by, const Stamp& stamp) {
    std::uint32_t& end = end_[{by, stamp.from, stamp.to}];
    if (stamp.first < end)
        found(by, stamp, "late or again: " + std::to_string(stamp.first) + " after " + std::to_string(end));
    end = stamp.end;
    ++arrived_;
}

void RandomOracle::on_received(PartyId by, const rte_mbuf* frame) {
    const Party& receiver = parties_[by];
    const std::optional<Stamp> stamp = read(frame);
    if (!stamp)
        return;
    if (is_scribbled(frame))
        found(by, *stamp, "without its payload");
    const Party& sender = parties_[stamp->from];
    const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    if ((stamp->special & kForbidden) != 0)
        found(by, *stamp, "that no party may get");
    if (sender.vlan != receiver.vlan)
        found(by, *stamp, "of another VLAN");
    if (stamp->from == by)
        found(by, *stamp, "that is its own");
    if (sender.on_wire && sender.encrypted != receiver.encrypted)
        found(by, *stamp, sender.encrypted ? "out of a tunnel" : "in clear text");
    if (receiver.pinned && (stamp->to & kMacGroupBit) == 0 && stamp->to != receiver.mac)
        found(by, *stamp, "that is another's");
    if ((super_frame && !receiver.taken.tso) ||
        ((frame->ol_flags & RTE_MBUF_F_TX_L4_MASK) != 0 && !receiver.taken.checksum))
        found(by, *stamp, "that is not finished");
    if (!super_frame && frame->pkt_len > receiver.longest)
        found(by, *stamp, "longer than its MTU");
    judge_order(by, *stamp);
}

void RandomOracle::on_sent(const rte_mbuf* frame) {
    const std::optional<Stamp> stamp = read(frame);
    if (!stamp)
        return;
    if (is_scribbled(frame))
        found(kWire, *stamp, "without its payload");
    const Party& sender = parties_[stamp->from];
    if ((stamp->special & kForbidden) != 0)
        found(kWire, *stamp, "that no party may get");
    if (sender.on_wire)
        found(kWire, *stamp, "that came from it");
    if (sender.encrypted)
        found(kWire, *stamp, "in clear text");
    if (stamp->outer_vlan != sender.vlan && (stamp->special & kOwnTag) == 0)
        found(kWire, *stamp, "in VLAN " + std::to_string(stamp->outer_vlan));
    if ((frame->ol_flags & kOffloadFlags) != 0)
        found(kWire, *stamp, "that is not finished");
    judge_order(kWire, *stamp);
}

}  // namespace weir::testing
