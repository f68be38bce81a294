// receiver.cc - Receiver: counting in line with delivery, all else once per period.
#include "vswitch/qos/feedback/receiver.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// Feedback to one sender.
/// Bytes from a sender after which it gets feedback again (EyeQ 3.2) ...
constexpr std::uint32_t kFeedbackBytes = 10'000;
/// ... but not earlier than this after its last feedback.
constexpr Nanos kFeedbackGap = 100'000;
/// A sender with few frames gets feedback again after this: its limiter would halve after 100 ms without.
constexpr Nanos kFeedbackAgain = 25'000'000;
/// Time after the last advertised rate, or after a vNIC's first frame, in which senders may have a limiter
/// for it (this host may have restarted). Meanwhile even "no limit" is repeated, as feedback frames get lost.
constexpr Nanos kLimiterLife = 10 * kNanosPerSec;

// Periods.
/// Periods without a packet after which a vNIC's part is given to others.
constexpr std::uint16_t kActivePeriods = 3;
/// Active vNICs that a sweep handles without being felt; with more of them periods are longer.
constexpr std::size_t kActivePerPeriod = 128;
/// Looks at senders in one period, about 3 us. Active vNICs share them, and a vNIC that has more senders than
/// its share looks at them less often than once per period.
constexpr std::uint32_t kLooksPerPeriod = 512;
/// Bytes that a vNIC receives between two checks for a flood, for each sender that the check looks at.
constexpr std::uint32_t kBytesPerLook = 128;

// Load: received rate divided by the vNIC's part.
/// Between these the law alone decides; beyond them the senders' own rates do.
constexpr double kOverload = 1.05;
constexpr double kUnderload = 0.98;
/// Most that a rate is raised in one period.
constexpr double kRaiseMax = 4.0;
/// Load that is a flood: with a full link it means a queue. A cut by the law counts no more load than this.
constexpr double kFlood = 1.25;

// A flood within a period.
/// Only a vNIC that received less than this part of its part in the last period is checked within a period.
constexpr double kCalm = 0.5;
/// A window shorter than a period divided by this shows nothing.
constexpr Nanos kChecksMax = 16;

// A full link, and the queue before it.
/// Part of the headroom that makes a link full when it is in use, too.
constexpr double kFull = 0.92;
/// A line-rate sender keeps sending until feedback arrives, one round trip later; those bytes are in the
/// queue.
constexpr Nanos kReaction = 25'000;
/// While a queue drains, its senders are advertised less; at most this fraction of their part is withheld.
constexpr double kDrainShare = 0.5;
/// A link that was full for this number of periods has a queue even without a flood: feedback may be late.
constexpr unsigned kFullPeriods = 10;

// A link in use.
/// While more than this part of the capacity is used, and for kContestedPeriods after, no rate exceeds its
/// vNIC's part.
constexpr double kContested = 0.8;
constexpr unsigned kContestedPeriods = 5;

// Capacity that was left unused although a vNIC wanted it.
/// Bytes that are remembered at most, as time at the capacity.
constexpr Nanos kUnusedMax = 4'000'000;
/// They are lent at a rate that uses them up in this time,
constexpr Nanos kUnusedSpent = 2'000'000;
/// ... and that is at most this part of the headroom.
constexpr double kHeadroomLent = 0.7;
/// Remembered bytes that a byte beyond the capacity uses up: the link's average is then the capacity, no
/// less.
constexpr double kBeyondCounts = 0.9;

// Demand: the rate that a vNIC could use in the next period.
/// It may grow by this factor, plus a part of the capacity for a start;
constexpr double kDemandGrowth = 1.25;
constexpr double kDemandStart = 1.0 / 64;
/// this part of it is kept after a period with less.
constexpr double kDemandDecay = 0.25;

}  // namespace

