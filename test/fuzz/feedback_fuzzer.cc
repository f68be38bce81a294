// feedback_fuzzer.cc - any bytes as a feedback frame; any message written, changed by a bit, and read; any
// messages in turn to a switch, which keeps their rates and refuses replays.
// Source: docs/algorithms.md 4.4, 4.5.
//
// The bytes are read three times: as a frame that came from the wire; as a head and a frame to answer; and as
// acts of 14 bytes. The head is to (6), from (6), VLAN (2), rate (8), sequence (4), the bit that is changed
// (2); an act is kind (1), rate (8), sequence (4), time (1). Integers have the low byte first.
//   kind: bits 0-1: VM 1, VM 2, or an address that is none; bits 2-3: which sender; bits 4-5: 0-1 a message,
//   2 the last one again, 3 the VM sends 8 frames to the address; time: its square in ms / 64, up to 1 s
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "test/fuzz/checks.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/feedback_frame.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;

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
FrameBytes written(const FeedbackMessage& message, const FrameBytes& answered) {
    FeedbackBuffer buffer{};
    const std::size_t bytes = write_feedback(message, answered, kKey, buffer);
    require(bytes <= buffer.size(), "a frame fits its buffer");
    FrameBytes frame(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes));
    if (message.vlan != 0 && !frame.empty())
        frame.erase(frame.begin() + kMacBytes, frame.begin() + kMacBytes + kTagBytes);
    return frame;
}

/// A fuzzer sees the bytes that the tag is compared with, and may learn a valid one. A valid frame is then
/// read as one that write_feedback() wrote.
void read_anything(const FrameBytes& frame) {
    FeedbackMessage message;
    if (read_feedback(frame, 0, kKey, message) != FeedbackVerdict::kValid)
        return;
    const FrameBytes again = written(message, frame);
    FeedbackMessage reread;
    require(read_feedback(again, 0, kKey, reread) == FeedbackVerdict::kValid && same(message, reread),
            "a valid frame is read as one that write_feedback() wrote");
}

/// The tag covers the addresses and the payload. The IP header is not covered, and has no meaning.
void change_bit(FrameBytes frame, std::size_t bit, const FeedbackMessage& message) {
    bit %= frame.size() * 8;
    const std::size_t at = bit / 8;
    frame[at] = static_cast<std::uint8_t>(frame[at] ^ 1U << bit % 8);
    FeedbackMessage read;
    const bool valid = read_feedback(frame, message.vlan, kKey, read) == FeedbackVerdict::kValid;
    const bool covered = at < kMacBytes || at >= frame.size() - kPayloadBytes;
    require(!valid || !covered, "a changed bit under the tag is never valid");
    require(!valid || same(message, read), "a changed bit of the IP header changes nothing");
}

void write_and_read(const std::uint8_t* head, const FrameBytes& answered) {
    const FeedbackMessage message{number(head, 6), number(head + 6, 6),
                                  static_cast<std::uint16_t>(number(head + 12, 2)), number(head + 14, 8),
                                  static_cast<std::uint32_t>(number(head + 22, 4))};
    const FrameBytes frame = written(message, answered);
    if (frame.empty())
        return;
    require(is_feedback(frame), "our frame is known as one");
    FeedbackMessage read;
    require(read_feedback(frame, message.vlan, kKey, read) == FeedbackVerdict::kValid && same(message, read),
            "a written message is read again");
    const auto other_vlan = static_cast<std::uint16_t>(message.vlan ^ 1);
    require(read_feedback(frame, other_vlan, kKey, read) == FeedbackVerdict::kForged,
            "a frame of one VLAN is not valid in another");
    for (std::size_t cut = 0; cut < frame.size(); ++cut) {
        const FrameBytes shorter(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(cut));
        require(read_feedback(shorter, message.vlan, kKey, read) == FeedbackVerdict::kMalformed,
                "a cut frame is malformed");
    }
    change_bit(frame, number(head + 26, 2), message);
}

/// A switch with two VMs, and the rates that it must know by the messages that it was sent.
class Rates {
  public:
    explicit Rates(RingNic& nic) : nic_(nic), host_(config(), &nic) {
        for (const unsigned n : {1U, 2U})
            host_.port(host_.add(vm(n))).read_at_once();
    }

    void act(const std::uint8_t* bytes) {
        const Pair pair{bytes[0] & 3U, bytes[0] >> 2 & 3U};
        const unsigned what = bytes[0] >> 4 & 3U;
        if (what == 3)
            send_frames(pair);
        else if (what != 2)
            message(pair, number(bytes + 1, 8), static_cast<std::uint32_t>(number(bytes + 9, 4)));
        else if (last_)
            message(last_->first, last_->second.rate, last_->second.sequence);
        host_.run(bytes[13] * Nanos{bytes[13]} * kStep, kTurn);
        take();
    }
    /// The waiting frames leave within the time that the lowest rate needs for them.
    void end() {
        for (unsigned i = 0; i < kWaitsMax && waits(); ++i) {
            host_.run(kSecond / 10, kTurn * 10);
            take();
        }
        require(!waits(), "nothing waits for ever");
        for (VnicId id = 0; id < host_.ids(); ++id)
            require(balanced(host_.stats(id).from_vm), "every frame that a VM offered is accounted for");
        const UplinkStats& uplink = read().uplink;
        require(balanced(uplink.rx) && balanced(uplink.tx), "every frame of the uplink is accounted for");
    }

