// appliance_gate_test.cc - a window of outstanding tokens: never overrun, never idle while somebody waits,
// divided by reservation and shares.
#include "vswitch/qos/requests/appliance_gate.h"

#include <deque>
#include <random>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "vswitch/qos/requests/request_gate.h"

using namespace weir;
using weir::testing::kUs;

namespace {

/// Flows that keep `depth` requests waiting, each on a connection of its own, and an appliance that serves
/// `servers` at a time, for `service` ns a token.
class Service {
  public:
    struct Client {
        GateProfile promised;
        std::uint32_t tokens = 1;  ///< of each request
        unsigned depth = 8;
        BucketProfile limit = unlimited_profile();
        std::uint64_t served = 0;
    };

    Service(std::uint64_t window, Nanos service, std::vector<Client> of)
        : clients(std::move(of)), window_(window), service_(service) {
        gate_.set_window(window);
        for (std::size_t i = 0; i < clients.size(); ++i) {
            RequestGate::Profile profile;
            profile.window = clients[i].promised;
            profile.limits.fill(unlimited_profile());
            profile.limits[0] = clients[i].limit;
            requests_.open(static_cast<std::uint32_t>(i), profile, &gate_, 0);
        }
    }

    void run(Nanos until) {
        for (; now < until; now += kUs) {
            finish();
            wheel_.advance(now, 64, [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids)
                    requests_.wake(id, now, [this](const RequestGate::Held& held) { serve(held); });
            });
            while (const auto grant = gate_.next(now))
                requests_.grant(*grant, now, [this](const RequestGate::Held& held) { serve(held); });
            for (std::size_t i = 0; i < clients.size(); ++i)
                while (waiting_[i] < clients[i].depth)
                    send(static_cast<std::uint32_t>(i));
            check();
        }
    }
    [[nodiscard]] double share(std::size_t client) const {
        std::uint64_t all = 0;
        for (const Client& each : clients)
            all += each.served;
        return static_cast<double>(clients[client].served) / static_cast<double>(all);
    }
    [[nodiscard]] RequestFlowStats stats(std::uint32_t client) const {
        RequestFlowStats stats;
        requests_.read(client, now, stats);
        return stats;
    }

    void bar(std::uint32_t client, bool barred) { requests_.bar(client, barred, now); }

    std::vector<Client> clients;
    Nanos now = 1;
    Nanos idle = 0;  ///< while a request waited that could have entered

  private:
    void send(std::uint32_t client) {
        const CostVector cost{clients[client].tokens, 0, 0, 0, clients[client].tokens};
        const std::uint64_t connection = next_++ << 8 | client;
        if (requests_.admit(client, connection, cost, now)) {
            begin(client);
            return;
        }
        const RequestGate::Held held{{nullptr, now, 100, 1, 1}, connection, client};
        REQUIRE(requests_.has_room(client, connection, 100));
        requests_.hold(client, held, cost, {1, 2}, now);
        ++waiting_[client];
    }
    void serve(const RequestGate::Held& held) {
        --waiting_[held.mark];
        begin(static_cast<std::uint32_t>(held.mark));
    }
    void begin(std::uint32_t client) {
        outstanding_ += clients[client].tokens;
        queue_.push_back(client);
    }
    /// One server: a token takes service_ ns.
    void finish() {
        while (!queue_.empty() && done_at_ + service_ * clients[queue_.front()].tokens <= now) {
            Client& client = clients[queue_.front()];
            done_at_ = std::max(done_at_, now - service_ * client.tokens) + service_ * client.tokens;
            queue_.pop_front();
            client.served += client.tokens;
            outstanding_ -= client.tokens;
            gate_.finish(client.tokens);
        }
        if (queue_.empty())
            done_at_ = now;
    }
    void check() {
        REQUIRE(gate_.outstanding() == outstanding_);
        std::uint32_t largest = 0;
        for (const Client& client : clients)
            largest = std::max(largest, client.tokens);
        REQUIRE(outstanding_ <= std::max<std::uint64_t>(window_, largest));
        if (queue_.empty())
            idle += kUs;
    }

    std::uint64_t window_;
    Nanos service_;
    TimingWheel wheel_{64};
    ApplianceGate gate_{{.flows = 64, .wheel = &wheel_}};
    RequestGate requests_{
        {.flows = 64, .connections = 4096, .packets = 4096, .wheel = &wheel_, .wheel_id = 0}};
    std::array<unsigned, 64> waiting_{};
    std::deque<std::uint32_t> queue_;
    std::uint64_t outstanding_ = 0;
    std::uint64_t next_ = 1;
    Nanos done_at_ = 0;
};

}  // namespace