Receiver::Receiver(const Setup& setup, const ReceiverProfile& profile)
    : setup_(setup),
      profile_(profile),
      senders_(setup.senders, setup.sender_key),
      endpoints_(setup.endpoints),
      claims_(setup.endpoints),
      parts_(setup.endpoints),
      windows_(std::max<std::size_t>(SenderTable::kOfVnicMax + 1, setup.endpoints)),
      headroom_(static_cast<double>(profile.line_rate - profile.capacity) /
                static_cast<double>(std::max<std::uint64_t>(profile.capacity, 1))),
      capacity_(profile.capacity),
      sequence_(setup.first_sequence) {
    profile_.law.rate_max = profile_.line_rate;
    active_.reserve(setup.endpoints);
}

void Receiver::add(VnicId vnic, const EndpointProfile& profile) {
    Endpoint& endpoint = endpoints_[vnic];
    endpoint = {.rate = profile_.line_rate, .present = true, .profile = profile};
    endpoint.history.fill(profile_.line_rate);
}

void Receiver::remove(VnicId vnic) {
    Endpoint& endpoint = endpoints_[vnic];
    senders_.visit(endpoint.senders, [](const Sender&) { return false; });
    std::erase(active_, vnic);
    endpoint = Endpoint{};
}

/// The sender's entry, in most calls that of the call before. Senders without one share `unlisted`: feedback
/// then goes to the sender of every 10,000th byte, so that the fastest of them get most of it.
Sender& Receiver::sender_of(Endpoint& endpoint, VnicId vnic, std::uint64_t address) {
    if (endpoint.last_sender == SenderTable::kNone || senders_[endpoint.last_sender].address != address)
        endpoint.last_sender = senders_.find_or_add(vnic, address, endpoint.senders);
    return endpoint.last_sender == SenderTable::kNone ? endpoint.unlisted : senders_[endpoint.last_sender];
}

bool Receiver::received(VnicId vnic, std::uint64_t sender, std::uint32_t bytes, std::uint32_t marked_bytes,
                        Nanos now, Feedback& out) {
    Endpoint& endpoint = endpoints_[vnic];
    if (!endpoint.awake)
        wake(vnic, now);
    endpoint.window_bytes += bytes;
    endpoint.marked_bytes += marked_bytes;
    received_total_ += bytes;
    Sender& s = sender_of(endpoint, vnic, sender);
    s.window_bytes += bytes;
    s.bytes_since_feedback += bytes;
    if (endpoint.window_bytes >= endpoint.check_at)
        check_flood(endpoint, now);
    const bool held = endpoint.rate < profile_.line_rate;
    if (!held && now >= endpoint.limited_until)
        return false;  // no sender has a limiter that would have to be lifted
    const bool known_free = s.advertised_rate >= profile_.line_rate;
    const bool lowered = endpoint.rate + endpoint.rate / 16 < s.advertised_rate;
    const bool raised = endpoint.rate - endpoint.rate / 4 > s.advertised_rate;  // or it had none
    const bool old = !known_free && now >= s.advertised_at + kFeedbackAgain;
    if (s.bytes_since_feedback < kFeedbackBytes && !lowered && !raised && !old)
        return false;
    const Nanos gap = !known_free ? kFeedbackGap : held ? 0 : kFeedbackAgain;
    if (s.advertised_at != 0 && now < s.advertised_at + gap)
        return false;
    s.advertised_at = now;
    s.advertised_rate = endpoint.rate;
    s.bytes_since_feedback = 0;
    if (held)
        endpoint.limited_until = now + kLimiterLife;
    out = {held ? endpoint.rate : Feedback::kFree, ++sequence_};
    return true;
}

/// A vNIC begins to receive: it has its part from now on, not from the next period on.
void Receiver::wake(VnicId vnic, Nanos now) {
    Endpoint& endpoint = endpoints_[vnic];
    if (!endpoint.present)
        return;
    if (!endpoint.active) {
        active_.push_back(vnic);
        endpoint.senders_from = swept_;
    }
    endpoint.active = true;
    endpoint.awake = true;
    if (endpoint.limited_until == 0)
        endpoint.limited_until = now + kLimiterLife;
    endpoint.silent_periods = 0;
    endpoint.window_from = now;
    endpoint.check_at = next_check(endpoint);
    split();
}

