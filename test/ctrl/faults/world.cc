// world.cc - the ticks of an interval: VMs send, switches report, the controller solves, switches receive.
#include "test/ctrl/faults/world.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>

namespace weir::faults {
namespace {

constexpr Nanos kSpan = 100'000'000;  // of a tick
constexpr Nanos kInterval = kNanosPerSec;
constexpr Nanos kEarlySolves = 10;  // per interval at most, as Server allows
/// Unix time of the clock's 0: 2026-11-26 00:00:00.
constexpr std::uint64_t kUnixBegin = 1'795'651'200 * kNanosPerSec;

/// Messages that the controller did not take.
std::uint64_t ignored_of(const ControllerCounters& counters) {
    return counters.stale + counters.foreign + counters.wrong_type + counters.bad_json +
           std::accumulate(counters.malformed.begin(), counters.malformed.end(), std::uint64_t{0});
}

}  // namespace

World::World(std::uint32_t seed, std::uint32_t intervals)
    : random_(seed),
      plan_(draw_plan(random_)),
      schedule_(draw_schedule(random_, plan_, intervals)),
      facts_(plan_, schedule_),
      liar_(plan_) {
    spdlog::set_level(spdlog::level::off);
    install_disk();
    set_disk_fault(DiskFault::kSound);
    const auto hosts = static_cast<std::uint32_t>(plan_.config.hosts.size());
    mirror_.resize(hosts);
    connections_.resize(hosts);
    up_.resize(hosts);
    down_.resize(hosts);
    has_lied_.resize(hosts);
    for (std::uint32_t host = 0; host < hosts; ++host) {
        hosts_.emplace_back(plan_, host);
        start_switch(host);
    }
    start_controller();
}

std::uint64_t World::unix_nanos(std::int64_t days_wrong) const {
    constexpr std::int64_t kDay = 86'400 * static_cast<std::int64_t>(kNanosPerSec);
    return kUnixBegin + now_ + static_cast<std::uint64_t>(days_wrong * kDay);
}

std::int64_t World::controller_time() const {
    return static_cast<std::int64_t>(unix_nanos(amount_of(FaultKind::kControllerClock)) / kNanosPerSec);
}

Peer World::peer_of(std::uint32_t host) const {
    return {.route = std::to_string(host) + '/' + std::to_string(connections_[host]),
            .host = hosts_[host].name()};
}

/// The host whose present connection this is; kNone: it has ended.
std::uint32_t World::host_of(const std::string& route) const {
    for (std::uint32_t host = 0; host < hosts_.size(); ++host)
        if (hosts_[host].is_running() && peer_of(host).route == route)
            return host;
    return kNone;
}

void World::start_switch(std::uint32_t host) {
    const std::int64_t wrong = amount_of(FaultKind::kHostClock, host);
    hosts_[host].start(random_(), unix_nanos(wrong), wrong == 0, now_);
}

void World::start_controller() {
    const std::string file = disk_.file(std::to_string(stores_) + ".db");
    try {
        store_.emplace(file);
        solver_ = std::make_unique<IntervalSolver>(plan_.config);
        controller_ = std::make_unique<Controller>(plan_.config, *solver_, *store_, controller_time());
    } catch (const HostError&) {  // a disk that fails: it is tried again
        end_controller();
        return;
    }
    controller_->set_reach([this](const Outgoing& message) {
        take_outgoing();
        const std::uint32_t host = host_of(message.route);
        if (host != kNone)
            on_sent(host, {message.header, message.body});
        return host != kNone;
    });
    controller_began_ = interval_;
    next_tick_ = now_ + kInterval;
    next_early_ = 0;
}

void World::end_controller() {
    controller_.reset();
    solver_.reset();
    store_.reset();
    for (Mirror& mirror : mirror_)
        mirror.forget();
}

void World::guarded(const std::function<void()>& work) {
    try {
        work();
    } catch (const HostError& error) {
        ended_ = error.what();
        end_controller();
    }
}

void World::serve_appliances(double seconds) {
    for (std::uint32_t a = 0; a < plan_.serves.size(); ++a) {
        double outstanding = 0;
        for (const Host& host : hosts_)
            for (const HostFlow& flow : host.flows())
                outstanding += flow.planned->appliance == a ? flow.outstanding : 0;
        const double part = std::min(1.0, plan_.serves[a] * seconds / std::max(outstanding, 1e-9));
        for (Host& host : hosts_)
            for (HostFlow& flow : host.flows())
                if (flow.planned->appliance == a) {
                    flow.answered += flow.outstanding * part;
                    flow.outstanding -= flow.outstanding * part;
                }
    }
}

void World::send_reports() {
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
        if (!hosts_[host].is_running())
            continue;
        const bool lies = is_active(FaultKind::kLiar, host);
        hosts_[host].tick(kSpan, now_, random_);
        for (LineMessage& message : hosts_[host].take_outgoing()) {
            liar_.overhear(host, message, random_);
            up_[host].send(std::move(message), faults_of(host, true), now_, random_);
        }
        if (lies && one_in(random_, 2))
            up_[host].send(liar_.lie(host, unix_nanos(0), random_), faults_of(host, true), now_, random_);
    }
}

