// service_client.cc - ServiceClient: requests are made, wait for tokens, and come back.
#include "bench/sim/services/service_client.h"

#include <algorithm>

namespace weir::sim {
namespace {

/// Part of a second that a bucket holds of its rate; 10 to 50 ms bound bursts.
constexpr std::uint64_t kBurstPerSecond = 50;
/// Bytes of a request or response besides its data.
constexpr std::uint32_t kHeaderBytes = 100;

template <typename Sums, typename Costs>
void add(Sums& sums, const Costs& costs, double times) {
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += times * costs[i];
}

}  // namespace

ServiceClient::ServiceClient(Engine& engine, RequestPool& pool, const ServiceLoad& load,
                             const CostTable* costs, const Route& route, std::uint32_t first_connection,
                             Random random)
    : engine_(engine),
      pool_(pool),
      load_(load),
      costs_(costs),
      route_(route),
      first_connection_(first_connection),
      random_(random) {
    engine.at(load.from, *this, kBegin);
}

void ServiceClient::set_rates(const Rates& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i)
        buckets_.bucket(i).set_profile(
            rates[i] == wire::kNoStatement
                ? unlimited_profile()
                : make_profile(rates[i], std::max<std::uint64_t>(1, rates[i] / kBurstPerSecond)),
            engine_.now());
    pump();
}

void ServiceClient::fire(std::uint32_t what) {
    switch (what) {
        case kBegin:
            begin();
            break;
        case kArrival:
            if (active()) {
                issue(static_cast<std::uint32_t>(issued_ % load_.connections));
                const double gap = random_.exponential(1e9 / load_.per_second);
                engine_.after(static_cast<Nanos>(gap), *this, kArrival);
            }
            break;
        case kWake:
            if (engine_.now() >= wakes_at_) {  // else there has been an earlier one
                wakes_at_ = kNever;
                pump();
            }
            break;
        default:
            answered(what);
    }
}

void ServiceClient::begin() {
    if (load_.per_second > 0)
        fire(kArrival);
    for (std::uint32_t i = 0; i < load_.outstanding; ++i)
        issue(i % load_.connections);
}

void ServiceClient::issue(std::uint32_t connection) {
    const RequestId id = pool_.take();
    ServiceRequest& request = pool_[id];
    request.client = this;
    request.route = &route_;
    request.tenant = load_.tenant;
    request.connection = first_connection_ + connection;
    request.reads = costs_ != nullptr && random_.unit() < load_.reads;
    request.bytes = load_.bytes;
    const std::uint32_t out = request.reads ? 0 : load_.bytes;
    const std::uint32_t in = request.reads ? load_.bytes : 0;
    request.tokens = costs_ == nullptr
                         ? load_.bytes
                         : costs_->tokens(request.reads ? Operation::kRead : Operation::kWrite, out, in);
    request.there = out + kHeaderBytes;
    request.back = in + kHeaderBytes;
    ++issued_;
    add(waiting_, costs_of(id), 1);
    queue_.push_back(id);
    pump();
}

ServiceClient::Buckets::Costs ServiceClient::costs_of(RequestId id) const {
    const ServiceRequest& request = pool_[id];
    if (costs_ == nullptr)
        return {request.there, 0, 0};
    return {request.there, request.tokens, request.back};
}

void ServiceClient::pump() {
    const Nanos now = engine_.now();
    while (!queue_.empty()) {
        const RequestId id = queue_.front();
        const Buckets::Costs costs = costs_of(id);
        if (!buckets_.admit(costs, now)) {
            Nanos at = now;
            for (std::size_t i = 0; i < costs.size(); ++i)
                at = std::max(at, buckets_.bucket(i).ready_at(costs[i], now));
            if (at < wakes_at_) {
                wakes_at_ = at;
                engine_.at(at, *this, kWake);
            }
            return;
        }
        queue_.pop_front();
        add(waiting_, costs, -1);
        add(outstanding_, costs, 1);
        pool_[id].sent = now;
        pool_.onward(id);
    }
}

void ServiceClient::answered(RequestId id) {
    const Buckets::Costs costs = costs_of(id);
    add(outstanding_, costs, -1);
    add(used_, costs, 1);
    served_tokens_ += pool_[id].tokens;
    ++answers_;
    latency_sum_ += engine_.now() - pool_[id].sent;
    const std::uint32_t connection = pool_[id].connection - first_connection_;
    pool_.give_back(id);
    if (load_.outstanding != 0 && active())
        issue(connection);
}

void ServiceClient::sample() {
    add(queued_sum_, waiting_, 1);
    add(outstanding_sum_, outstanding_, 1);
    ++samples_;
}

wire::FlowDemand ServiceClient::demand(double part) const {
    const double samples = std::max(samples_, 1U);
    wire::FlowDemand demand;
    for (std::size_t i = 0; i < wire::kParts; ++i) {
        demand.used[i] = static_cast<float>(used_[i] / part);
        demand.backlog[i] = static_cast<float>(waiting_[i]);
        demand.queued[i] = static_cast<float>(queued_sum_[i] / samples);
        demand.outstanding[i] = static_cast<float>(outstanding_sum_[i] / samples);
    }
    demand.latency_us = answers_ == 0 ? 0 : static_cast<std::uint32_t>(latency_sum_ / answers_ / 1000);
    return demand;
}

wire::FlowDemand ServiceClient::take_demand() {
    const wire::FlowDemand all = demand(1);
    used_ = queued_sum_ = outstanding_sum_ = {};
    answers_ = 0;
    latency_sum_ = 0;
    samples_ = 0;
    return all;
}

}  // namespace weir::sim
