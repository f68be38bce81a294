// tcp_source.cc - BulkSource and RequestSource, and the counts of all sources over TCP.
#include "bench/sim/tcp_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/sim/udp_source.h"

namespace weir::sim {

std::unique_ptr<Source> make_source(const Site& site, const SourceSpec& spec, std::uint64_t index) {
    switch (spec.kind) {
        case SourceKind::kUdp:
            return std::make_unique<UdpSource>(site, spec, index);
        case SourceKind::kTcp:
            return std::make_unique<BulkSource>(site, spec);
        case SourceKind::kRequests:
            return std::make_unique<RequestSource>(site, spec, index);
        case SourceKind::kPoisson:
            return std::make_unique<PoissonSource>(site, spec, index);
    }
    return nullptr;
}

TcpConnection& TcpSource::connect(std::uint32_t from, std::uint32_t to) {
    return connections_.emplace_back(site_.world, site_.hosts, spec_.tcp, site_.endpoint(spec_.tenant, from),
                                     site_.endpoint(spec_.tenant, to), *this,
                                     static_cast<std::uint32_t>(connections_.size()));
}

nlohmann::json TcpSource::totals() const {
    TcpSender::Stats sum;
    std::uint64_t delivered = 0;
    for (const TcpConnection& connection : connections_) {
        for (const unsigned side : {0U, 1U}) {
            const TcpSender::Stats& stats = connection.sender(side).stats();
            sum.segments += stats.segments;
            sum.retransmits += stats.retransmits;
            sum.timeouts += stats.timeouts;
            delivered += connection.delivered(side);
        }
    }
    return {{"connections", connections_.size()},
            {"segments", sum.segments},
            {"retransmits", sum.retransmits},
            {"timeouts", sum.timeouts},
            {"delivered_bytes", delivered}};
}

BulkSource::BulkSource(const Site& site, const SourceSpec& spec) : TcpSource(site, spec) {
    for_pairs([this](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t i = 0; i < spec_.connections; ++i)
            connect(from, to);
    });
    site.world.engine.at(spec.start, *this);
}

void BulkSource::fire(std::uint32_t) {
    for (TcpConnection& connection : connections_)
        connection.write(0, spec_.bytes == 0 ? TcpSender::kEndless : spec_.bytes);
}

void BulkSource::message_arrived(TcpConnection&, unsigned) {
    completion_.add(now() - spec_.start);
}

nlohmann::json BulkSource::summary() {
    nlohmann::json all = totals();
    if (spec_.bytes != 0)
        all["completion_ns"] = completion_.to_json();
    return all;
}

RequestSource::RequestSource(const Site& site, const SourceSpec& spec, std::uint64_t index)
    : TcpSource(site, spec), random_(site.seed, index) {
    std::uint32_t pairs = 0;
    for_pairs([&](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t i = 0; i < spec_.connections; ++i)
            connect(from, to);
        ++pairs;
    });
    asked_.resize(connections_.size());
    answer_at_.resize(connections_.size());
    if (spec.request_rate != 0) {
        for (std::uint32_t i = 0; i < pairs; ++i)
            next_arrival(i);
        return;
    }
    for (const TcpConnection& connection : connections_)
        site.world.engine.at(spec.start, *this, connection.tag());
}

void RequestSource::fire(std::uint32_t what) {
    if ((what & kAnswer) != 0) {
        connections_[what & ~kAnswer].write(1, spec_.response);
        return;
    }
    if (spec_.request_rate != 0) {
        ask(what * spec_.connections + static_cast<std::uint32_t>(random_.below(spec_.connections)));
        next_arrival(what);
        return;
    }
    for (std::uint32_t i = 0; i < spec_.outstanding; ++i)
        ask(what);
}

void RequestSource::next_arrival(std::uint32_t pair) {
    const double gap = random_.exponential(1e9 / spec_.request_rate);
    const Nanos at = std::max(now(), spec_.start) + static_cast<Nanos>(gap);
    if (at < spec_.stop)
        site_.world.engine.at(at, *this, pair);
}

void RequestSource::ask(std::uint32_t tag) {
    ++requests_;
    asked_[tag].push_back(now());
    connections_[tag].write(0, spec_.request);
}

void RequestSource::message_arrived(TcpConnection& connection, unsigned side) {
    const std::uint32_t tag = connection.tag();
    if (side == 0) {
        const auto mean = static_cast<double>(spec_.service);
        const Nanos service =
            spec_.service_varies ? static_cast<Nanos>(random_.exponential(mean)) : spec_.service;
        // Answers of a connection keep their order.
        answer_at_[tag] = std::max(answer_at_[tag], now() + service);
        site_.world.engine.at(answer_at_[tag], *this, kAnswer | tag);
        return;
    }
    const Nanos asked = asked_[tag].front();
    asked_[tag].pop_front();
    ++answered_;
    if (asked >= site_.measure_from)
        latency_.add(now() - asked);
    if (spec_.request_rate == 0 && now() < spec_.stop)
        ask(tag);
}

/// Requests that are still open count with the time that they have waited, or the worst would be left out.
nlohmann::json RequestSource::summary() {
    nlohmann::json all = totals();
    all["requests"] = requests_;
    all["answered"] = answered_;
    Samples latency = latency_;
    for (const std::deque<Nanos>& open : asked_)
        for (const Nanos asked : open)
            if (asked >= site_.measure_from)
                latency.add(site_.end - asked);
    all["latency_ns"] = latency.to_json();
    return all;
}

}  // namespace weir::sim
