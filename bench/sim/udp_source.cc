// udp_source.cc - streams of UDP: gaps vary by a tenth about their mean, so that streams do not send in step.
#include "bench/sim/udp_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "vswitch/base/limits.h"

namespace weir::sim {

UdpSource::Stream::Stream(const Site& site, const SourceSpec& spec, std::uint32_t from,
                          std::vector<std::uint32_t> to, const Random& random)
    : site_(site),
      spec_(spec),
      host_(*site.hosts[from]),
      from_(site.endpoint(spec.tenant, from)),
      flow_(site.world.add_flow(*this)),
      random_(random),
      bytes_(spec.frame + limits::kWireOverheadBytes),
      gap_(make_profile(spec.rate_bps / 8, 0).price(bytes_)) {
    for (const std::uint32_t host : to)
        to_.push_back(site.endpoint(spec.tenant, host));
    const Nanos period = spec.on == kNever ? 0 : spec.on + spec.off;
    const Nanos spread = spec.stagger && period != 0 ? period : (gap_ >> kFineBits) + 1;
    burst_begins_ = spec.start + random_.below(spread);
    turn_ = to_.size() - 1;
    if (burst_begins_ < site.end)
        site.world.engine.at(burst_begins_, *this);
}

void UdpSource::Stream::begin_burst() {
    turn_ = (turn_ + 1) % to_.size();
    burst_ends_ = spec_.on == kNever ? spec_.stop : std::min(burst_begins_ + spec_.on, spec_.stop);
    burst_begins_ = spec_.on == kNever ? kNever : burst_begins_ + spec_.on + spec_.off;
    due_ = to_fine(site_.world.now());
}

void UdpSource::Stream::fire(std::uint32_t) {
    const Nanos now = site_.world.now();
    while (now >= burst_begins_)
        begin_burst();
    if (now < burst_ends_) {
        if (!host_.has_room(site_.world.endpoints[from_].vnic)) {
            host_.wait(site_.world.endpoints[from_].vnic, *this);
            return;
        }
        send();
        return;
    }
    if (burst_begins_ < spec_.stop)
        site_.world.engine.at(burst_begins_, *this);
}

void UdpSource::Stream::resume() {
    due_ = to_fine(site_.world.now());
    fire(0);
}

void UdpSource::Stream::send() {
    constexpr std::uint64_t kOne = 1024;
    constexpr std::uint64_t kLeast = kOne - kOne / 10;
    due_ += (gap_ * (kLeast + random_.below(2 * (kOne - kLeast) + 1))) / kOne;
    site_.world.engine.at(std::max(due_ >> kFineBits, site_.world.now()), *this);

    Packet& packet = site_.world.make_packet(from_, to_[turn_], flow_);
    packet.kind = PacketKind::kData;
    packet.bytes = bytes_;
    packet.payload = spec_.frame;
    packet.ecn_capable = spec_.ecn;
    ++sent;
    host_.send(site_.world.endpoints[from_].vnic, packet);
}

void UdpSource::Stream::deliver(const Packet& packet) {
    ++delivered;
    measured_bytes += site_.world.now() >= site_.measure_from ? packet.bytes : 0;
}

UdpSource::UdpSource(const Site& site, const SourceSpec& spec, std::uint64_t index) : site_(site) {
    Random random(site.seed, index);
    for (const std::uint32_t from : spec.from) {
        std::vector<std::uint32_t> others;
        for (const std::uint32_t to : spec.to)
            if (to != from)
                others.push_back(to);
        if (others.empty())
            continue;
        // Senders begin with different neighbors.
        std::rotate(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(from % others.size()),
                    others.end());
        if (spec.in_turn) {
            streams_.emplace_back(site, spec, from, others, Random(random.next(), 0));
            continue;
        }
        for (const std::uint32_t to : others)
            streams_.emplace_back(site, spec, from, std::vector{to}, Random(random.next(), 0));
    }
}

nlohmann::json UdpSource::summary() {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
    std::uint64_t bytes = 0;
    for (const Stream& stream : streams_) {
        sent += stream.sent;
        delivered += stream.delivered;
        bytes += stream.measured_bytes;
    }
    return {{"streams", streams_.size()},
            {"sent", sent},
            {"delivered", delivered},
            {"rate_bps", per_second(8 * bytes, site_.end - site_.measure_from)}};
}

}  // namespace weir::sim
