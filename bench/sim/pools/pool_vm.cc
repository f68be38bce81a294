// pool_vm.cc - PoolVm: threads make requests, which wait for the VM's limit and its host.
#include "bench/sim/pools/pool_vm.h"

#include <algorithm>
#include <utility>

#include "bench/sim/pools/pool_host.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kBurstPerSecond = 20;  // a bucket holds a twentieth of a second of its rate
constexpr std::uint64_t kLimitBurstLeast = 4;

}  // namespace

PoolVm::PoolVm(Engine& engine, RequestPool& pool, const Route& route, const CostTable& costs, PoolHost& host,
               const PoolVmSpec& spec, Random random)
    : engine_(engine), pool_(pool), route_(route), costs_(costs), host_(host), spec_(spec), random_(random) {
    set_limit(UINT64_MAX);
    engine.at(spec.from, *this, kBegin);
}

void PoolVm::set_limit(std::uint64_t tokens_per_sec) {
    limit_.set_profile(tokens_per_sec == UINT64_MAX
                           ? unlimited_profile()
                           : make_profile(std::max<std::uint64_t>(1, tokens_per_sec),
                                          std::max(kLimitBurstLeast, tokens_per_sec / kBurstPerSecond)),
                       engine_.now());
}

void PoolVm::fire(std::uint32_t what) {
    switch (what) {
        case kBegin:
            for (std::uint32_t i = 0; i < spec_.outstanding; ++i)
                ask();
            if (spec_.on != 0)
                next_turn();
            break;
        case kThought:
            ask();
            break;
        case kTurn:
            on_ = !on_;
            next_turn();
            for (std::uint32_t threads = on_ ? std::exchange(resting_, 0) : 0; threads != 0; --threads)
                ask();
            break;
        case kWake:
            if (engine_.now() >= wakes_at_) {
                wakes_at_ = kNever;
                host_.pump();
            }
            break;
        default:
            answered(what);
    }
}

void PoolVm::next_turn() {
    const Nanos mean = on_ ? spec_.on : spec_.off;
    engine_.after(1 + static_cast<Nanos>(random_.exponential(static_cast<double>(mean))), *this, kTurn);
}

void PoolVm::integrate() {
    const auto span = static_cast<double>(engine_.now() - integrated_to_);
    integrated_to_ = engine_.now();
    for (PoolTally& tally : tallies_) {
        tally.waiting += span * static_cast<double>(waiting_tokens_);
        tally.outstanding += span * static_cast<double>(outstanding_tokens_);
    }
}

void PoolVm::ask() {
    if (!active())
        return;
    if (!on_) {
        ++resting_;
        return;
    }
    const RequestId id = pool_.take();
    ServiceRequest& request = pool_[id];
    request.client = this;
    request.route = &route_;
    request.reads = random_.unit() < spec_.reads;
    request.bytes = spec_.bytes;
    request.tokens = costs_.tokens(request.reads ? Operation::kRead : Operation::kWrite,
                                   request.reads ? 0 : spec_.bytes, request.reads ? spec_.bytes : 0);
    request.issued = engine_.now();
    integrate();
    waiting_tokens_ += request.tokens;
    waiting_.push_back(id);
    host_.pump();
}

void PoolVm::offer(ApplianceGate& gate, ApplianceGate::Flow flow) {
    const Nanos now = engine_.now();
    while (gate.announced(flow) < std::min<std::size_t>(ApplianceGate::kAnnounced, waiting_.size())) {
        const std::uint32_t tokens = pool_[waiting_[gate.announced(flow)]].tokens;
        if (!limit_.can_pay(tokens, now)) {
            const Nanos at = std::max(limit_.ready_at(tokens, now), now);
            if (at < wakes_at_) {
                wakes_at_ = at;
                engine_.at(at, *this, kWake);
            }
            return;
        }
        if (!gate.announce(flow, tokens, now))
            return;
        limit_.pay(tokens, now);
    }
}

void PoolVm::send() {
    const RequestId id = waiting_.front();
    waiting_.pop_front();
    integrate();
    waiting_tokens_ -= pool_[id].tokens;
    outstanding_tokens_ += pool_[id].tokens;
    pool_[id].sent = engine_.now();
    pool_.onward(id);
}

void PoolVm::answered(RequestId id) {
    const ServiceRequest request = pool_[id];
    pool_.give_back(id);
    integrate();
    outstanding_tokens_ -= request.tokens;
    for (PoolTally& tally : tallies_) {
        ++tally.requests;
        tally.tokens += request.tokens;
        tally.latency += static_cast<double>(engine_.now() - request.issued);
        tally.array_latency +=
            static_cast<double>(request.tokens) * static_cast<double>(engine_.now() - request.sent);
    }
    host_.finish(request.tokens);
    if (spec_.think != 0)
        engine_.after(static_cast<Nanos>(random_.exponential(static_cast<double>(spec_.think))), *this,
                      kThought);
    else
        ask();
}

PoolTally PoolVm::take(unsigned taker) {
    integrate();
    PoolTally tally = std::exchange(tallies_[taker], {});
    const auto span = static_cast<double>(
        std::max<Nanos>(1, engine_.now() - std::exchange(taken_at_[taker], engine_.now())));
    tally.waiting /= span;
    tally.outstanding /= span;
    return tally;
}

}  // namespace weir::sim
