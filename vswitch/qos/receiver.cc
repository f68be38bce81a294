// receiver.cc - counting in line; everything else once per period.
#include "vswitch/qos/receiver.h"

#include <algorithm>

namespace weir {
namespace {

/// A sender is told after this much of its traffic (EyeQ 3.2), but not more often than the gaps below.
constexpr std::uint32_t kToldEveryBytes = 10'000;
constexpr Nanos kToldGap = 100'000;
/// When there is nothing to be held to, telling it only keeps the far limiter from falling asleep.
constexpr Nanos kToldGapFree = 10'000'000;
/// Periods without a packet until a vNIC's part is no longer its own.
constexpr std::uint16_t kActivePeriods = 3;
/// Periods without a packet until a sender is forgotten: 20 ms at the default period.
constexpr std::uint16_t kSenderPeriods = 100;
/// Active vNICs and senders that one period measures without being felt; with more of them periods are longer
/// (of so many senders none sends a full frame in a period).
constexpr std::size_t kActivePerPeriod = 128;
constexpr std::size_t kSendersPerPeriod = 256;
/// Within these the law alone steers; beyond them the senders' rates say where to go at once.
constexpr double kOverload = 1.05;
constexpr double kUnderload = 0.98;
/// A sender that reaches this part of the lowest rate of late is held back by it.
constexpr float kBackloggedShare = 0.6F;
/// Within a period, an endpoint is looked at each time that so much has come; so much more than its part is
/// too much: 5 full frames, which chance does not bring.
constexpr std::uint32_t kLookBytes = 8'000;
/// Only who received less than this part of his part in the last period floods by surprise.
constexpr double kCalm = 0.5;
/// A window shorter than this part of a period says nothing.
constexpr Nanos kLooksMax = 16;
/// While a queue stands before the link, those who built it get this part of their part, so that it drains.
constexpr double kDrainShare = 0.5;
constexpr double kFlood = 1.25;        // at this load a full link means a queue, else only
constexpr unsigned kFullPeriods = 10;  // after so many periods, since feedback may be late
/// More than this part of the capacity in use: nobody is told more than his part.
constexpr double kContested = 0.8;
constexpr unsigned kContestedPeriods = 5;
/// A rate is not raised more than this in one period.
constexpr double kRaiseMax = 4.0;
/// What a vNIC may grow to within a period, besides a part of the link for a start.
constexpr double kDemandGrowth = 1.25;
constexpr double kDemandStart = 1.0 / 64;
constexpr double kDemandDecay = 0.5;

double per_second(double amount, Nanos span) {
    return amount * static_cast<double>(kNanosPerSec) / static_cast<double>(span);
}

/// The level to which the senders' bytes must be cut to be `room` together.
double level_of(std::span<const std::uint32_t> senders, double room) {
    double level = 0;
    for (;;) {  // rises to where it stays: those below it are counted as they are
        const auto bound = static_cast<std::uint32_t>(std::min(level, double{UINT32_MAX}));
        std::uint64_t below = 0;
        std::uint32_t above = 0;
        for (const std::uint32_t bytes : senders) {
            below += bytes <= bound ? bytes : 0;
            above += bytes > bound;
        }
        if (above == 0)
            return level;
        const double next = (room - static_cast<double>(below)) / above;
        if (next <= level)
            return level;
        level = next;
    }
}

}  // namespace

Receiver::Receiver(const Setup& setup, const ReceiverProfile& profile)
    : setup_(setup),
      profile_(profile),
      senders_(setup.senders),
      endpoints_(setup.endpoints),
      claims_(setup.endpoints),
      parts_(setup.endpoints),
      windows_(setup.senders),
      sequence_(setup.first_sequence) {
    profile_.law.rate_max = profile_.line_rate;
    active_.reserve(setup.endpoints);
}

void Receiver::add(VnicId vnic, const EndpointProfile& profile) {
    Endpoint& endpoint = endpoints_[vnic];
    endpoint = Endpoint{};
    endpoint.present = true;
    endpoint.profile = profile;
    endpoint.rate = profile_.line_rate;
    endpoint.history.fill(profile_.line_rate);
}

void Receiver::remove(VnicId vnic) {
    Endpoint& endpoint = endpoints_[vnic];
    senders_.visit(endpoint.senders, [](const Sender&) { return false; });
    std::erase(active_, vnic);
    endpoint = Endpoint{};
}

/// The entry of a sender, mostly that of the last time; nullptr when the table is full.
Sender* Receiver::sender_of(Endpoint& endpoint, VnicId vnic, std::uint64_t address) {
    if (endpoint.last_sender == SenderTable::kNone || senders_[endpoint.last_sender].address != address)
        endpoint.last_sender = senders_.find_or_add(vnic, address, endpoint.senders);
    return endpoint.last_sender == SenderTable::kNone ? nullptr : &senders_[endpoint.last_sender];
}

bool Receiver::received(VnicId vnic, std::uint64_t sender, std::uint32_t bytes, std::uint32_t marked_bytes,
                        Nanos now, Feedback& out) {
    Endpoint& endpoint = endpoints_[vnic];
    if (!endpoint.awake)
        wake(vnic, now);
    endpoint.window_bytes += bytes;
    endpoint.marked_bytes += marked_bytes;
    received_total_ += bytes;
    Sender* s = sender_of(endpoint, vnic, sender);
    if (s == nullptr)
        return false;
    s->window_bytes += bytes;
    s->untold_bytes += bytes;
    if (endpoint.window_bytes >= endpoint.look_at)
        look(endpoint, now);
    const bool lowered = endpoint.rate + endpoint.rate / 16 < s->told_rate;
    const bool held = endpoint.rate < profile_.line_rate;  // a sender that is not has nothing to hear at once
    const bool raised = held && endpoint.rate - endpoint.rate / 4 > s->told_rate;  // or never told
    if (s->untold_bytes < kToldEveryBytes && !lowered && !raised)
        return false;
    const Nanos gap = !held ? kToldGapFree : s->told_rate >= profile_.line_rate ? 0 : kToldGap;
    if (s->told_at != 0 && now < s->told_at + gap)
        return false;
    s->told_at = now;
    s->told_rate = endpoint.rate;
    s->untold_bytes = 0;
    out = {endpoint.rate, ++sequence_};
    return true;
}

/// Somebody begins to receive: his part is his from now on, not from the next period.
void Receiver::wake(VnicId vnic, Nanos now) {
    Endpoint& endpoint = endpoints_[vnic];
    if (!endpoint.present)
        return;
    if (!endpoint.active)
        active_.push_back(vnic);
    endpoint.active = true;
    endpoint.awake = true;
    endpoint.silent_periods = 0;
    endpoint.window_from = now;
    endpoint.look_at = kLookBytes;
    split();
}

/// More arrives than the link's capacity, and nearly as much as it can carry at all.
bool Receiver::link_full(std::uint64_t bytes, Nanos span) const {
    const double full = static_cast<double>(profile_.capacity / 4 + profile_.line_rate / 4 * 3);
    return per_second(static_cast<double>(bytes), span) > full;
}

/// Too much within the period: the queue that it builds would outlast it. Cuts at once to what fits.
void Receiver::look(Endpoint& endpoint, Nanos now) {
    endpoint.look_at = endpoint.window_bytes + kLookBytes;
    const Nanos span = now - endpoint.window_from;
    if (!profile_.knows_senders || span < profile_.period / kLooksMax ||
        endpoint.measured > kCalm * endpoint.target)
        return;
    const double part = endpoint.target * static_cast<double>(span) / static_cast<double>(kNanosPerSec);
    if (static_cast<double>(endpoint.window_bytes) < part * kOverload + kLookBytes)
        return;
    std::size_t count = 0;
    senders_.visit(endpoint.senders, [&](const Sender& sender) {
        windows_[count++] = sender.window_bytes;
        return true;
    });
    const double level = per_second(level_of(std::span(windows_).first(count), part), span);
    endpoint.rate = std::clamp(static_cast<std::uint64_t>(level), profile_.law.rate_min, endpoint.rate);
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
    swept_total_ = received_total_;
    swept_ = now;
    due_ = now +
           profile_.period * (1 + active_.size() / kActivePerPeriod + senders_.size() / kSendersPerPeriod);
    for (const VnicId vnic : active_)
        measure(endpoints_[vnic], span);
    split();
    for (const VnicId vnic : active_)
        adjust(endpoints_[vnic], span);
    std::erase_if(active_, [this](VnicId vnic) {
        Endpoint& endpoint = endpoints_[vnic];
        endpoint.active = endpoint.silent_periods < kActivePeriods || endpoint.rate < profile_.line_rate ||
                          endpoint.senders != SenderTable::kNone;
        return !endpoint.active;
    });
}

/// Marks say that a queue stands at the switches' threshold: it counts as if it had arrived too.
void Receiver::measure(Endpoint& endpoint, Nanos span) {
    const auto bytes = static_cast<double>(endpoint.window_bytes);
    endpoint.measured = per_second(bytes, span);
    endpoint.congestion = 0;
    if (endpoint.marked_bytes != 0)
        endpoint.congestion = per_second(
            setup_.marked_queue * (1.0 + static_cast<double>(endpoint.marked_bytes) / bytes), span);
    endpoint.silent_periods = endpoint.window_bytes != 0
                                  ? std::uint16_t{0}
                                  : static_cast<std::uint16_t>(endpoint.silent_periods + 1);
    endpoint.awake = endpoint.silent_periods < kActivePeriods;
    endpoint.demand = std::max(endpoint.measured * kDemandGrowth, endpoint.demand * kDemandDecay);
    endpoint.window_bytes = 0;
    endpoint.window_from = swept_;
    endpoint.look_at = kLookBytes;
    endpoint.marked_bytes = 0;
}

/// Everybody's part: what it would have if all others wanted all (never less), and what they leave.
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
    (void)water_fill(profile_.capacity, claims, parts);
    for (std::size_t i = 0; i < count; ++i)
        endpoints_[active_[i]].target = static_cast<double>(parts[i]);
    hungry_ = false;
    if (!profile_.knows_senders)
        return;
    const double start = static_cast<double>(profile_.capacity) * kDemandStart;
    for (std::size_t i = 0; i < count; ++i) {
        const Endpoint& endpoint = endpoints_[active_[i]];
        const bool hungry = endpoint.measured * kDemandGrowth >= endpoint.target;
        hungry_ |= hungry;
        if (!hungry)
            claims[i].demand =
                std::min(claims[i].demand, static_cast<std::uint64_t>(endpoint.demand + start));
    }
    (void)water_fill(profile_.capacity, claims, parts);
    for (std::size_t i = 0; i < count; ++i) {
        Endpoint& endpoint = endpoints_[active_[i]];
        endpoint.target = std::max(endpoint.target, static_cast<double>(parts[i]));
    }
}

