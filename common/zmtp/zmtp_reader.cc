// zmtp_reader.cc - greeting, READY, then frames; PING is answered.
#include "common/zmtp/zmtp_reader.h"

#include <algorithm>
#include <utility>

#include "common/byte_order.h"

namespace weir::zmtp {
namespace {

constexpr std::size_t kGreetingBytes = 64;
constexpr std::size_t kVersionAt = 10;
constexpr std::size_t kMechanismAt = 12;
constexpr std::size_t kMechanismBytes = 20;
constexpr std::uint8_t kMore = 1;
constexpr std::uint8_t kLong = 2;
constexpr std::uint8_t kCommand = 4;
constexpr std::size_t kCommandBytesMax = 1'024;
constexpr std::size_t kPingContextMax = 16;
/// A frame's head: flags, then one byte of size or eight.
constexpr std::size_t kShortHead = 2;
constexpr std::size_t kLongHead = 9;

const std::uint8_t* bytes_at(std::string_view text, std::size_t at) {
    return reinterpret_cast<const std::uint8_t*>(text.data()) + at;
}

void append_frame(std::string& to, std::uint8_t flags, std::string_view body) {
    if (body.size() <= UINT8_MAX) {
        to += static_cast<char>(flags);
        to += static_cast<char>(body.size());
    } else {
        to += static_cast<char>(flags | kLong);
        for (int shift = 56; shift >= 0; shift -= 8)
            to += static_cast<char>(body.size() >> shift);
    }
    to += body;
}

/// The command's name, which its first byte counts, is taken off `body`. Empty: there is none.
std::string_view take_name(std::string_view& body) {
    const std::size_t length = body.empty() ? 0 : static_cast<std::uint8_t>(body.front());
    if (length + 1 > body.size())
        return {};
    const std::string_view name = body.substr(1, length);
    body.remove_prefix(length + 1);
    return name;
}

}  // namespace

std::string greeting() {
    std::string bytes(kGreetingBytes, '\0');
    bytes[0] = '\xff';
    bytes[8] = '\1';  // a length, for clients of version 2
    bytes[9] = '\x7f';
    bytes[kVersionAt] = '\3';
    bytes[kVersionAt + 1] = '\1';
    bytes.replace(kMechanismAt, 4, "NULL");
    return bytes;
}

std::string frames_of(std::span<const std::string_view> parts) {
    std::string bytes;
    std::size_t size = 0;
    for (const std::string_view part : parts)
        size += part.size() + kLongHead;
    bytes.reserve(size);
    for (std::size_t i = 0; i < parts.size(); ++i)
        append_frame(bytes, i + 1 < parts.size() ? kMore : 0, parts[i]);
    return bytes;
}

std::size_t Reader::read(std::span<const std::uint8_t> bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && !is_whole_ && fault_.empty()) {
        if (!is_in_body_) {
            read_head(bytes[used++]);
            continue;
        }
        const std::size_t taken = std::min(missing_, bytes.size() - used);
        part_.append(reinterpret_cast<const char*>(bytes.data()) + used, taken);
        used += taken;
        missing_ -= taken;
        if ((flags_ & kCommand) == 0)
            held_ += taken;
        if (missing_ == 0)
            end_frame();
    }
    return used;
}

void Reader::read_head(std::uint8_t byte) {
    head_ += static_cast<char>(byte);
    if (stage_ == Stage::kGreeting) {
        if (head_.size() == kGreetingBytes)
            on_greeting();
        else if (head_.front() != '\xff')
            fault_ = "bytes that are not of ZeroMQ";
        return;
    }
    const auto flags = static_cast<std::uint8_t>(head_.front());
    const std::size_t length = (flags & kLong) != 0 ? kLongHead : kShortHead;
    if (head_.size() < length)
        return;
    const std::uint8_t* const stated = bytes_at(head_, 1);
    const std::uint64_t size = (flags & kLong) != 0 ? load_big<std::uint64_t>(stated) : *stated;
    head_.clear();
    begin_frame(flags, size);
}

