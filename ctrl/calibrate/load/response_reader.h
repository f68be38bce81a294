// response_reader.h - finds the responses in the bytes of one connection.
// Units: bytes. Threads: one.
//
// Headers are read by the switch's parser of the protocol, so that sizes are those that the switch counts.
// Bodies are skipped. A response is reported when its last byte has arrived.
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

class ResponseReader {
  public:
    explicit ResponseReader(const Protocol& protocol)
        : protocol_(&protocol), buffer_(kHeaderMax + kReadBytes) {}

    /// Where the next received bytes must be written.
    [[nodiscard]] std::span<std::uint8_t> room() { return std::span(buffer_).subspan(held_); }

    /// Reads `received` bytes of room() and calls sink(const Response&) for every response that is complete.
    /// @param as_asked length of a response whose header has none (Response::as_asked)
    /// @return false when these bytes are no response of this protocol
    template <class Sink>
    bool read(std::size_t received, std::uint32_t as_asked, Sink&& sink);

    /// First line of the last header that reported a failure or could not be parsed, at most 80 bytes.
    [[nodiscard]] const std::string& failed_header() const { return failed_header_; }

  private:
    static constexpr std::size_t kReadBytes = 1 << 17;

    void keep(Bytes header);

    const Protocol* protocol_;
    std::vector<std::uint8_t> buffer_;
    std::size_t held_ = 0;     // bytes at the start of the buffer that belong to an incomplete header
    std::uint64_t skip_ = 0;   // bytes before the next header
    bool is_pending_ = false;  // response_ is complete once skip_ is 0
    Response response_;
    ParserState state_;
    std::string failed_header_;
};

template <class Sink>
bool ResponseReader::read(std::size_t received, std::uint32_t as_asked, Sink&& sink) {
    Bytes bytes = Bytes(buffer_).first(held_ + received);
    held_ = 0;
    while (true) {
        const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
        skip_ -= skipped;
        bytes = bytes.subspan(skipped);
        if (skip_ == 0 && is_pending_) {
            is_pending_ = false;
            sink(response_);
        }
        if (bytes.empty())
            return true;
        const Bytes header = bytes.first(std::min<std::size_t>(bytes.size(), protocol_->header_max));
        const Parsed parsed = protocol_->response(header, state_);
        const bool is_response = parsed.verdict == Parsed::Verdict::kResponse;
        if (parsed.verdict == Parsed::Verdict::kMore && header.size() < protocol_->header_max) {
            held_ = bytes.size();
            std::memmove(buffer_.data(), bytes.data(), held_);
            return true;
        }
        if (!is_response && parsed.verdict != Parsed::Verdict::kPart) {
            keep(header);
            return false;
        }
        skip_ = is_response && parsed.response.as_asked ? as_asked : parsed.length;
        if (!is_response)
            continue;
        response_ = parsed.response;
        if (response_.as_asked)
            response_.bytes = as_asked;
        if (response_.failed)
            keep(header);
        is_pending_ = response_.last;
    }
}

inline void ResponseReader::keep(Bytes header) {
    constexpr std::size_t kShown = 80;
    const auto is_printable = [](std::uint8_t byte) { return byte >= ' ' && byte < 0x7f; };
    failed_header_.clear();
    const Bytes begin = header.first(std::min<std::size_t>(header.size(), 4));
    if (std::none_of(begin.begin(), begin.end(),
                     [&](std::uint8_t byte) { return byte != ' ' && is_printable(byte); })) {
        failed_header_ = "a binary header";
        return;
    }
    for (const std::uint8_t byte : header.first(std::min(header.size(), kShown))) {
        if (byte == '\r' || byte == '\n')
            break;
        failed_header_ += is_printable(byte) ? static_cast<char>(byte) : '.';
    }
}

}  // namespace weir::calibrate