/// More arrives than the capacity, and nearly as much as the link can carry.
bool Receiver::link_full(std::uint64_t bytes, Nanos span) const {
    const double full = static_cast<double>(profile_.capacity) * (1 + headroom_ * kFull);
    return per_second(static_cast<double>(bytes), span) > full;
}

/// Cuts the advertised rate to one that fits if the bytes of the window exceed the vNIC's part: waiting for
/// the period to end would build a queue that outlasts it.
void Receiver::check_flood(Endpoint& endpoint, Nanos now) {
    endpoint.check_at = endpoint.window_bytes + next_check(endpoint);
    const Nanos span = now - endpoint.window_from;
    if (!profile_.law.law.knows_senders || span < profile_.period / kChecksMax ||
        endpoint.measured > kCalm * endpoint.target)
        return;
    const double part = over(endpoint.target, span);
    if (static_cast<double>(endpoint.window_bytes) < part * kOverload + kManyBytes)
        return;
    // Windows of senders are longer than the vNIC's where they are not closed in each period.
    const Nanos open = endpoint.senders_from < swept_ ? now - endpoint.senders_from : span;
    const double level =
        per_second(level_of(open_windows(senders_, endpoint.senders, endpoint.unlisted, windows_),
                            over(endpoint.target, open)),
                   open);
    endpoint.rate = std::clamp(static_cast<std::uint64_t>(level), profile_.law.rate_min, endpoint.rate);
}

/// Bytes until the next check for a flood: for a vNIC with up to 62 senders 8,000. A check takes time for
/// each sender, which the frames between two checks must be worth.
std::uint64_t Receiver::next_check(const Endpoint& endpoint) {
    return std::max(kManyBytes, endpoint.senders.count * kBytesPerLook);
}

void Receiver::sweep(Nanos now) {
    const Nanos span = now - swept_;
    if (span < profile_.period / 2)
        return;
    const std::uint64_t bytes = received_total_ - swept_total_;
    full_periods_ = link_full(bytes, span) ? full_periods_ + 1 : 0;
    const bool used =
        per_second(static_cast<double>(bytes), span) > kContested * static_cast<double>(profile_.capacity);
    contested_periods_ = used ? kContestedPeriods : contested_periods_ - (contested_periods_ != 0);
    lend_headroom(bytes, span);
    swept_total_ = received_total_;
    swept_ = now;
    due_ = now + profile_.period * (1 + active_.size() / kActivePerPeriod);
    std::uint64_t marked = 0;
    for (const VnicId vnic : active_)
        marked += endpoints_[vnic].marked_bytes;
    for (const VnicId vnic : active_)
        measure(endpoints_[vnic], marked, span);
    split();
    const std::uint32_t share = share_of_looks();
    std::uint32_t looked = 0;
    for (const VnicId vnic : active_)
        adjust(endpoints_[vnic], look_is_due(endpoints_[vnic], share, looked), now);
    std::erase_if(active_, [this](VnicId vnic) {
        Endpoint& endpoint = endpoints_[vnic];
        endpoint.active = endpoint.silent_periods < kActivePeriods || endpoint.rate < profile_.line_rate ||
                          endpoint.senders.count != 0;
        return !endpoint.active;
    });
}

/// Lends capacity that was left unused although a vNIC wanted it: so the average over some periods is the
/// capacity, not less.
void Receiver::lend_headroom(std::uint64_t bytes, Nanos span) {
    const auto capacity = static_cast<double>(profile_.capacity);
    const double left = over(capacity, span) - static_cast<double>(bytes);
    unused_ = std::clamp(unused_ + (left < 0 ? left * kBeyondCounts : left), 0.0, over(capacity, kUnusedMax));
    if (!profile_.law.law.knows_senders || !backlogged_)
        unused_ = 0;
    const double lent = std::min(per_second(unused_, kUnusedSpent), capacity * headroom_ * kHeadroomLent);
    capacity_ = static_cast<std::uint64_t>(capacity + lent);
}