void Reader::on_greeting() {
    const std::string_view mechanism = std::string_view(head_).substr(kMechanismAt, kMechanismBytes);
    if ((static_cast<std::uint8_t>(head_[9]) & 1U) == 0 || static_cast<std::uint8_t>(head_[kVersionAt]) < 3)
        fault_ = "a version of ZeroMQ's protocol below 3";
    else if (mechanism.substr(0, 4) != "NULL" ||
             mechanism.find_first_not_of('\0', 4) != std::string_view::npos)
        fault_ = "a key, which this socket does not take";
    head_.clear();
    stage_ = Stage::kReady;
}

void Reader::begin_frame(std::uint8_t flags, std::uint64_t size) {
    const bool is_command = (flags & kCommand) != 0;
    if ((flags & ~(kMore | kLong | kCommand)) != 0 || (is_command && (flags & kMore) != 0))
        fault_ = "a frame with unknown flags";
    else if (is_command && size > kCommandBytesMax)
        fault_ = "a command of more than " + std::to_string(kCommandBytesMax) + " bytes";
    else if (!is_command && stage_ != Stage::kMessages)
        fault_ = "a message before READY";
    else if (!is_command && (size > bounds_.bytes || held_ + size > bounds_.bytes))
        fault_ = "a message of more than " + std::to_string(bounds_.bytes) + " bytes";
    else if (!is_command && parts_.size() >= bounds_.parts)
        fault_ = "a message of more than " + std::to_string(bounds_.parts) + " parts";
    if (!fault_.empty())
        return;
    flags_ = flags;
    missing_ = static_cast<std::size_t>(size);
    part_.clear();
    part_.reserve(missing_);  // memory that no byte has been written to costs nothing
    is_in_body_ = true;
    if (missing_ == 0)
        end_frame();
}

void Reader::end_frame() {
    is_in_body_ = false;
    if ((flags_ & kCommand) != 0) {
        on_command(part_);
        return;
    }
    parts_.push_back(std::move(part_));
    part_ = {};
    is_whole_ = (flags_ & kMore) == 0;
}

void Reader::on_command(std::string_view body) {
    const std::string_view name = take_name(body);
    if (stage_ == Stage::kReady) {
        if (name == "READY")
            on_ready(body);
        else
            fault_ = "another command than READY first";
        return;
    }
    constexpr std::size_t kTimeToLive = 2;
    if (name != "PING" || body.size() < kTimeToLive)
        return;
    append_frame(answers_, kCommand, std::string("\4PONG").append(body.substr(kTimeToLive, kPingContextMax)));
}

/// Pairs of a name, whose length is a byte, and a value, whose length is four.
void Reader::on_ready(std::string_view properties) {
    constexpr std::size_t kLengthBytes = 4;
    std::string_view type;
    while (!properties.empty()) {
        const std::string_view name = take_name(properties);
        const std::uint64_t length =
            properties.size() < kLengthBytes ? UINT64_MAX : be32(bytes_at(properties, 0));
        if (name.empty() || length > properties.size() - kLengthBytes) {
            fault_ = "a READY that cannot be read";
            return;
        }
        if (name == "Socket-Type")
            type = properties.substr(kLengthBytes, length);
        properties.remove_prefix(kLengthBytes + length);
    }
    if (type != "REQ" && type != "DEALER" && type != "ROUTER") {
        fault_ = "a socket that is neither REQ nor DEALER";
        append_frame(answers_, kCommand, std::string("\5ERROR\x0bsocket type", 18));
        return;
    }
    append_frame(answers_, kCommand,
                 std::string("\5READY\x0bSocket-Type\0\0\0\6ROUTER\x08Identity\0\0\0\0", 41));
    stage_ = Stage::kMessages;
}

Parts Reader::take_message() {
    if (!std::exchange(is_whole_, false))
        return {};
    held_ = 0;
    return std::exchange(parts_, {});
}

std::string Reader::take_answers() {
    return std::exchange(answers_, {});
}

}  // namespace weir::zmtp
