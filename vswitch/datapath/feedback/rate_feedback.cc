// rate_feedback.cc - RateFeedback: metered runs to feedback frames, feedback frames to destination limits.
#include "vswitch/datapath/feedback/rate_feedback.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "common/units.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/traffic_class.h"

namespace weir {
namespace {

/// Frames are numbered from here: 2^12 a second is less than a receiver sends in its busiest life.
constexpr unsigned kSequencesPerSecondBits = 12;

EndpointProfile endpoint_of(const VnicPath& path) {
    return {.reservation = path.profile.receive_reservation,
            .limit = std::min(path.profile.receive_limit, path.drain_rate),
            .shares = path.profile.receive_shares};
}

}  // namespace

FeedbackProfile make_feedback_profile(const SwitchConfig& config, const FeedbackKey& key,
                                      const SenderKey& sender_key, std::uint64_t seconds) {
    FeedbackProfile profile;
    const FeedbackConfig& feedback = config.feedback;
    profile.key = key;
    profile.sender_key = sender_key;
    profile.receiver.capacity = config.uplink.capacity_bps() / kBitsPerByte;
    profile.receiver.line_rate = config.uplink.rate_bps / kBitsPerByte;
    profile.receiver.period = feedback.period;
    profile.receiver.law.rate_min =
        std::min(feedback.rate_min_bps / kBitsPerByte, profile.receiver.line_rate);
    profile.receiver.law.law = make_rate_law(*feedback.law);
    profile.flows.rate_min = profile.receiver.law.rate_min;
    profile.flows.line_rate = profile.receiver.line_rate;
    profile.first_sequence = static_cast<std::uint32_t>(seconds << kSequencesPerSecondBits);
    return profile;
}

RateFeedback::RateFeedback(const Setup& setup, const FeedbackProfile& profile)
    : setup_(setup),
      key_(profile.key),
      receiver_({.endpoints = limits::kVnicsMax,
                 .sender_key = profile.sender_key,
                 .first_sequence = profile.first_sequence},
                profile.receiver) {}

void RateFeedback::add(const VnicPath& path) {
    if (path.fixed.is_home())
        receiver_.add(path.fixed.id, endpoint_of(path));
}

void RateFeedback::change(const VnicPath& path) {
    if (path.fixed.is_home())
        receiver_.change(path.fixed.id, endpoint_of(path));
}

void RateFeedback::remove(const VnicPath& path) {
    if (path.fixed.is_home())
        receiver_.remove(path.fixed.id);
}

/// Neighbors from the same sender are metered as one.
void RateFeedback::meter(const VnicPath& to, const Run& run, Nanos now) {
    for (std::uint16_t at = 0; at < run.count;) {
        const std::uint64_t sender = read_head(run.frames[at]).source;
        std::uint32_t bytes = 0;
        std::uint32_t marked = 0;
        rte_mbuf* last = nullptr;
        do {
            last = run.frames[at];
            bytes += run.bytes[at];
            marked += congestion_marked(last) ? run.bytes[at] : 0;
            ++at;
        } while (at < run.count && read_head(run.frames[at]).source == sender);
        Feedback feedback{};
        if (receiver_.received(to.fixed.id, sender, bytes, marked, now, feedback)) [[unlikely]]
            advertise(to, last, feedback, now);
    }
}

/// Sends a feedback frame. It states the rate that holds, not a change, so the next one makes up for a loss.
[[gnu::noinline]] void RateFeedback::advertise(const VnicPath& to, rte_mbuf* answered,
                                               const Feedback& feedback, Nanos now) {
    const FrameHead head = read_head(answered);
    FeedbackBuffer bytes;
    const std::size_t length =
        write_feedback({head.source, head.destination, to.fixed.vlan, feedback.rate, feedback.sequence},
                       first_buffer(answered), key_, bytes);
    if (length == 0)
        return;  // not IP: nothing to answer
    rte_mbuf* frame = rte_pktmbuf_alloc(setup_.pool);
    char* room = frame != nullptr ? rte_pktmbuf_append(frame, static_cast<std::uint16_t>(length)) : nullptr;
    if (room == nullptr) {
        ++stats.unsent;
        rte_pktmbuf_free(frame);
        return;
    }
    std::memcpy(room, bytes.data(), length);  // copy_n from unsigned char to char goes byte by byte
    // Feedback on encrypted traffic is encrypted, too.
    if (to.fixed.encrypted ? setup_.uplink.send_control_encrypted(frame, now)
                           : setup_.uplink.send_control(frame, now))
        ++stats.sent;
    else
        ++stats.unsent;
}

void RateFeedback::on_feedback(rte_mbuf* frame, std::uint16_t vlan, bool encrypted, Nanos now) {
    FeedbackMessage message;
    const FeedbackVerdict verdict = read_feedback(first_buffer(frame), vlan, key_, message);
    const Destination to =
        verdict == FeedbackVerdict::kValid ? setup_.macs.find(mac_key(message.to, vlan)) : kNowhere;
    if (verdict == FeedbackVerdict::kMalformed) {
        ++stats.malformed;
    } else if (verdict == FeedbackVerdict::kForged) {
        ++stats.forged;
    } else if (to >= limits::kVnicsMax || setup_.directory[to] == nullptr ||
               setup_.directory[to]->fixed.encrypted != encrypted) {
        ++stats.unknown;
    } else if (const VnicPath& path = *setup_.directory[to]; path.member) {
        apply_to_members(path, frame, message, now);
    } else if (path.fixed.owner != setup_.id) {
        pass_on(path, frame);
        return;
    } else {
        apply(path, message, now);
    }
    rte_pktmbuf_free(frame);
}

void RateFeedback::on_passed_feedback(rte_mbuf* frame, const VnicPath& to, Nanos now) {
    if (to.fixed.owner != setup_.id) {
        pass_on(to, frame);
        return;
    }
    FeedbackMessage message;
    if (read_feedback(first_buffer(frame), to.fixed.vlan, key_, message) == FeedbackVerdict::kValid)
        apply(to, message, now);
    rte_pktmbuf_free(frame);
}

void RateFeedback::pass_on(const VnicPath& to, rte_mbuf* frame) {
    set_destination(frame, to.fixed, FrameOrigin::kFeedback);
    if (setup_.inboxes[to.fixed.owner]->post(&frame, 1) == 1)
        return;
    ++stats.unsent;
    rte_pktmbuf_free(frame);
}

/// Each member learns which destinations have a limiter, though the home's alone holds frames back.
void RateFeedback::apply_to_members(const VnicPath& to, const rte_mbuf* frame, const FeedbackMessage& message,
                                    Nanos now) {
    for (const VnicId id : to.member->spread.all()) {
        const VnicPath* const member = setup_.directory[id];
        if (member == nullptr)
            continue;
        if (member->fixed.owner == setup_.id)
            apply(*member, message, now);
        else if (rte_mbuf* copy = rte_pktmbuf_copy(frame, setup_.pool, 0, UINT32_MAX); copy != nullptr)
            pass_on(*member, copy);
        else
            ++stats.unsent;
    }
}

void RateFeedback::apply(const VnicPath& to, const FeedbackMessage& message, Nanos now) {
    using Change = DestinationLimits::Change;
    const Change change =
        setup_.uplink.on_feedback(to.fixed.id, message.from, message.rate, message.sequence, now);
    if (!to.fixed.is_home())
        return;
    switch (change) {
        case Change::kOpened:
        case Change::kChanged:
        case Change::kNotNeeded:
            ++stats.received;
            break;
        case Change::kStale:
            ++stats.stale;
            break;
        case Change::kFull:
            ++stats.table_full;
            break;
    }
}

}  // namespace weir
