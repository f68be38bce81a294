// pcapng.cc - little-endian blocks: type, length, body, options, length again.
#include "ctrl/cli/pcapng.h"

#include <bit>
#include <cstring>

namespace weir::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "the section's magic says little-endian");

enum BlockType : std::uint32_t {
    kSection = 0x0A0D0D0A,
    kInterface = 1,
    kStatistics = 5,
    kEnhancedPacket = 6
};
enum Option : std::uint16_t {
    kEnd = 0,
    kComment = 1,
    // of the section
    kApplication = 4,
    // of an interface
    kName = 2,
    kResolution = 9,
    kFilter = 11,
    // of a frame
    kFlags = 2,
    // of statistics
    kReceived = 4,
    kDropped = 5
};

template <class Value>
void put(std::string& block, Value value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    block.append(bytes, sizeof(value));
}

void pad(std::string& block) {
    constexpr std::size_t kWord = 4;
    block.append((kWord - block.size() % kWord) % kWord, '\0');
}

/// The high half first.
void put_time(std::string& block, std::uint64_t unix_ns) {
    put(block, static_cast<std::uint32_t>(unix_ns >> 32));
    put(block, static_cast<std::uint32_t>(unix_ns));
}

/// Longer texts are cut at the most that an option may have.
void put_option(std::string& block, Option option, std::string_view value) {
    value = value.substr(0, 0xFFFF);
    put(block, static_cast<std::uint16_t>(option));
    put(block, static_cast<std::uint16_t>(value.size()));
    block += value;
    pad(block);
}

template <class Value>
void put_number(std::string& block, Option option, Value value) {
    std::string bytes;
    put(bytes, value);
    put_option(block, option, bytes);
}

/// @param body with its options, without their end
std::string make_block(BlockType type, std::string body) {
    put_option(body, kEnd, {});
    constexpr std::size_t kAround = 3 * sizeof(std::uint32_t);
    const auto length = static_cast<std::uint32_t>(body.size() + kAround);
    std::string block;
    put(block, static_cast<std::uint32_t>(type));
    put(block, length);
    block += body;
    put(block, length);
    return block;
}

}  // namespace

std::string pcapng_section(std::string_view application) {
    std::string body;
    put(body, std::uint32_t{0x1A2B3C4D});
    put(body, std::uint16_t{1});  // version 1.0
    put(body, std::uint16_t{0});
    put(body, UINT64_MAX);  // the section's length is not known
    put_option(body, kApplication, application);
    return make_block(kSection, std::move(body));
}

std::string pcapng_interface(std::string_view name, std::uint32_t snap, std::string_view filter) {
    std::string body;
    put(body, std::uint16_t{1});  // Ethernet
    put(body, std::uint16_t{0});
    put(body, snap);
    put_option(body, kName, name);
    put_number(body, kResolution, std::uint8_t{9});  // 10^-9 s
    if (!filter.empty())
        put_option(body, kFilter, std::string(1, '\0') + std::string(filter));  // 0: an expression
    return make_block(kInterface, std::move(body));
}

std::string pcapng_frame(const PcapngFrame& frame) {
    std::string body;
    put(body, std::uint32_t{0});  // the interface
    put_time(body, frame.unix_ns);
    put(body, static_cast<std::uint32_t>(frame.bytes.size()));
    put(body, frame.length);
    body += frame.bytes;
    pad(body);
    put_number(body, kFlags, std::uint32_t{frame.inbound ? 1U : 2U});
    if (!frame.comment.empty())
        put_option(body, kComment, frame.comment);
    return make_block(kEnhancedPacket, std::move(body));
}

std::string pcapng_statistics(std::uint64_t unix_ns, std::uint64_t received, std::uint64_t missed) {
    std::string body;
    put(body, std::uint32_t{0});
    put_time(body, unix_ns);
    put_number(body, kReceived, received);
    put_number(body, kDropped, missed);
    return make_block(kStatistics, std::move(body));
}

}  // namespace weir::cli