void Receiver::adjust(Endpoint& endpoint, Nanos span) {
    std::copy_backward(endpoint.history.begin(), endpoint.history.end() - 1, endpoint.history.end());
    endpoint.history[0] = endpoint.rate;
    const double target = std::max(endpoint.target, static_cast<double>(profile_.law.rate_min));
    const double load = (endpoint.measured + endpoint.congestion) / target;
    std::uint64_t rate = next_rate(profile_.law, endpoint.rate, load);
    const double room = target * endpoint.measured / std::max(endpoint.measured + endpoint.congestion, 1.0);
    const Crowd crowd = look_at_senders(endpoint, room, span);
    std::uint64_t most = profile_.line_rate;
    if (profile_.knows_senders) {
        if (load > kOverload && crowd.level > 0) {
            const bool queue = full_periods_ > (load > kFlood ? 0 : kFullPeriods);
            const double share = queue && crowd.several ? kDrainShare : 1.0;
            rate = std::min(next_rate(profile_.law, endpoint.rate, std::min(load, kFlood)),
                            static_cast<std::uint64_t>(crowd.level * share));
        } else if (load < kUnderload && crowd.backlogged != 0) {
            const double fair = (target - endpoint.congestion - crowd.others) / crowd.backlogged;
            const double highest = static_cast<double>(endpoint.rate) * kRaiseMax;
            rate = std::max(endpoint.rate, static_cast<std::uint64_t>(std::clamp(fair, 0.0, highest)));
        }
        if (contested_periods_ != 0 && endpoint.awake)
            most = std::max(static_cast<std::uint64_t>(target), profile_.law.rate_min);
    }
    endpoint.rate = std::clamp(rate, profile_.law.rate_min, most);
}

