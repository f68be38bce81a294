// feedback_frame.cc - feedback frames byte by byte, independent of alignment, byte order and DPDK.
#include "vswitch/datapath/frame/feedback_frame.h"

#include <sodium/crypto_shorthash.h>

#include <algorithm>
#include <cstring>

#include "common/byte_order.h"
#include "vswitch/base/limits.h"

namespace weir {
namespace {

using limits::kEthernetHeaderBytes;

constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::uint8_t kHops = 64;

// The payload.
constexpr std::array<std::uint8_t, 8> kMagic{'W', 'E', 'I', 'R', 1, 0, 0, 0};
constexpr std::size_t kSequenceAt = 8;
constexpr std::size_t kRateAt = 12;
constexpr std::size_t kTagAt = 20;
constexpr std::size_t kPayloadBytes = 28;
static_assert(crypto_shorthash_KEYBYTES == sizeof(FeedbackKey) && crypto_shorthash_BYTES == 8);

template <typename T>
void put(std::uint8_t* at, T value) {
    for (std::size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> 8))
        at[i] = static_cast<std::uint8_t>(value);
}

/// Reads two bytes more than an address has; in a frame a header follows it.
std::uint64_t mac_at(const std::uint8_t* at) {
    return load_little<std::uint64_t>(at) & 0xFFFF'FFFF'FFFF;
}
void put_mac(std::uint8_t* at, std::uint64_t mac) {
    for (std::size_t i = 0; i < 6; ++i)
        at[i] = static_cast<std::uint8_t>(mac >> (8 * i));
}

bool is_ipv4(std::span<const std::uint8_t> frame) {
    return frame.size() >= kEthernetHeaderBytes + kIpv4Bytes && be16(&frame[kTypeAt]) == 0x0800 &&
           frame[kEthernetHeaderBytes] >> 4 == 4;
}
bool is_ipv6(std::span<const std::uint8_t> frame) {
    return frame.size() >= kEthernetHeaderBytes + kIpv6Bytes && be16(&frame[kTypeAt]) == 0x86DD &&
           frame[kEthernetHeaderBytes] >> 4 == 6;
}

std::uint64_t tag_of(const FeedbackMessage& message, const std::uint8_t* payload, const FeedbackKey& key) {
    std::array<std::uint8_t, 6 + 6 + 2 + kTagAt> covered;
    put_mac(covered.data(), message.to);
    put_mac(covered.data() + 6, message.from);
    put(covered.data() + 12, message.vlan);
    std::copy_n(payload, kTagAt, covered.begin() + 14);
    std::array<std::uint8_t, crypto_shorthash_BYTES> tag;
    crypto_shorthash(tag.data(), covered.data(), covered.size(), key.data());
    return load_big<std::uint64_t>(tag.data());
}

/// Rounded; at least 1 for a rate above 0, as an ID of 0 means no rate.
std::uint16_t in_megabits(std::uint64_t bytes_per_sec) {
    constexpr std::uint64_t kBytesPerMegabit = 125'000;
    const std::uint64_t rounded =
        bytes_per_sec / kBytesPerMegabit + (bytes_per_sec % kBytesPerMegabit >= 62'500);
    return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(rounded, bytes_per_sec != 0, UINT16_MAX));
}

void write_ipv4(std::uint8_t* ip, const std::uint8_t* answered, std::uint64_t rate) {
    std::memset(ip, 0, kIpv4Bytes);
    ip[0] = 0x45;
    put(ip + 2, static_cast<std::uint16_t>(kIpv4Bytes + kPayloadBytes));
    put(ip + 4, in_megabits(rate));
    ip[8] = kHops;
    ip[9] = kFeedbackProtocol;
    std::memcpy(ip + 12, answered + 16, 4);
    std::memcpy(ip + 16, answered + 12, 4);
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at < kIpv4Bytes; at += 2)
        sum += be16(ip + at);
    sum = (sum & 0xFFFF) + (sum >> 16);
    put(ip + 10, static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16))));
}

void write_ipv6(std::uint8_t* ip, const std::uint8_t* answered) {
    std::memset(ip, 0, kIpv6Bytes);
    ip[0] = 0x60;
    put(ip + 4, static_cast<std::uint16_t>(kPayloadBytes));
    ip[6] = kFeedbackProtocol;
    ip[7] = kHops;
    std::memcpy(ip + 8, answered + 24, 16);
    std::memcpy(ip + 24, answered + 8, 16);
}

}  // namespace

bool is_feedback(std::span<const std::uint8_t> frame) {
    constexpr std::size_t kNameBytes = 4;  // "WEIR"; the version follows
    const bool v4 = is_ipv4(frame);
    if ((!v4 && !is_ipv6(frame)) || !has_feedback_protocol(frame.data()))
        return false;
    const std::size_t before = kEthernetHeaderBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
    return frame.size() >= before + kNameBytes &&
           std::equal(kMagic.begin(), kMagic.begin() + kNameBytes, &frame[before]);
}

std::size_t write_feedback(const FeedbackMessage& message, std::span<const std::uint8_t> answered,
                           const FeedbackKey& key, FeedbackBuffer& out) {
    const bool v4 = is_ipv4(answered);
    if (!v4 && !is_ipv6(answered))
        return 0;
    std::uint8_t* at = out.data();
    put_mac(at, message.to);
    put_mac(at + 6, message.from);
    at += kTypeAt;
    if (message.vlan != 0) {
        put(at, std::uint16_t{0x8100});
        put(at + 2, message.vlan);
        at += 4;
    }
    std::memcpy(at, &answered[kTypeAt], 2);
    at += 2;
    if (v4)
        write_ipv4(at, &answered[kEthernetHeaderBytes], message.rate);
    else
        write_ipv6(at, &answered[kEthernetHeaderBytes]);
    at += v4 ? kIpv4Bytes : kIpv6Bytes;
    std::copy(kMagic.begin(), kMagic.end(), at);
    put(at + kSequenceAt, message.sequence);
    put(at + kRateAt, message.rate);
    put(at + kTagAt, tag_of(message, at, key));
    return static_cast<std::size_t>(at - out.data()) + kPayloadBytes;
}

FeedbackVerdict read_feedback(std::span<const std::uint8_t> frame, std::uint16_t vlan, const FeedbackKey& key,
                              FeedbackMessage& out) {
    const bool v4 = is_ipv4(frame);
    if (!v4 && !is_ipv6(frame))
        return FeedbackVerdict::kMalformed;
    if (v4 && frame[kEthernetHeaderBytes] != 0x45)  // ours have no options
        return FeedbackVerdict::kMalformed;
    const std::size_t before = kEthernetHeaderBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
    if (frame.size() < before + kPayloadBytes)
        return FeedbackVerdict::kMalformed;
    const std::uint8_t* payload = &frame[before];
    if (!std::equal(kMagic.begin(), kMagic.end(), payload))
        return FeedbackVerdict::kMalformed;
    out.to = mac_at(&frame[0]);
    out.from = mac_at(&frame[6]);
    out.vlan = vlan;
    out.sequence = be32(payload + kSequenceAt);
    out.rate = load_big<std::uint64_t>(payload + kRateAt);
    return load_big<std::uint64_t>(payload + kTagAt) == tag_of(out, payload, key) ? FeedbackVerdict::kValid
                                                                                  : FeedbackVerdict::kForged;
}

}  // namespace weir
