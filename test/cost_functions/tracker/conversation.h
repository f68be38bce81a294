// conversation.h - a TCP connection for tests: the segments of its two sides, and the events that a tracker
// reports.
// Threads: tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "cost_functions/tracker/tracker.h"

namespace weir::testing {

/// The events that a tracker reported, in order.
struct Events {
    struct Answered {
        Response response;
        Answer answer;
    };
    std::vector<Request> requests;
    std::vector<Answered> responses;
    std::uint64_t plain_requests = 0;   ///< bytes
    std::uint64_t plain_responses = 0;  ///< bytes
    std::uint64_t repeated_bytes = 0;   ///< to the service

    void request(const Request& request) { requests.push_back(request); }
    void response(const Response& response, const Answer& answer) { responses.push_back({response, answer}); }
    void plain(Side side, std::uint32_t bytes) {
        (side == Side::kRequests ? plain_requests : plain_responses) += bytes;
    }
    void repeated(std::uint32_t bytes) { repeated_bytes += bytes; }
};

/// A copy in memory of exactly its size, so that ASan detects reads beyond it.
class Exactly {
  public:
    explicit Exactly(std::string_view text)
        : size_(text.size()), bytes_(new std::uint8_t[size_ + (size_ == 0)]) {
        std::memcpy(bytes_.get(), text.data(), size_);
    }
    [[nodiscard]] Bytes bytes() const { return {bytes_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> bytes_;
};

inline Tracker::Profile small_profile() {
    return {.pendings = {.users = 4, .common = 2048}, .buffers = {.users = 4, .common = 512}};
}

class Conversation {
  public:
    explicit Conversation(std::string_view protocol, const Tracker::Profile& profile = small_profile())
        : tracker(kProtocols, profile) {
        connection.vnic = 1;
        connection.protocol = protocol_index(protocol).value() & (kProtocolsMax - 1);
    }

    /// Passes both SYNs; the first bytes then have sequence numbers 1000 and 2000, or those given.
    void open(std::uint32_t requests_at = 1000, std::uint32_t responses_at = 2000) {
        at(Side::kRequests) = requests_at;
        at(Side::kResponses) = responses_at;
        pass(Side::kRequests, requests_at - 1, "", Segment::kSyn);
        pass(Side::kResponses, responses_at - 1, "", Segment::kSyn | Segment::kAck, requests_at);
    }
    /// Passes the next segment of a side.
    bool send(Side side, std::string_view text, std::uint8_t flags = Segment::kAck) {
        const std::uint32_t seq = at(side);
        at(side) += static_cast<std::uint32_t>(text.size());
        return pass(side, seq, text, flags);
    }
    bool ask(std::string_view text) { return send(Side::kRequests, text); }
    bool reply(std::string_view text) { return send(Side::kResponses, text); }
    /// The next bytes of a side take another path.
    void skip(Side side, std::string_view text) { at(side) += static_cast<std::uint32_t>(text.size()); }

    bool pass(Side side, std::uint32_t seq, std::string_view text, std::uint8_t flags = Segment::kAck,
              std::uint32_t ack = 0) {
        const Exactly copy(text);
        return tracker.segment(
            connection, side, {.seq = seq, .ack = ack, .flags = flags, .payload = copy.bytes()}, now, events);
    }
    /// Acknowledges all bytes that the other side has sent.
    bool acknowledge(Side side) { return pass(side, at(side), "", Segment::kAck, at(opposite(side))); }

    std::uint32_t& at(Side side) { return side == Side::kRequests ? requests_at_ : responses_at_; }

    Tracker tracker;
    TrackedConnection connection;
    Events events;
    Nanos now = 0;

  private:
    std::uint32_t requests_at_ = 1000;
    std::uint32_t responses_at_ = 2000;
};

}  // namespace weir::testing