/// Closes the window of every sender of the vNIC; the silent are forgotten.
Receiver::Crowd Receiver::look_at_senders(Endpoint& endpoint, double capacity, Nanos span) {
    Crowd crowd;
    const auto held_at = static_cast<float>(*std::ranges::min_element(endpoint.history));
    const auto per_sec = static_cast<float>(per_second(1, span));
    float others = 0;
    std::size_t count = 0;
    senders_.visit(endpoint.senders, [&](Sender& sender) {
        const std::uint32_t bytes = sender.window_bytes;
        windows_[count] = bytes;
        count += bytes != 0;
        sender.rate = (sender.rate + static_cast<float>(bytes) * per_sec) / 2;
        sender.silent_periods =
            bytes != 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(sender.silent_periods + 1);
        sender.window_bytes = 0;
        if (sender.rate >= kBackloggedShare * held_at)
            ++crowd.backlogged;
        else
            others += sender.rate;
        return sender.silent_periods < kSenderPeriods;
    });
    endpoint.last_sender = SenderTable::kNone;  // it may be among the forgotten
    crowd.others = static_cast<double>(others);
    crowd.several = count > 1;
    if (endpoint.measured + endpoint.congestion > endpoint.target * kOverload)
        crowd.level = per_second(
            level_of(std::span(windows_).first(count), capacity * static_cast<double>(span) / kNanosPerSec),
            span);
    return crowd;
}

EndpointReading Receiver::read(VnicId vnic) const {
    const Endpoint& endpoint = endpoints_[vnic];
    return {static_cast<std::uint64_t>(endpoint.measured), static_cast<std::uint64_t>(endpoint.target),
            endpoint.rate};
}

}  // namespace weir
