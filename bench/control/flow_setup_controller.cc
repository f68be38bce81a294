// flow_setup_controller.cc - agents' sessions and the controller joined without sockets: the computations
// of both when a flow begins between two intervals. Ticks and waiting are left out. Threads: one.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/control/flow_setup.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/interval_solver.h"
#include "vswitch/agent/controller_session.h"

namespace weir::bench {
namespace {

constexpr unsigned kVnicsPerHost = 12;
constexpr unsigned kTenantsPerHost = 3;
constexpr unsigned kVnicsPerTenant = 48;
constexpr Nanos kSample = 10'000'000;
constexpr std::uint64_t kUsed = 1'000;

std::string name(const char* kind, std::size_t number) {
    return kind + std::to_string(number);
}

std::size_t tenant_of(std::size_t host, std::size_t vnic, std::size_t tenants) {
    return (host * kTenantsPerHost + vnic % kTenantsPerHost) % tenants;
}

/// As in Pulsar 6.4: tenants of 48 vNICs, each on some twelve hosts, and an appliance for ten hosts.
ClusterConfig cluster_of(unsigned hosts) {
    ClusterConfig config;
    for (unsigned i = 0; i < std::max(1U, hosts / 10); ++i)
        config.appliances.push_back({.name = name("app", i), .capacity_min = 20'000, .capacity_max = 20'000});
    const unsigned tenants = std::max(kTenantsPerHost, hosts * kVnicsPerHost / kVnicsPerTenant);
    for (unsigned t = 0; t < tenants; ++t) {
        TenantConfig tenant;
        tenant.name = name("t", t);
        tenant.appliances.push_back(
            {.name = name("app", t % config.appliances.size()), .reservation_tokens = 500});
        config.tenants.push_back(std::move(tenant));
    }
    for (unsigned h = 0; h < hosts; ++h) {
        config.hosts.push_back({.name = name("h", h)});
        for (unsigned v = 0; v < kVnicsPerHost; ++v)
            config.tenants[tenant_of(h, v, tenants)].vnics.push_back(
                {.name = name("v", h * kVnicsPerHost + v)});
    }
    return config;
}

struct Host {
    Peer peer;
    std::unique_ptr<ControllerSession> session;
    std::vector<FlowSample> samples;
    FlowRates rates;

    Host(unsigned number, const ClusterConfig& config) {
        peer.route = name("h", number);
        session = std::make_unique<ControllerSession>(number * 1'000 + 1, 0);
        wire::Hello hello{.host = name("h", number), .version = "bench"};
        for (unsigned v = 0; v < kVnicsPerHost; ++v) {
            const TenantConfig& tenant = config.tenants[tenant_of(number, v, config.tenants.size())];
            if (v < kTenantsPerHost)
                hello.appliances.push_back({tenant.appliances[0].name, "10.0.0.9", 1});
            hello.vnics.push_back({.name = name("v", number * kVnicsPerHost + v)});
            samples.push_back(
                {.flow = {hello.vnics.back().name, static_cast<std::uint16_t>(v % kTenantsPerHost)}});
        }
        session->set_hello(hello);
    }
    void use(std::size_t flow) {
        samples[flow].used = {samples[flow].used[0], samples[flow].used[1] + kUsed, 0};
    }
};

class Cluster {
  public:
    explicit Cluster(unsigned hosts)
        : config_(cluster_of(hosts)), solver_(config_), controller_(config_, solver_, store_, 1'000) {
        for (unsigned h = 0; h < hosts; ++h)
            hosts_.emplace_back(h, config_);
        for (int round = 0; round < 3; ++round)
            sample_all(round == 2);
        interval();
    }

    /// Every host's flows except the first one use tokens, and the controller ticks.
    void interval() {
        for (int sample = 0; sample < 2; ++sample)
            sample_all(true);
        now_ += config_.interval;
        sample_all(true);
        controller_.tick(now_, 1'000);
        deliver_answers();
        now_ += config_.interval / 5;  // from now on a new flow's demand may be sent at once
    }

    struct Times {
        Spans sent, solved, received, all;
    };
    /// The first flow of host `number` begins.
    void begin(unsigned number, Times& times) {
        Host& host = hosts_[number];
        host.session->add_samples(host.samples, now_);
        host.use(0);
        now_ += kSample;
        std::vector<ControllerSession::Message> messages;
        times.sent.time([&] {
            host.session->add_samples(host.samples, now_);
            host.session->tick(now_);
            messages = host.session->take_outgoing();
        });
        std::vector<Outgoing> answers;
        times.solved.time([&] {
            for (const ControllerSession::Message& message : messages)
                controller_.on_message(host.peer, message.header, message.body, now_);
            controller_.solve_early(now_);
            answers = controller_.take_outgoing();
        });
        times.received.time([&] {
            for (const Outgoing& answer : answers)
                if (answer.route == host.peer.route)
                    host.session->on_message(answer.header, answer.body, now_);
            if (!host.session->update_rates(host.rates))
                throw std::runtime_error("no rate came for the new flow");
        });
        for (const Outgoing& answer : answers)
            if (answer.route != host.peer.route)
                deliver(answer);
        times.all.add(
            std::chrono::duration_cast<Spans::Clock::duration>(std::chrono::duration<double, std::micro>(
                times.sent.last() + times.solved.last() + times.received.last())));
    }
    [[nodiscard]] std::size_t flows() const { return hosts_.size() * kVnicsPerHost; }

  private:
    void sample_all(bool work) {
        now_ += kSample;
        for (Host& host : hosts_) {
            for (std::size_t flow = 1; work && flow < host.samples.size(); ++flow)
                host.use(flow);
            host.session->add_samples(host.samples, now_);
            host.session->tick(now_);
            for (const ControllerSession::Message& message : host.session->take_outgoing())
                controller_.on_message(host.peer, message.header, message.body, now_);
        }
        deliver_answers();
    }
    void deliver_answers() {
        for (const Outgoing& answer : controller_.take_outgoing())
            deliver(answer);
    }
    void deliver(const Outgoing& answer) {
        Host& host = hosts_[std::stoul(answer.route.substr(1))];
        host.session->on_message(answer.header, answer.body, now_);
        (void)host.session->update_rates(host.rates);
    }

    ClusterConfig config_;
    IntervalSolver solver_;
    Store store_{":memory:"};
    Controller controller_;
    std::vector<Host> hosts_;
    Nanos now_ = kNanosPerSec;
};

}  // namespace

nlohmann::json measure_controller(unsigned hosts, unsigned times) {
    Cluster cluster(hosts);
    Cluster::Times spans;
    for (unsigned i = 0; i < std::min(times, hosts); ++i)
        cluster.begin(i, spans);
    return {{"flows", cluster.flows()},
            {"agent_sends", spans.sent.summary()},
            {"controller", spans.solved.summary()},
            {"agent_receives", spans.received.summary()},
            {"all", spans.all.summary()}};
}

}  // namespace weir::bench
