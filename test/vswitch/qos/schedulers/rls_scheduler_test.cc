// rls_scheduler_test.cc - mClock's tags: the oracles M1 to M4, changes that count at once, the heap of tags.
// The properties of every policy are in scheduler_property_test.cc.
#include "vswitch/qos/schedulers/rls_scheduler.h"

#include <string>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/vswitch/qos/schedulers/link_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// A server of so many requests per second, one at a time, as an appliance's gate asks: there is always room
/// for one. A request is 1000 tokens; a client's rates are in requests/s.
class Server {
  public:
    struct Client {
        std::uint64_t reservation;
        std::uint32_t shares;
        std::uint64_t limit;  ///< 0 = none
        bool busy = true;
    };

    explicit Server(const std::vector<Client>& clients)
        : busy(clients.size()),
          limits(static_cast<std::uint32_t>(clients.size())),
          limiters(clients.size()),
          tags({.classes = clients.size(), .queue_packets = 4, .wheel = &limits}) {
        tags.set_capacity(UINT64_MAX, 0);
        for (std::size_t i = 0; i < clients.size(); ++i) {
            busy[i] = clients[i].busy;
            // The burst is one request, and the tokens of the 10 ms by which a service may be late: mClock's
            // limit tags run on meanwhile.
            if (clients[i].limit != 0)
                limiters[i].set_profiles(
                    make_profile(clients[i].limit * kRequest, kRequest + clients[i].limit * 10),
                    unlimited_profile(), 0);
            tags.add(static_cast<VnicId>(i), profile(clients[i].reservation, clients[i].shares), &limiters[i],
                     0);
        }
    }
    static ClassProfile profile(std::uint64_t reservation, std::uint32_t shares) {
        return {.reservation = reservation * kRequest, .reservation_burst = 4 * kRequest, .shares = shares};
    }

    /// The classes that are served, in order: A, B, ...
    std::string serve(Nanos duration, std::uint64_t per_second) {
        std::string order;
        for (const Nanos end = now + duration; now < end; now += kNanosPerSec / per_second) {
            for (std::size_t i = 0; i < busy.size(); ++i)
                while (busy[i] && tags.backlog_packets(static_cast<VnicId>(i)) < 2)
                    REQUIRE(tags.enqueue(static_cast<VnicId>(i), {&busy[i], now, kRequest, 1, 1}, now));
            limits.advance(now, 1000, [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids)
                    tags.wake(static_cast<VnicId>(id), now);
            });
            std::array<PacketRef, 1> out;
            if (tags.dequeue_burst(now, out) == 1)
                order += static_cast<char>('A' + (static_cast<char*>(out[0].packet) - busy.data()));
        }
        return order;
    }
    /// How many of the served requests are of each client: A, B, C.
    static std::vector<long> counts(const std::string& order) {
        return {std::ranges::count(order, 'A'), std::ranges::count(order, 'B'),
                std::ranges::count(order, 'C')};
    }

    static constexpr std::uint32_t kRequest = 1000;
    Nanos now = 0;
    std::vector<char> busy;
    TimingWheel limits;
    std::vector<Limiter> limiters;
    RlsScheduler tags;
};

LinkHarness rls(std::uint64_t capacity, std::vector<Source> sources) {
    return LinkHarness(capacity, std::move(sources), "rls");
}

using Counts = std::vector<long>;

}  // namespace

TEST_CASE("100 requests/s, A(r20,w1) B(w2,l40) C(w1) get 30, 40, 30, in mClock's order") {
    Server server({{20, 1, 0}, {0, 2, 40}, {0, 1, 0}});
    const std::string order = server.serve(kNanosPerSec, 100);
    CHECK(order.substr(0, 16) == "ABCBAABCBCABCBAA");
    CHECK(Server::counts(order) == Counts{30, 40, 30});
}

TEST_CASE("with a reservation of 60 A gets it, B and C the rest by shares: 60, 27, 13") {
    Server server({{60, 1, 0}, {0, 2, 40}, {0, 1, 0}});
    CHECK(Server::counts(server.serve(kNanosPerSec, 100)) == Counts{60, 27, 13});
}

TEST_CASE("over-booked at 50 requests/s: 50, 0, 0") {
    Server server({{60, 1, 0}, {0, 2, 40}, {0, 1, 0}});
    CHECK(Server::counts(server.serve(kNanosPerSec, 50)) == Counts{50, 0, 0});
}

TEST_CASE(
    "a class that took what a limit left over is not behind one that comes later: 15, 20, 15 from there on") {
    Server server({{20, 1, 0}, {0, 2, 40}, {0, 1, 0, false}});
    CHECK(Server::counts(server.serve(kNanosPerSec / 2, 100)) == Counts{30, 20, 0});
    server.busy[2] = true;
    for (int i = 0; i < 3; ++i)
        CHECK(Server::counts(server.serve(kNanosPerSec / 2, 100)) == Counts{15, 20, 15});
}

TEST_CASE("a reservation that is given up leaves no debt: shares count from the next burst on") {
    Server server({{90, 1, 0}, {0, 1, 0}});
    CHECK(Server::counts(server.serve(10 * kNanosPerSec, 100)) == Counts{900, 100, 0});
    server.tags.change(0, Server::profile(0, 1), server.now);
    const Counts counts = Server::counts(server.serve(kNanosPerSec, 100));
    CHECK(counts[0] >= 47);  // four requests behind at most
    CHECK(counts[0] <= 50);
}

