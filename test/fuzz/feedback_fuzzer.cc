// feedback_fuzzer.cc - any bytes as a feedback frame, and any message written, changed by a bit, and read.
// Source: docs/algorithms.md 4.5.
//
// The bytes are read twice: as a frame that came from the wire, and as a head and a frame to answer. The head
// is to (6), from (6), VLAN (2), rate (8), sequence (4), the bit that is changed (2); integers low byte
// first.
#include <algorithm>
#include <vector>

#include "test/fuzz/checks.h"
#include "vswitch/datapath/feedback/feedback_frame.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using Bytes = std::vector<std::uint8_t>;

constexpr FeedbackKey kKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr std::size_t kHeadBytes = 28;
constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kPayloadBytes = 28;

std::uint64_t number(const std::uint8_t* at, std::size_t bytes) {
    std::uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

bool same(const FeedbackMessage& a, const FeedbackMessage& b) {
    return a.to == b.to && a.from == b.from && a.vlan == b.vlan && a.rate == b.rate &&
           a.sequence == b.sequence;
}

/// The answer without its VLAN tag, as the switch reads it, in memory of exactly its size; empty: not IP.
Bytes written(const FeedbackMessage& message, const Bytes& answered) {
    FeedbackBuffer buffer{};
    const std::size_t bytes = write_feedback(message, answered, kKey, buffer);
    require(bytes <= buffer.size(), "a frame fits its buffer");
    Bytes frame(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes));
    if (message.vlan != 0 && !frame.empty())
        frame.erase(frame.begin() + kMacBytes, frame.begin() + kMacBytes + kTagBytes);
    return frame;
}

/// A fuzzer may learn the tag, as it sees what it is compared with: what is valid is then what we write.
void read_anything(const Bytes& frame) {
    FeedbackMessage message;
    if (read_feedback(frame, 0, kKey, message) != FeedbackVerdict::kValid)
        return;
    const Bytes again = written(message, frame);
    FeedbackMessage reread;
    require(read_feedback(again, 0, kKey, reread) == FeedbackVerdict::kValid && same(message, reread),
            "a valid frame is read as one that write_feedback() wrote");
}

/// The tag covers the addresses and the payload. The IP header is not covered, and has no meaning.
void change_bit(Bytes frame, std::size_t bit, const FeedbackMessage& message) {
    bit %= frame.size() * 8;
    const std::size_t at = bit / 8;
    frame[at] = static_cast<std::uint8_t>(frame[at] ^ 1U << bit % 8);
    FeedbackMessage read;
    const bool valid = read_feedback(frame, message.vlan, kKey, read) == FeedbackVerdict::kValid;
    const bool covered = at < kMacBytes || at >= frame.size() - kPayloadBytes;
    require(!valid || !covered, "a changed bit under the tag is never valid");
    require(!valid || same(message, read), "a changed bit of the IP header changes nothing");
}

void write_and_read(const std::uint8_t* head, const Bytes& answered) {
    const FeedbackMessage message{number(head, 6), number(head + 6, 6),
                                  static_cast<std::uint16_t>(number(head + 12, 2)), number(head + 14, 8),
                                  static_cast<std::uint32_t>(number(head + 22, 4))};
    const Bytes frame = written(message, answered);
    if (frame.empty())
        return;
    require(is_feedback(frame.data()), "our frame is known as one");
    FeedbackMessage read;
    require(read_feedback(frame, message.vlan, kKey, read) == FeedbackVerdict::kValid && same(message, read),
            "what was written is read again");
    const auto other_vlan = static_cast<std::uint16_t>(message.vlan ^ 1);
    require(read_feedback(frame, other_vlan, kKey, read) == FeedbackVerdict::kForged,
            "a frame of one VLAN is not valid in another");
    for (std::size_t cut = 0; cut < frame.size(); ++cut) {
        const Bytes shorter(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(cut));
        require(read_feedback(shorter, message.vlan, kKey, read) == FeedbackVerdict::kMalformed,
                "a cut frame is malformed");
    }
    change_bit(frame, number(head + 26, 2), message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    read_anything(Bytes(data, data + size));
    if (size > kHeadBytes)
        write_and_read(data, Bytes(data + kHeadBytes, data + size));
    return 0;
}