TEST_CASE("window: shares divide the appliance, whatever the size of requests", "[long]") {
    Service service(64, 10 * kUs,
                    {{.promised = {.shares = 300}}, {.promised = {.shares = 100}, .tokens = 16}});
    service.run(2'000'000 * kUs);
    CHECK(service.share(0) > 0.73);
    CHECK(service.share(0) < 0.77);
    CHECK(service.idle < 100 * kUs);
    CHECK(service.stats(1).blocked_ns[kWindowHold] > 1'000'000 * kUs);
    CHECK(service.stats(1).blocked_ns[0] == 0);
}

TEST_CASE("window: a reservation comes first, the rest goes by shares", "[long]") {
    // 100,000 tokens/s in all; 60,000 of them promised to the first.
    Service service(8, 10 * kUs,
                    {{.promised = {.reservation = 60'000, .burst = 600, .shares = 100}}, {}, {}, {}});
    service.run(1'000'000 * kUs);
    CHECK(service.share(0) > 0.58);
    CHECK(service.share(0) < 0.63);
    CHECK(service.share(1) > 0.125);
    CHECK(service.share(3) > 0.125);
}

TEST_CASE("window: a request larger than the window enters when nothing else is there, and is not starved") {
    Service service(4, 10 * kUs, {{.promised = {}, .depth = 32}, {.promised = {}, .tokens = 10}});
    service.run(500'000 * kUs);
    CHECK(service.share(1) > 0.45);
    CHECK(service.share(1) < 0.55);
}

TEST_CASE("window: a flow that is held by a bucket of its own leaves the window to others", "[long]") {
    Service service(8, 10 * kUs, {{.promised = {}, .limit = make_profile(10'000, 100)}, {}});
    service.run(1'000'000 * kUs);
    CHECK(service.clients[0].served > 9'900);
    CHECK(service.clients[0].served < 10'200);
    CHECK(service.clients[1].served > 88'000);
    CHECK(service.stats(0).blocked_ns[0] > 700'000 * kUs);
}

TEST_CASE("window: a flow that is kept from it leaves it to others, and enters again when it may") {
    Service service(8, kUs, {{.promised = {}, .tokens = 4}, {.promised = {}, .tokens = 1}});
    service.run(1000 * kUs);
    service.bar(0, true);
    service.bar(0, true);
    service.run(1100 * kUs);  // its requests there are done
    const std::uint64_t before = service.clients[0].served;
    const std::uint64_t other = service.clients[1].served;
    service.run(2100 * kUs);
    CHECK(service.clients[0].served == before);
    CHECK(service.clients[1].served - other >= 990);
    service.bar(0, false);
    service.run(3100 * kUs);
    CHECK(service.clients[0].served - before >= 400);
    CHECK(service.idle < 10 * kUs);
}

TEST_CASE("window: one that closes gives its place to others, one that is widened is used at once") {
    TimingWheel wheel(4);
    ApplianceGate gate({.flows = 4, .wheel = &wheel});
    gate.set_window(2);
    for (VnicId flow = 0; flow < 3; ++flow)
        gate.open(flow, {}, 0);
    CHECK(gate.has_room(2));
    gate.enter(0, 2, 0);
    CHECK_FALSE(gate.has_room(1));
    CHECK(gate.announce(1, 2, 0));
    CHECK(gate.announce(2, 1, 0));
    CHECK_FALSE(gate.next(0));  // the first in turn is chosen, and does not fit
    gate.close(1, 0);
    gate.set_window(3);
    const auto grant = gate.next(0);
    REQUIRE(grant);
    CHECK(grant->flow == 2);
    CHECK(grant->tokens == 1);
    CHECK(gate.outstanding() == 3);
    CHECK_FALSE(gate.contended());
    gate.finish(3);
    gate.close(2, 0);
    gate.close(0, 0);
}

TEST_CASE("property: any mix of sizes, shares and depths keeps the window and gets its shares", "[long]") {
    std::mt19937 random(GENERATE(range(0U, 12U)));
    const auto draw = [&](unsigned least, unsigned most) {
        return least + static_cast<unsigned>(random() % (most - least + 1));
    };
    std::vector<Service::Client> mix(draw(2, 6));
    double shares = 0;
    for (Service::Client& client : mix) {
        client.promised.shares = draw(1, 8) * 50;
        client.tokens = draw(1, 40);
        client.depth = draw(4, 40);
        shares += client.promised.shares;
    }
    const std::uint64_t window = draw(50, 400);
    Service service(window, 2 * kUs, mix);
    service.run(1'000'000 * kUs);
    INFO("window " << window);
    for (std::size_t i = 0; i < mix.size(); ++i) {
        INFO("client " << i << ": " << mix[i].tokens << " tokens, depth " << mix[i].depth << ", shares "
                       << mix[i].promised.shares << " of " << shares);
        CHECK(service.share(i) > 0.93 * mix[i].promised.shares / shares);
        CHECK(service.share(i) < 1.07 * mix[i].promised.shares / shares);
    }
    CHECK(service.idle < 1'000 * kUs);
}
