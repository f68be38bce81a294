// tcp_sender.cc - TcpSender: the scoreboard of segments in flight, and the reaction to each acknowledgement.
#include "bench/sim/tcp_sender.h"

#include <algorithm>
#include <bit>

namespace weir::sim {
namespace {

constexpr double kDctcpGain = 1.0 / 16;
constexpr double kWindowMin = 2;
constexpr Nanos kTimeoutMax = 60 * kNanosPerSec;

}  // namespace

TcpSender::TcpSender(World& world, const TcpProfile& profile, const Path& path, AckWriter& acks)
    : world_(world),
      profile_(profile),
      path_(path),
      acks_(acks),
      window_(profile.initial_window),
      timeout_(profile.timeout_min) {}

void TcpSender::write(std::uint64_t bytes) {
    if (ring_.empty())
        ring_.resize(std::bit_ceil(profile_.window));
    messages_.push_back(bytes);
    pump();
}

bool TcpSender::may_send() const {
    const bool something = lost_ != 0 || (!messages_.empty() && next_ - una_ < profile_.window);
    return something && static_cast<double>(flying()) + 1 <= window_;
}

/// Sends the segments for which windows and ring have room. The last segment of the run asks for an
/// acknowledgement.
void TcpSender::pump() {
    bool more = may_send();
    while (more) {
        if (!path_.host->has_room(path_.vnic)) {
            path_.host->wait(path_.vnic, *this);
            return;
        }
        const std::uint64_t sequence = lost_ != 0 ? take_lost() : cut_segment();
        more = may_send();
        send_segment(sequence, !more);
    }
}

/// The next part of the first message becomes a segment.
std::uint64_t TcpSender::cut_segment() {
    std::uint64_t& left = messages_.front();
    const std::uint64_t bytes = std::min<std::uint64_t>(left, profile_.segment);
    if (left != kEndless)
        left -= bytes;
    const bool end = left == 0;
    at(next_) = {static_cast<std::uint16_t>(bytes), kFlying, end};
    if (end)
        messages_.pop_front();
    return next_++;
}

std::uint64_t TcpSender::take_lost() {
    repair_ = std::max(repair_, una_);
    while (at(repair_).state != kLost)
        ++repair_;
    at(repair_).state = kFlyingAgain;
    resent_.push_back({repair_, next_});
    --lost_;
    ++stats_.retransmits;
    return repair_;
}

void TcpSender::send_segment(std::uint64_t sequence, bool push) {
    const Segment& segment = at(sequence);
    Packet& packet = world_.make_packet(path_.from, path_.to, path_.flow);
    packet.kind = PacketKind::kData;
    packet.side = path_.side & 1;
    packet.sequence = sequence;
    packet.payload = segment.bytes;
    packet.bytes = std::max<std::uint32_t>(segment.bytes + profile_.overhead, 84);
    packet.end_of_message = segment.end_of_message;
    packet.push = push || !path_.host->has_room(path_.vnic);
    packet.ecn_capable = profile_.control != CongestionControl::kReno;
    acks_.write_ack(packet);
    ++stats_.segments;
    ++recovery_sent_;
    if (deadline_ == kNever)
        deadline_ = world_.now() + timeout_;
    set_timer();
    path_.host->send(path_.vnic, packet);
}

void TcpSender::send_ack() {
    Packet& packet = world_.make_packet(path_.from, path_.to, path_.flow);
    packet.kind = PacketKind::kAck;
    packet.side = path_.side & 1;
    packet.bytes = profile_.overhead;
    acks_.write_ack(packet);
    path_.host->send(path_.vnic, packet);
}

void TcpSender::on_ack(const Packet& packet) {
    if (packet.ack > next_)
        return;
    const bool was_limited = static_cast<double>(flying()) + 1 > window_;
    const bool forward = packet.ack > una_;
    const std::uint64_t acked = advance(packet.ack) + mark_sacked(packet.sack);
    if (packet.echo != 0)
        sample_rtt(world_.now() - packet.echo);
    if (profile_.control != CongestionControl::kReno)
        on_marks(acked, packet.marks);
    if (recovering_ && una_ >= recover_) {
        recovering_ = false;
        window_ = threshold_;
    }
    if (mark_lost() && !recovering_)
        begin_recovery();
    if (recovering_)
        clock_recovery(acked);
    else if (was_limited)
        grow(acked);
    if (forward)
        deadline_ = una_ == next_ ? kNever : world_.now() + timeout_;
    pump();
}

void TcpSender::begin_recovery() {
    recovering_ = true;
    recover_ = next_;
    recovery_flight_ = next_ - una_;
    recovery_delivered_ = recovery_sent_ = 0;
    shrink(0.5);
}

/// Proportional rate reduction: segments that arrive clock the segments sent during a recovery.
void TcpSender::clock_recovery(std::uint64_t acked) {
    recovery_delivered_ += acked;
    const auto target = static_cast<std::uint64_t>(threshold_);
    std::uint64_t total = 0;  // that may have been sent in this recovery
    if (flying() > target) {
        total = (recovery_delivered_ * target + recovery_flight_ - 1) / recovery_flight_;
    } else {
        const std::uint64_t limit = std::max(recovery_delivered_, recovery_sent_ + acked) + 1;
        total = std::min(recovery_sent_ + target - flying(), limit);
    }
    total = std::max<std::uint64_t>(total, 1);
    window_ = static_cast<double>(flying() + (total > recovery_sent_ ? total - recovery_sent_ : 0));
}

/// Everything before `to` has arrived. @return segments that were not known to have
std::uint64_t TcpSender::advance(std::uint64_t to) {
    std::uint64_t fresh = 0;
    for (; una_ < to; ++una_) {
        const State state = at(una_).state;
        sacked_ -= state == kSacked;
        lost_ -= state == kLost;
        fresh += state != kSacked;
    }
    highest_ = std::max(highest_, una_);
    return fresh;
}

std::uint64_t TcpSender::mark_sacked(std::uint64_t sequence) {
    if (sequence <= una_ || sequence >= next_ || at(sequence).state == kSacked)
        return 0;
    Segment& segment = at(sequence);
    lost_ -= segment.state == kLost;
    segment.state = kSacked;
    ++sacked_;
    highest_ = std::max(highest_, sequence + 1);
    return 1;
}

/// A segment is lost when one that was sent `duplicate_threshold` later has arrived.
bool TcpSender::mark_lost() {
    const std::uint64_t threshold = profile_.duplicate_threshold;
    const std::uint64_t end = highest_ > threshold ? highest_ - threshold : 0;
    bool found = false;
    for (marked_ = std::max(marked_, una_); marked_ < end; ++marked_) {
        if (at(marked_).state != kFlying)
            continue;
        lose(marked_);
        found = true;
    }
    // A segment that was sent again is judged by the segments that were new at that time.
    for (; !resent_.empty() && resent_.front().next_then < end; resent_.pop_front()) {
        const std::uint64_t sequence = resent_.front().sequence;
        if (sequence >= una_ && at(sequence).state == kFlyingAgain)
            lose(sequence);
    }
    return found;
}

void TcpSender::lose(std::uint64_t sequence) {
    at(sequence).state = kLost;
    ++lost_;
    repair_ = std::min(repair_, sequence);
}

void TcpSender::sample_rtt(Nanos rtt) {
    if (srtt_ == 0) {
        srtt_ = rtt;
        rttvar_ = rtt / 2;
    } else {
        const Nanos off = rtt > srtt_ ? rtt - srtt_ : srtt_ - rtt;
        rttvar_ = (3 * rttvar_ + off) / 4;
        srtt_ = (7 * srtt_ + rtt) / 8;
    }
    timeout_ = std::max(srtt_ + 4 * rttvar_, profile_.timeout_min);
}

void TcpSender::grow(std::uint64_t acked) {
    const auto count = static_cast<double>(acked);
    window_ += window_ < threshold_ ? count : count / window_;
    window_ = std::min(window_, static_cast<double>(profile_.window));
}

void TcpSender::shrink(double factor) {
    threshold_ = std::max(window_ * factor, kWindowMin);
    window_ = threshold_;
}

/// Once per round trip: DCTCP cuts by half the marked fraction, ECN by half.
void TcpSender::on_marks(std::uint64_t acked, std::uint64_t marked) {
    round_acked_ += acked;
    round_marked_ += marked;
    if (una_ < round_end_)
        return;
    const bool dctcp = profile_.control == CongestionControl::kDctcp;
    if (round_acked_ != 0) {
        const double fraction =
            std::min(1.0, static_cast<double>(round_marked_) / static_cast<double>(round_acked_));
        alpha_ += (fraction - alpha_) * kDctcpGain;
    }
    if (round_marked_ != 0 && !recovering_)
        shrink(dctcp ? 1 - alpha_ / 2 : 0.5);
    round_acked_ = round_marked_ = 0;
    round_end_ = next_;
}

/// A deadline that moved away needs no event of its own: the earlier one asks again.
void TcpSender::set_timer() {
    if (deadline_ >= timer_at_)
        return;
    timer_at_ = deadline_;
    world_.engine.at(timer_at_, *this);
}

void TcpSender::fire(std::uint32_t) {
    if (world_.now() != timer_at_)
        return;
    timer_at_ = kNever;
    if (deadline_ > world_.now()) {
        set_timer();
        return;
    }
    ++stats_.timeouts;
    timeout_ = std::min(2 * timeout_, kTimeoutMax);
    deadline_ = world_.now() + timeout_;
    threshold_ = std::max(static_cast<double>(next_ - una_) / 2, kWindowMin);
    window_ = 1;
    recovering_ = false;
    for (std::uint64_t s = una_; s < next_; ++s) {
        Segment& segment = at(s);
        lost_ += segment.state == kFlying || segment.state == kFlyingAgain;
        segment.state = segment.state == kSacked ? kSacked : kLost;
    }
    marked_ = next_;
    repair_ = una_;
    resent_.clear();
    set_timer();
    pump();
}

}  // namespace weir::sim