/// Congestion marks mean a queue before the link, which counts as if it had arrived, too: for each vNIC in
/// proportion to its marked bytes.
void Receiver::measure(Endpoint& endpoint, std::uint64_t marked, Nanos span) {
    const auto bytes = static_cast<double>(endpoint.window_bytes);
    const double before = std::exchange(endpoint.measured, per_second(bytes, span));
    endpoint.congestion = 0;
    if (endpoint.marked_bytes != 0) {
        const auto mine = static_cast<double>(endpoint.marked_bytes);
        endpoint.congestion =
            per_second(setup_.marked_queue * (1.0 + mine / bytes) * mine / static_cast<double>(marked), span);
    }
    endpoint.silent_periods = endpoint.window_bytes != 0
                                  ? std::uint16_t{0}
                                  : static_cast<std::uint16_t>(endpoint.silent_periods + 1);
    endpoint.awake = endpoint.silent_periods < kActivePeriods;
    // A single small burst is no demand. On a full link demand is kept: the vNIC's frames may be delayed by
    // the queue of another.
    const double wanted =
        endpoint.measured > endpoint.target / 2 ? endpoint.measured : std::min(before, endpoint.measured);
    const double kept = full_periods_ != 0 ? endpoint.demand : endpoint.demand * kDemandDecay;
    endpoint.demand = std::max(wanted * kDemandGrowth, kept);
    endpoint.window_bytes = 0;
    endpoint.window_from = swept_;
    endpoint.check_at = next_check(endpoint);
    endpoint.marked_bytes = 0;
}

/// Part of each vNIC: never less than its part if all awake vNICs wanted as much as possible, plus capacity
/// that the others leave.
void Receiver::split() {
    const std::size_t count = active_.size();
    const std::span claims = std::span(claims_).first(count);
    const std::span parts = std::span(parts_).first(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Endpoint& endpoint = endpoints_[active_[i]];
        const EndpointProfile& profile = endpoint.profile;
        claims[i] = {endpoint.awake ? profile.reservation : 0, profile.limit,
                     endpoint.awake ? Claim::kNoLimit : 0, profile.shares};
    }
    (void)water_fill(capacity_, claims, parts);
    for (std::size_t i = 0; i < count; ++i)
        endpoints_[active_[i]].target = static_cast<double>(parts[i]);
    backlogged_ = false;
    if (!profile_.law.law.knows_senders)
        return;
    const double start = static_cast<double>(capacity_) * kDemandStart;
    for (std::size_t i = 0; i < count; ++i) {
        const Endpoint& endpoint = endpoints_[active_[i]];
        const bool backlogged = endpoint.measured * kDemandGrowth >= endpoint.target;
        backlogged_ |= backlogged;
        if (!backlogged)
            claims[i].demand =
                std::min(claims[i].demand, static_cast<std::uint64_t>(endpoint.demand + start));
    }
    (void)water_fill(capacity_, claims, parts);
    for (std::size_t i = 0; i < count; ++i) {
        Endpoint& endpoint = endpoints_[active_[i]];
        endpoint.target = std::max(endpoint.target, static_cast<double>(parts[i]));
    }
}

/// Most senders that a vNIC looks at per period: 512 divided so that no vNIC gets more by having more
/// senders. Example: with 28 active vNICs no vNIC's share is below 18. If one of them has 1,024 senders and
/// the others have 5, the share is 512 - 27 * 5 = 377, and the one looks at its senders in every third
/// period.
std::uint32_t Receiver::share_of_looks() {
    if (senders_.size() <= kLooksPerPeriod)
        return kLooksPerPeriod;
    const std::span counts = std::span(windows_).first(active_.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] = endpoints_[active_[i]].senders.count;
    return static_cast<std::uint32_t>(std::max(level_of(counts, kLooksPerPeriod), 1.0));
}