  private:
    using Pair = std::pair<unsigned, unsigned>;  // VM, sender
    struct Known {
        std::uint64_t rate = 0;  // as it was advertised
        std::uint32_t sequence = 0;
        Nanos at = 0;
        std::uint64_t passed = 0;  // bytes since
    };
    static constexpr Nanos kSecond = kNanosPerSec;
    static constexpr Nanos kStep = 15'625;
    static constexpr Nanos kTurn = 500'000;
    static constexpr unsigned kWaitsMax = 200;
    static constexpr Nanos kSilence = DestinationLimits::Profile{}.silence;
    static constexpr std::uint64_t kLineRate = 125'000'000;
    static constexpr std::uint64_t kRateMin = 125'000;
    /// Of a limiter, 150 us of its rate and two frames; and the frame that overdraws it.
    static constexpr std::uint64_t kBurst = kLineRate / 6'666 + 3 * 1538;

    static SwitchConfig config() {
        SwitchConfig config;
        config.uplink.rate_bps = kLineRate * 8;
        config.uplink.headroom = 0;
        config.feedback.enabled = true;
        config.feedback.rate_min_bps = kRateMin * 8;
        return config;
    }
    static std::uint64_t sender(unsigned which) { return mac(0x90 + which); }

    void message(const Pair& pair, std::uint64_t rate, std::uint32_t sequence) {
        const std::uint64_t to = mac(1 + pair.first);
        const FrameBytes answered = numbered(sender(pair.second), to, 60, 0);
        FeedbackBuffer buffer{};
        const std::size_t bytes =
            write_feedback({to, sender(pair.second), 0, rate, sequence}, answered, FeedbackKey{}, buffer);
        const FeedbackStats before = read().feedback;
        take();
        nic_.arrive(to_mbuf(buffer_pool(), {buffer.data(), buffer.data() + bytes}));
        const FeedbackStats after = read().feedback;
        const bool accepted = after.received != before.received;
        const bool stale = after.stale != before.stale;
        require(accepted + stale + (after.unknown - before.unknown) == 1, "a message has one fate");
        if (pair.first >= 2)
            return require(!accepted && !stale, "a message for no VM of this host changes nothing");
        const auto found = known_.find(pair);
        if (found != known_.end() && host_.now < found->second.at + kSilence)
            require(accepted == (static_cast<std::int32_t>(sequence - found->second.sequence) > 0),
                    "a newer message is accepted, any other is stale");
        if (!accepted)
            return;
        last_ = {pair, {.rate = rate, .sequence = sequence}};
        if (rate < kLineRate)
            known_[pair] = {rate, sequence, host_.now, 0};
        else
            known_.erase(pair);
    }
    void send_frames(const Pair& pair) {
        if (pair.first >= host_.ids())
            return;
        for (std::uint32_t i = 0; i < 8; ++i)
            host_.port(static_cast<VnicId>(pair.first))
                .offered.push_back(frame(sender(pair.second), mac(1 + pair.first), i, 1000));
    }
    /// The wire takes all, no more than the rates allow.
    void take() {
        for (rte_mbuf* frame : nic_.take()) {
            const FrameBytes bytes = bytes_of(frame);
            const auto found = known_.find({bytes[11] - 1U, bytes[5] - 0x90U});
            if (found != known_.end())
                found->second.passed += bytes.size() + kOverhead;
            rte_pktmbuf_free(frame);
        }
        for (const auto& [pair, known] : known_) {
            const std::uint64_t rate = std::max(known.rate, kRateMin);
            const auto earned = static_cast<std::uint64_t>(Wide{rate} * (host_.now - known.at) / kSecond);
            require(known.passed <= earned + kBurst, "a destination gets no more than its rate");
        }
    }
    [[nodiscard]] bool waits() {
        for (VnicId id = 0; id < host_.ids(); ++id)
            if (!host_.port(id).offered.empty() || host_.stats(id).from_vm.queued.packets != 0)
                return true;
        return false;
    }
    WorkerSnapshot read() {
        WorkerSnapshot snapshot;
        host_.worker().control().post(command::ReadWorker{&snapshot});
        host_.worker().housekeeping_next();
        host_.turn();
        return snapshot;
    }

    RingNic& nic_;
    SwitchHarness host_;
    std::map<Pair, Known> known_;
    std::optional<std::pair<Pair, Known>> last_;
};

/// The state lasts for one input, so that an input that breaks something does so alone, too.
void advertise_in_turn(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kActBytes = 14;
    constexpr std::size_t kActsMax = 64;
    buffer_pool();
    static RingNic nic(1, 1024);
    {
        Rates rates(nic);
        for (std::size_t acts = 0; acts < kActsMax && size >= kActBytes; ++acts) {
            rates.act(data);
            data += kActBytes;
            size -= kActBytes;
        }
        rates.end();
    }
    nic.drain();
    require(buffers_in_use() == 0, "no buffer is lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    read_anything(FrameBytes(data, data + size));
    if (size > kHeadBytes)
        write_and_read(data, FrameBytes(data + kHeadBytes, data + size));
    advertise_in_turn(data, size);
    return 0;
}
