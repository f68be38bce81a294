// tracker_fuzzer.cc - any bytes from both sides of a connection of one protocol, cut and disturbed.
// Source: docs/algorithms.md 5.1.
//
// Built once for each protocol; PROTOCOL is its name. The input is a list of acts: a byte of flags, a byte
// with the length of the payload, and the payload.
//   flags: bit 0 the side; bits 1-2: 0 in order, 1 not seen, 2 again from an earlier byte, 3 beyond a hole;
//   bit 3: with FIN; bit 4: acknowledges all; bits 5-7: 7 for a body of 256 times as many bytes, which are
//   not in the input; else the length of the pieces that the payload is cut into, 0 for none
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "cost_functions/tracker/tracker.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using Octets = std::vector<std::uint8_t>;

constexpr std::uint8_t kProtocol = protocol_index(PROTOCOL).value();

struct Events {
    std::vector<Request> requests;
    std::vector<Response> responses;
    std::uint64_t plain_bytes = 0;

    void request(const Request& request) {
        require(request.request_bytes > 0, "a request has bytes");
        requests.push_back(request);
    }
    void response(const Response& response, const Answer&) {
        require(response.bytes > 0, "a response has bytes");
        require(response.last, "only whole responses are reported");
        responses.push_back(response);
    }
    void plain(Side, std::uint32_t bytes) { plain_bytes += bytes; }
    void repeated(std::uint32_t bytes) { plain_bytes += bytes; }
};

/// A connection whose SYNs have passed.
class Rig {
  public:
    Rig() : tracker_(kProtocols, {.pendings = {.own = 64}, .buffers = {.own = 32}}) {
        connection_.vnic = 0;
        connection_.protocol = kProtocol & (kProtocolsMax - 1);
        for (const Side side : {Side::kRequests, Side::kResponses})
            pass(side, at(side) - 1, {}, Segment::kSyn);
    }
    ~Rig() {
        tracker_.forget(connection_);
        require(tracker_.pending().taken(0) == 0 && tracker_.buffers().taken(0) == 0, "all is given back");
    }
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    /// In memory of exactly its size.
    void pass(Side side, std::uint32_t seq, Bytes payload, std::uint8_t flags = Segment::kAck) {
        const std::unique_ptr<std::uint8_t[]> copy(
            new std::uint8_t[std::max<std::size_t>(payload.size(), 1)]);
        std::copy(payload.begin(), payload.end(), copy.get());
        const Segment segment{
            .seq = seq, .ack = acknowledged(side), .flags = flags, .payload = {copy.get(), payload.size()}};
        if (!tracker_.segment(connection_, side, segment, ++now_, events))
            tracker_.forget(connection_);
        require(connection_.outstanding() < 1U << 31, "no more responses than requests are counted");
    }
    void send(Side side, Bytes payload, std::uint8_t flags = Segment::kAck) {
        pass(side, at(side), payload, flags);
        skip(side, payload.size());
    }
    void skip(Side side, std::size_t bytes) { at(side) += static_cast<std::uint32_t>(bytes); }
    void acknowledge(Side side) { acknowledged_[static_cast<std::size_t>(side)] = at(opposite(side)); }
    [[nodiscard]] std::uint32_t& at(Side side) { return at_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] static const Protocol& protocol() { return *kProtocols[kProtocol]; }
    [[nodiscard]] std::uint64_t lost() const { return tracker_.stats().lost; }

    Events events;

  private:
    [[nodiscard]] std::uint32_t acknowledged(Side side) const {
        return acknowledged_[static_cast<std::size_t>(side)];
    }

    static constexpr std::uint32_t kFirst = 0xffff'ff00;  // wraps soon
    Tracker tracker_;
    TrackedConnection connection_;
    std::uint32_t at_[2]{kFirst, kFirst};
    std::uint32_t acknowledged_[2]{kFirst, kFirst};
    Nanos now_ = 0;
};