/// Whether a vNIC's senders are looked at in this period. @param looked senders looked at in this period
bool Receiver::look_is_due(Endpoint& endpoint, std::uint32_t share, std::uint32_t& looked) {
    const std::uint32_t count = endpoint.senders.count;
    endpoint.looks = std::min(endpoint.looks + share, SenderTable::kOfVnicMax);
    // vNICs with many senders that are due at the same time are spread over the next periods.
    if (endpoint.looks < count || (count > share && looked >= kLooksPerPeriod))
        return false;
    endpoint.looks = 0;
    looked += count;
    return true;
}

/// Moves the advertised rate.
/// @param look the windows of its senders end: their rates count. In other periods the law alone decides
void Receiver::adjust(Endpoint& endpoint, bool look, Nanos now) {
    std::copy_backward(endpoint.history.begin(), endpoint.history.end() - 1, endpoint.history.end());
    endpoint.history[0] = endpoint.rate;
    SenderSummary summary;
    const Nanos span = now - endpoint.senders_from;
    if (look) {
        summary = close_windows(senders_, endpoint.senders, endpoint.unlisted,
                                *std::ranges::min_element(endpoint.history), span, windows_);
        endpoint.senders_from = now;
        endpoint.last_sender = SenderTable::kNone;  // its entry may be gone
    }
    const double target = std::max(endpoint.target, static_cast<double>(profile_.law.rate_min));
    const double load = (endpoint.measured + endpoint.congestion) / target;
    std::uint64_t rate = next_rate(profile_.law, endpoint.rate, load);
    std::uint64_t most = profile_.line_rate;
    if (profile_.law.law.knows_senders) {
        if (load > kOverload && !summary.windows.empty()) {
            rate = std::min(next_rate(profile_.law, endpoint.rate, std::min(load, kFlood)),
                            fitting_rate(endpoint, summary, target, span));
        } else if (load < kUnderload && summary.backlogged != 0) {
            const double fair = (target - endpoint.congestion - summary.others) / summary.backlogged;
            const double highest = static_cast<double>(endpoint.rate) * kRaiseMax;
            rate = std::max(endpoint.rate, static_cast<std::uint64_t>(std::clamp(fair, 0.0, highest)));
        }
        if (contested_periods_ != 0 && endpoint.awake)
            most = std::max(static_cast<std::uint64_t>(target), profile_.law.rate_min);
    }
    endpoint.target_before = target;
    endpoint.rate = std::clamp(rate, profile_.law.rate_min, most);
}

/// Rate to which senders must be cut so that together they send the vNIC's part, and less while a queue that
/// they built drains.
std::uint64_t Receiver::fitting_rate(Endpoint& endpoint, const SenderSummary& summary, double target,
                                     Nanos span) {
    const double arrived = endpoint.measured + endpoint.congestion;
    const double part = over(target, span);
    const double level = per_second(level_of(summary.windows, part * endpoint.measured / arrived), span);
    const auto senders = static_cast<double>(summary.windows.size());
    // The rate that chance may add: windows begin at any moment of a sender's pauses.
    const double chance = per_second(2 * std::sqrt(senders) * double{kFullFrame}, span);
    const bool flood = arrived > kFlood * std::max(target, endpoint.target_before) + chance;
    if (full_periods_ == 0)
        endpoint.queue = 0;
    endpoint.queue += summary.risen * over(static_cast<double>(profile_.line_rate), kReaction);
    if (full_periods_ > kFullPeriods && senders > 1)
        return static_cast<std::uint64_t>(level * kDrainShare);
    if (full_periods_ == 0 || !flood)
        return static_cast<std::uint64_t>(level);
    const double by_headroom = part * headroom_;
    const double given_up = std::clamp(endpoint.queue - by_headroom, 0.0, part * kDrainShare);
    endpoint.queue = std::max(0.0, endpoint.queue - given_up - by_headroom);
    return static_cast<std::uint64_t>(level * (1 - given_up / part));
}

EndpointReading Receiver::read(VnicId vnic) const {
    const Endpoint& endpoint = endpoints_[vnic];
    return {static_cast<std::uint64_t>(endpoint.measured), static_cast<std::uint64_t>(endpoint.target),
            endpoint.rate};
}

}  // namespace weir