void World::deliver_reports() {
    for (std::uint32_t host = 0; host < hosts_.size(); ++host)
        for (LineMessage& message : up_[host].arrived(now_)) {
            if (tampering_.reported)
                tampering_.reported(host, message);
            if (controller_ == nullptr)
                continue;
            const std::uint64_t before = ignored_of(controller_->counters());
            guarded([&] { controller_->on_message(peer_of(host), message.header, message.body, now_); });
            if (controller_ == nullptr)
                continue;
            take_outgoing();
            wire::Header header;
            if (ignored_of(controller_->counters()) == before &&
                wire::decode_header(message.header, message.body.size(), header) == wire::Malformed::kNo)
                mirror_[host].on_received(header, next_interval_);
        }
}

void World::run_controller() {
    if (controller_ == nullptr)
        return;
    guarded([this] {
        if (now_ >= next_tick_) {
            controller_->tick(now_, controller_time());
            next_tick_ += kInterval;
            if (tampering_.solved)
                tampering_.solved(interval_);
        } else if (controller_->early_solve_due() && now_ >= next_early_) {
            controller_->solve_early(now_);
        } else {
            return;
        }
        next_early_ = now_ + kInterval / kEarlySolves;
    });
    if (controller_ != nullptr)
        take_outgoing();
}

void World::take_outgoing() {
    for (Outgoing& message : controller_->take_outgoing())
        if (const std::uint32_t host = host_of(message.route); host != kNone)
            on_sent(host, {message.header, std::move(message.body)});
}

void World::on_sent(std::uint32_t host, LineMessage message) {
    if (tampering_.sent)
        tampering_.sent(host, message);
    mirror_[host].on_sent(message.header, message.body, next_interval_);
    if (tampering_.delivered)
        tampering_.delivered(host, message);
    down_[host].send(std::move(message), faults_of(host, false), now_, random_);
}

void World::deliver_rates() {
    for (std::uint32_t host = 0; host < hosts_.size(); ++host)
        for (const LineMessage& message : down_[host].arrived(now_))
            if (hosts_[host].is_running())
                hosts_[host].on_message(message, now_);
}

void World::tick() {
    now_ += kSpan;
    send_reports();
    serve_appliances(to_seconds(kSpan));
    deliver_reports();
    run_controller();
    deliver_rates();
}

void World::run_interval() {
    interval_ = next_interval_;
    ended_.clear();
    apply_faults();
    for (Nanos passed = 0; passed < kInterval; passed += kSpan)
        tick();
    ++next_interval_;
}

}  // namespace weir::faults