struct Act {
    std::uint8_t what;
    Octets payload;
    [[nodiscard]] Side side() const { return (what & 1) == 0 ? Side::kRequests : Side::kResponses; }
    [[nodiscard]] unsigned how() const { return what >> 1 & 3; }
    [[nodiscard]] std::size_t piece() const {
        const std::size_t bytes = what >> 5;
        return bytes == 0 || bytes == kBody ? payload.size() : bytes;
    }
    static constexpr std::size_t kBody = 7;
};

std::vector<Act> acts_of(Bytes rest) {
    std::vector<Act> all;
    while (rest.size() >= 2) {
        const std::uint8_t what = rest[0];
        const std::size_t stated = rest[1];
        rest = rest.subspan(2);
        if (what >> 5 == Act::kBody) {
            all.push_back({what, Octets(stated << 8, 'v')});
        } else {
            const Bytes payload = rest.first(std::min(stated, rest.size()));
            all.push_back({what, {payload.begin(), payload.end()}});
            rest = rest.subspan(payload.size());
        }
    }
    return all;
}

/// Runs the acts of the input, with all that may happen to TCP.
void play(const std::vector<Act>& acts) {
    Rig rig;
    std::uint64_t passed = 0;
    for (const Act& act : acts) {
        const Side side = act.side();
        const auto bytes = static_cast<std::uint32_t>(act.payload.size());
        const std::uint8_t flags = Segment::kAck | ((act.what & 8) != 0 ? Segment::kFin : 0);
        if ((act.what & 16) != 0)
            rig.acknowledge(side);
        passed += bytes;
        switch (act.how()) {
            case 0:
                rig.send(side, act.payload, flags);
                break;
            case 1:
                rig.skip(side, bytes);
                break;
            case 2:
                rig.pass(side, rig.at(side) - bytes - (act.what >> 5), act.payload, flags);
                break;
            default:
                rig.pass(side, rig.at(side) + 1 + (act.what >> 5), act.payload, flags);
                break;
        }
    }
    // A part of a response without a request is counted by its stated length.
    if (rig.protocol().ordered)
        require(rig.events.plain_bytes <= 2 * passed + 8 * acts.size(),
                "no more plain bytes than there were");
}

bool same(const Request& a, const Request& b) {
    return a.operation == b.operation && a.answered == b.answered && a.response_known == b.response_known &&
           a.keys == b.keys && a.request_bytes == b.request_bytes && a.response_bytes == b.response_bytes &&
           a.span == b.span && a.place == b.place && a.cookie == b.cookie;
}
bool same(const Response& a, const Response& b) {
    return a.bytes == b.bytes && a.failed == b.failed && a.cookie == b.cookie;
}

/// The two streams whole, and cut: as long as both make sense, all is the same. Not so for iSCSI: whether it
/// has digests is guessed from the bytes seen so far, and for nonsense the guess may go either way.
void compare(const std::vector<Act>& acts) {
    Rig whole;
    Rig cut;
    for (const Side side : {Side::kRequests, Side::kResponses}) {
        Octets all;
        for (const Act& act : acts) {
            if (act.side() != side || act.how() != 0)
                continue;
            all.insert(all.end(), act.payload.begin(), act.payload.end());
            for (Bytes rest = act.payload; !rest.empty();) {
                const Bytes piece = rest.first(std::min(rest.size(), act.piece()));
                cut.send(side, piece);
                rest = rest.subspan(piece.size());
            }
        }
        whole.send(side, all);
        require((whole.lost() == 0) == (cut.lost() == 0), "where it is cut does not make sense of nonsense");
        if (whole.lost() != 0)
            return;
    }
    require(std::ranges::equal(whole.events.requests, cut.events.requests,
                               [](const Request& a, const Request& b) { return same(a, b); }),
            "the same requests");
    require(std::ranges::equal(whole.events.responses, cut.events.responses,
                               [](const Response& a, const Response& b) { return same(a, b); }),
            "the same responses");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<Act> acts = acts_of({data, size});
    play(acts);
    if (std::string_view(PROTOCOL) != "iscsi")
        compare(acts);
    return 0;
}
