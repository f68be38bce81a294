// header.cc - the header as bytes, and the checks that it and the size of the body allow.
#include "common/wire/header.h"

#include <algorithm>

#include "common/byte_order.h"
#include "common/wire/records.h"

namespace weir::wire {
namespace {

constexpr std::array<std::uint8_t, 4> kMagic{'W', 'E', 'I', 'R'};

/// Bytes of one record; JSON counts bytes.
std::size_t record_bytes(Type type) {
    switch (type) {
        case Type::kDemand:
            return kDemandBytes;
        case Type::kAllocation:
            return kAllocationBytes;
        case Type::kUsage:
            return kUsageBytes;
        case Type::kBilled:
            return kBilledBytes;
        default:
            return 1;
    }
}

bool is_type(std::uint8_t value) {
    return value >= static_cast<std::uint8_t>(Type::kHello) && value <= static_cast<std::uint8_t>(Type::kAsk);
}

}  // namespace

const char* name_of(Malformed reason) {
    constexpr std::array<const char*, kMalformedReasons> kNames{"no",   "short", "magic", "version",
                                                                "type", "flags", "size",  "count"};
    return kNames[static_cast<std::size_t>(reason)];
}

const char* name_of(Type type) {
    constexpr std::array<const char*, 9> kNames{"HELLO",     "WELCOME", "TABLES", "DEMAND", "ALLOCATION",
                                                "HEARTBEAT", "USAGE",   "BILLED", "ASK"};
    static_assert(kNames.size() == static_cast<std::size_t>(Type::kAsk));
    return kNames.at(static_cast<std::size_t>(type) - 1);
}

HeaderBytes encode_header(const Header& header) {
    HeaderBytes bytes;
    std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
    LittleEndianWriter out(bytes.data() + kMagic.size());
    out.put(kProtocolVersion);
    out.put(static_cast<std::uint8_t>(header.type));
    out.put(header.flags);
    out.put(header.epoch);
    out.put(header.session);
    out.put(header.sequence);
    out.put(header.interval);
    out.put(header.count);
    return bytes;
}

Malformed decode_header(std::span<const std::uint8_t> bytes, std::size_t body_bytes, Header& header) {
    if (bytes.size() != kHeaderBytes)
        return bytes.size() < kHeaderBytes ? Malformed::kShort : Malformed::kSize;
    if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
        return Malformed::kMagic;
    LittleEndianReader in(bytes.data() + kMagic.size());
    std::uint8_t version = 0;
    std::uint8_t type = 0;
    Header read;
    in.get(version);
    in.get(type);
    in.get(read.flags);
    in.get(read.epoch);
    in.get(read.session);
    in.get(read.sequence);
    in.get(read.interval);
    in.get(read.count);
    if (version != kProtocolVersion)
        return Malformed::kVersion;
    if (!is_type(type))
        return Malformed::kType;
    if ((read.flags & ~flags::kAll) != 0)
        return Malformed::kFlags;
    read.type = static_cast<Type>(type);
    if ((read.type == Type::kHeartbeat && read.count != 0) || (read.type == Type::kBilled && read.count != 1))
        return Malformed::kCount;
    if (body_bytes > kBodyBytesMax || body_bytes != std::size_t{read.count} * record_bytes(read.type))
        return Malformed::kSize;
    header = read;
    return Malformed::kNo;
}

std::optional<OtherVersion> other_version(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kSessionOffset = 16;
    OtherVersion other;
    if (bytes.size() < kSessionOffset + sizeof other.session ||
        !std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
        return std::nullopt;
    other.version = bytes[kMagic.size()];
    LittleEndianReader(bytes.data() + kSessionOffset).get(other.session);
    return other.version == kProtocolVersion ? std::nullopt : std::optional(other);
}

}  // namespace weir::wire
