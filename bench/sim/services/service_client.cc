// service_client.cc - requests are made, wait for tokens, and come back.
#include "bench/sim/services/service_client.h"

#include <algorithm>

namespace weir::sim {
namespace {

/// A bucket holds so much of its rate (algorithms 1.7: 10 to 50 ms keep bursts bounded).
constexpr std::uint64_t kBurstPerSecond = 50;

}  // namespace

ServiceClient::ServiceClient(Engine& engine, RequestPool& pool, ServiceQueue& service,
                             const ServiceLoad& load, Random random)
    : engine_(engine), pool_(pool), service_(service), load_(load), random_(random) {
    engine.at(load.from, *this, kBegin);
}

void ServiceClient::set_rate(std::uint64_t tokens_per_sec) {
    bucket_.set_profile(
        tokens_per_sec == UINT64_MAX
            ? unlimited_profile()
            : make_profile(tokens_per_sec, std::max<std::uint64_t>(1, tokens_per_sec / kBurstPerSecond)),
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
                issue();
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
        issue();
}

void ServiceClient::issue() {
    const RequestId id = pool_.take();
    ServiceRequest& request = pool_[id];
    request.client = this;
    request.reads = random_.unit() < load_.reads;
    request.bytes = load_.bytes;
    const Operation operation = request.reads ? Operation::kRead : Operation::kWrite;
    request.tokens = service_.spec().costs->tokens(operation, request.reads ? 0 : load_.bytes,
                                                   request.reads ? load_.bytes : 0);
    request.issued = engine_.now();
    ++issued_;
    waiting_tokens_ += request.tokens;
    waiting_.push_back(id);
    pump();
}

void ServiceClient::pump() {
    const Nanos now = engine_.now();
    while (!waiting_.empty()) {
        const RequestId id = waiting_.front();
        ServiceRequest& request = pool_[id];
        if (!bucket_.can_pay(request.tokens, now)) {
            const Nanos at = std::max(bucket_.ready_at(request.tokens), now);
            if (at < wakes_at_) {
                wakes_at_ = at;
                engine_.at(at, *this, kWake);
            }
            return;
        }
        bucket_.pay(request.tokens, now);
        waiting_.pop_front();
        waiting_tokens_ -= request.tokens;
        outstanding_tokens_ += request.tokens;
        request.sent = now;
        service_.send(id);
    }
}

void ServiceClient::answered(RequestId id) {
    const std::uint32_t tokens = pool_[id].tokens;
    latency_sum_ += engine_.now() - pool_[id].sent;
    pool_.give_back(id);
    outstanding_tokens_ -= tokens;
    served_tokens_ += tokens;
    ++served_requests_;
    if (load_.outstanding != 0 && active())
        issue();
}

void ServiceClient::sample() {
    queued_sum_ += static_cast<double>(waiting_tokens_);
    outstanding_sum_ += static_cast<double>(outstanding_tokens_);
    ++samples_;
}

wire::FlowDemand ServiceClient::take_demand() {
    constexpr auto kTokens = static_cast<std::size_t>(wire::Part::kAppliance);
    const double samples = std::max(samples_, 1U);
    wire::FlowDemand demand;
    demand.used[kTokens] = static_cast<float>(served_tokens_ - told_);
    demand.backlog[kTokens] = static_cast<float>(waiting_tokens_);
    demand.queued[kTokens] = static_cast<float>(queued_sum_ / samples);
    demand.outstanding[kTokens] = static_cast<float>(outstanding_sum_ / samples);
    const std::uint64_t answers = served_requests_ - told_requests_;
    demand.latency_us = answers == 0 ? 0 : static_cast<std::uint32_t>(latency_sum_ / answers / 1000);
    told_ = served_tokens_;
    told_requests_ = served_requests_;
    latency_sum_ = 0;
    queued_sum_ = outstanding_sum_ = 0;
    samples_ = 0;
    return demand;
}

}  // namespace weir::sim
