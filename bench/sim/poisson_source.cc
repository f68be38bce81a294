// poisson_source.cc - open-loop flows over TCP with sizes of a table and random destinations.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/sim/tcp_source.h"

namespace weir::sim {

double mean_size(const SizeTable& sizes) {
    double mean = 0;
    SizeTable::value_type from{0, 0};
    for (const SizeTable::value_type& to : sizes) {
        mean += (to.second - from.second) * (from.first + to.first) / 2;
        from = to;
    }
    return mean;
}

double size_at(const SizeTable& sizes, double part) {
    const auto above = std::ranges::upper_bound(sizes, part, {}, &SizeTable::value_type::second);
    const SizeTable::value_type from = above == sizes.begin() ? SizeTable::value_type{0, 0} : above[-1];
    return from.first + (part - from.second) / (above->second - from.second) * (above->first - from.first);
}

PoissonSource::PoissonSource(const Site& site, const SourceSpec& spec, std::uint64_t index)
    : TcpSource(site, spec), random_(site.seed, index), tags_(spec.from.size() * spec.to.size(), kNone) {
    const auto bytes_per_ns = static_cast<double>(site.hosts[spec.from[0]]->nic().rate()) / 1e9;
    mean_gap_ = mean_size(spec.sizes) / (bytes_per_ns * spec.load);
    for (std::uint32_t i = 0; i < spec.from.size(); ++i)
        next_arrival(i);
}

std::uint64_t PoissonSource::draw_size() {
    return 1 + static_cast<std::uint64_t>(size_at(spec_.sizes, random_.unit()));
}

void PoissonSource::next_arrival(std::uint32_t sender) {
    const Nanos at = std::max(now(), spec_.start) + static_cast<Nanos>(random_.exponential(mean_gap_));
    if (at < spec_.stop)
        site_.world.engine.at(at, *this, sender);
}

void PoissonSource::fire(std::uint32_t sender) {
    std::size_t to = random_.below(spec_.to.size());
    if (spec_.to[to] == spec_.from[sender])
        to = (to + 1) % spec_.to.size();
    std::uint32_t& tag = tags_[sender * spec_.to.size() + to];
    if (tag == kNone) {
        tag = connect(spec_.from[sender], spec_.to[to]).tag();
        flows_.emplace_back();
    }
    const std::uint64_t bytes = draw_size();
    ++started_;
    offered_bytes_ += bytes;
    flows_[tag].push_back({now(), bytes});
    connections_[tag].write(0, bytes);
    next_arrival(sender);
}

void PoissonSource::message_arrived(TcpConnection& connection, unsigned) {
    const Flow flow = flows_[connection.tag()].front();
    flows_[connection.tag()].pop_front();
    if (flow.start < site_.measure_from)
        return;
    Samples& samples = flow.bytes <= kSmall ? small_ : flow.bytes <= kMedium ? medium_ : large_;
    samples.add(now() - flow.start);
}

nlohmann::json PoissonSource::summary() {
    nlohmann::json all = totals();
    all["flows"] = started_;
    all["finished"] = small_.count() + medium_.count() + large_.count();
    all["offered_bytes"] = offered_bytes_;
    all["completion_ns"] = {
        {"up to 100 kB", small_.to_json()}, {"up to 10 MB", medium_.to_json()}, {"larger", large_.to_json()}};
    return all;
}

}  // namespace weir::sim
