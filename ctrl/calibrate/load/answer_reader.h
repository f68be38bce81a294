// answer_reader.h - finds the answers in the bytes of one connection, with the parser that the switch has for
// the protocol. Bodies are skipped. Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cost_functions/tracker/protocol.h"

namespace weir::calibrate {

class AnswerReader {
  public:
    explicit AnswerReader(const Protocol& protocol) : protocol_(&protocol), buffer_(kHeaderMax + kRoom) {}

    /// Where the next bytes are to be written.
    [[nodiscard]] std::span<std::uint8_t> room() { return std::span(buffer_).subspan(held_); }

    /// `received` bytes were written there. Calls sink(Response) for every answer that is complete.
    /// @param as_asked length of an answer that does not tell its own (Response::as_asked)
    /// @return false: these are no answers of this protocol; see said()
    template <class Sink>
    bool take(std::size_t received, std::uint32_t as_asked, Sink&& sink);

    /// Begin of the last header that was a failure or made no sense, as text.
    [[nodiscard]] const std::string& said() const { return said_; }

  private:
    static constexpr std::size_t kRoom = 1 << 17;

    void keep(Bytes header);

    const Protocol* protocol_;
    std::vector<std::uint8_t> buffer_;
    std::size_t held_ = 0;    // bytes at its start, of a header that is not whole
    std::uint64_t skip_ = 0;  // bytes to come before the next header
    bool due_ = false;        // answer_ is complete when they have
    Response answer_;
    ParserState state_;
    std::string said_;
};

template <class Sink>
bool AnswerReader::take(std::size_t received, std::uint32_t as_asked, Sink&& sink) {
    Bytes bytes = Bytes(buffer_).first(held_ + received);
    held_ = 0;
    while (true) {
        const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
        skip_ -= skipped;
        bytes = bytes.subspan(skipped);
        if (skip_ == 0 && due_) {
            due_ = false;
            sink(answer_);
        }
        if (bytes.empty())
            return true;
        const Bytes header = bytes.first(std::min<std::size_t>(bytes.size(), protocol_->header_max));
        const Parsed parsed = protocol_->response(header, state_);
        const bool response = parsed.verdict == Parsed::Verdict::kResponse;
        if (parsed.verdict == Parsed::Verdict::kMore && header.size() < protocol_->header_max) {
            held_ = bytes.size();
            std::memmove(buffer_.data(), bytes.data(), held_);
            return true;
        }
        if (!response && parsed.verdict != Parsed::Verdict::kPart) {
            keep(header);
            return false;
        }
        skip_ = response && parsed.response.as_asked ? as_asked : parsed.length;
        if (!response)
            continue;
        answer_ = parsed.response;
        if (answer_.as_asked)
            answer_.bytes = as_asked;
        if (answer_.failed)
            keep(header);
        due_ = answer_.last;
    }
}

inline void AnswerReader::keep(Bytes header) {
    constexpr std::size_t kShown = 80;
    said_.clear();
    if (std::none_of(header.begin(), header.begin() + std::min<std::ptrdiff_t>(std::ssize(header), 4),
                     [](std::uint8_t byte) { return byte > ' ' && byte < 0x7f; })) {
        said_ = "a binary header";
        return;
    }
    for (const std::uint8_t byte : header.first(std::min(header.size(), kShown))) {
        if (byte == '\r' || byte == '\n')
            break;
        said_ += byte >= ' ' && byte < 0x7f ? static_cast<char>(byte) : '.';
    }
}

}  // namespace weir::calibrate