TEST_CASE(
    "a reservation that is raised counts from the next packet on, not when the old rate would have paid") {
    Server server({{1, 1, 0}, {0, 10'000, 0}});
    static_cast<void>(server.serve(2 * kNanosPerSec, 100));
    server.tags.change(0, Server::profile(50, 1), server.now);
    CHECK(Server::counts(server.serve(kNanosPerSec, 100))[0] == Approx(50).margin(1));
    server.tags.change(0, Server::profile(0, 1), server.now);
    server.tags.change(1, Server::profile(0, 1), server.now);
    CHECK(Server::counts(server.serve(kNanosPerSec, 100))[0] == Approx(50).margin(4));
}

TEST_CASE("service by shares does not use up a reservation") {
    LinkHarness h = rls(
        kGbit, {{.profile = {.reservation = 400 * kMbit}}, {.profile = {.shares = 10'000}, .greedy = false}});
    h.run(100 * kMs, kUs);  // alone: two and a half times its reservation
    h.sources[1].greedy = true;
    h.forget();
    h.run(kMs, kUs);
    CHECK(h.rate(0) >= 0.98 * 400 * kMbit);
}

TEST_CASE("a frame of more than a reservation's burst is paid in full") {
    LinkHarness h = rls(kGbit, {{.profile = {.reservation = 10 * kMbit, .shares = 1}, .frame = 66'000},
                                {.profile = {.shares = 10'000}}});
    h.run(kNanosPerSec, 10 * kUs);
    h.forget();
    h.run(5 * kNanosPerSec, 10 * kUs);
    CHECK(h.rate(0) / (10 * kMbit) == Approx(1).epsilon(0.05));
}

TEST_CASE("shares 1:10000 and super-frames divide exactly") {
    LinkHarness h = rls(10 * kGbit, {{.profile = {.shares = 1}, .frame = 66'000},
                                     {.profile = {.shares = 1}, .frame = 88},
                                     {.profile = {.shares = 9998}}});
    h.run(2 * kNanosPerSec, 10 * kUs);
    CHECK(h.rate(1) / h.rate(2) == Approx(1.0 / 9998).epsilon(0.02));
    h.sources[2].greedy = false;
    h.run(kMs, 10 * kUs);
    h.forget();
    h.run(100 * kMs, 10 * kUs);
    CHECK(h.rate(0) / h.rate(1) == Approx(1).epsilon(0.01));
}

TEST_CASE("virtual time that runs over is moved back unseen") {
    // One share's byte is 2^25 of virtual time, so 2^62 are 137 GB: requests of 2 GB get there soon.
    TimingWheel limits(2);
    RlsScheduler link({.classes = 2, .queue_packets = 4, .wheel = &limits});
    link.set_capacity(UINT64_MAX, 0);
    std::array<int, 2> served{};
    for (VnicId id = 0; id < 2; ++id)
        link.add(id, {.shares = static_cast<std::uint32_t>(id) + 1}, nullptr, 0);
    for (int i = 0; i < 3000; ++i) {
        for (VnicId id = 0; id < 2; ++id)
            while (link.backlog_packets(id) < 2)
                REQUIRE(link.enqueue(id, {&served[id], 0, 2'000'000'000, 1, 1}, 0));
        std::array<PacketRef, 1> out;
        REQUIRE(link.dequeue_burst(0, out) == 1);
        ++*static_cast<int*>(out[0].packet);
    }
    CHECK(served[0] == Approx(1000).margin(2));
    CHECK(served[1] == Approx(2000).margin(2));
}

TEST_CASE("what went past the queues uses up a reservation, one burst of it at most") {
    LinkHarness h = rls(kGbit, {{.profile = {.reservation = kGbit / 10, .shares = 1}, .greedy = false},
                                {.profile = {.shares = 10'000}, .greedy = false}});
    h.run_past(0, 4000, 13'672);  // 0.9 Gbit/s
    h.sources[0].greedy = h.sources[1].greedy = true;
    h.forget();
    h.run(4 * kMs, kUs);
    CHECK(h.sources[0].sent < 15'000);
    h.run(20 * kMs, kUs);
    h.forget();
    h.run(100 * kMs, kUs);
    CHECK(h.rate(0) / kGbit == Approx(0.1).epsilon(0.02));
}

TEST_CASE("property: a heap of tags gives the least, equal ones by number, whatever was put and raised") {
    weir::testing::Random32 random(613);
    for (int trial = 0; trial < 50; ++trial) {
        const std::size_t ids = 1 + random() % 100;
        TagHeap heap(ids);
        std::vector<std::uint64_t> tags(ids, UINT64_MAX);  // UINT64_MAX: not in
        for (int step = 0; step < 500; ++step) {
            const auto id = static_cast<VnicId>(random() % ids);
            const std::uint64_t tag = std::uint64_t{random() % 64} << TagHeap::kIdBits;
            if (random() % 3 != 0) {
                heap.put(id, tag);
                tags[id] = std::min(tags[id], tag);
            } else if (!heap.empty()) {
                const VnicId top = heap.top();
                if (random() % 2 == 0) {
                    heap.raise_top(tags[top] + tag);
                    tags[top] += tag;
                } else {
                    heap.pop();
                    tags[top] = UINT64_MAX;
                }
            }
            const auto least = std::ranges::min_element(tags);
            REQUIRE(heap.empty() == (*least == UINT64_MAX));
            if (!heap.empty()) {
                REQUIRE(heap.top() == least - tags.begin());
                REQUIRE(heap.top_tag() == *least);
                REQUIRE(heap.is_top(heap.top(), *least + 4095));
            }
        }
        heap.clear();
        REQUIRE(heap.empty());
        heap.put(0, 5);
        REQUIRE(heap.top() == 0);
    }
}
