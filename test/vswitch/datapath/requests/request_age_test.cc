// request_age_test.cc - how long a request holds the appliance's window when its response is late or never
// comes.
#include <algorithm>
#include <string>
#include <string_view>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/requests/request_host.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// A Redis command in the layout of its protocol.
std::string redis(std::string_view words) {
    std::string arguments;
    unsigned count = 0;
    while (!words.empty()) {
        const std::string word(words.substr(0, words.find(' ')));
        words.remove_prefix(std::min(words.size(), word.size() + 1));
        arguments += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        ++count;
    }
    return "*" + std::to_string(count) + "\r\n" + arguments;
}

const std::string kGet = redis("GET k");
const std::string kNothing = "$-1\r\n";
constexpr std::uint64_t kGetTokens = 25;  // 20 bytes, and as much as the last response had
constexpr std::uint64_t kTenGets = 10 * kGetTokens;
constexpr std::uint32_t kSecond = 21;  // sequence number behind the first GET

/// VMs 1 (A) and 2 (B), and a store. Each has 39 connections that have sent nothing yet, and one that has
/// sent a GET, so that the size of its response is known.
struct Two {
    explicit Two(std::uint64_t window, const char* protocol = "redis")
        : host(vm_with({}), window, protocol), a(host.vm) {
        b = host.host.add(vm_with({}, {}, 2));
        for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}})
            for (std::uint16_t port = 5000; port < 5040; ++port) {
                offer(number, port, 0, {}, kSyn);
                host.answer(port, 0, {}, kSyn | kAck, number);
            }
        if (std::string_view(protocol) == "redis")
            for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
                offer(number, 5039, 1, text(kGet));
                answer(number, 39, 40, kNothing);
            }
        (void)host.left();
    }
    void offer(std::uint8_t number, std::uint16_t port, std::uint32_t seq, const FrameBytes& payload,
               std::uint8_t flags = kAck) {
        host.host.port(number == 1 ? a : b)
            .offered.push_back(segment(true, port, seq, payload, flags, 0, number));
        host.host.settle();
    }
    /// One request on each of the connections [first, end). @return those that left at once
    std::size_t ask(std::uint8_t number, unsigned first, unsigned end, const std::string& request,
                    std::uint32_t seq = 1) {
        (void)host.left();
        for (unsigned at = first; at < end; ++at)
            offer(number, static_cast<std::uint16_t>(5000 + at), seq, text(request));
        return host.left().size();
    }
    void answer(std::uint8_t number, unsigned first, unsigned end, const std::string& response,
                std::uint32_t seq = 1) {
        for (unsigned at = first; at < end; ++at)
            host.answer(static_cast<std::uint16_t>(5000 + at), seq, text(response), kAck, number);
    }
    RequestFlowStats of_a() { return host.flow(a); }
    RequestFlowStats of_b() { return host.flow(b); }
    /// Housekeeping, which gives tokens back, is done every 0.5 ms, or every 5 ms of a long time.
    void run(Nanos duration) { host.host.run(duration, duration < 50 * kMs ? 2'000 : 20'000); }

    RequestHost host;
    VnicId a;
    VnicId b;
};

}  // namespace

TEST_CASE("twelve requests that wait on purpose do not hold the window of another VM") {
    for (const char* const words :
         {"BLPOP nothing 0", "brpop nothing 0", "BLMOVE a b LEFT LEFT 0", "BRPOPLPUSH a b 0",
          "BLMPOP 0 1 k LEFT", "BZPOPMIN nothing 0", "BZPOPMAX nothing 0", "BZMPOP 0 1 k MIN",
          "XREAD BLOCK 0 STREAMS s $", "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "WAIT 1 0",
          "WAITAOF 1 0 0"}) {
        INFO(words);
        Two two(kTenGets);
        two.ask(1, 0, 12, redis(words));
        two.run(40 * kMs);
        CHECK(two.of_a().held == 0);
        CHECK(two.of_a().outstanding == 12);
        CHECK(two.of_a().outstanding_tokens == 0);
        CHECK(two.ask(2, 0, 10, kGet) == 10);
        two.answer(2, 0, 10, kNothing);
        // A late response is not counted twice: the window has room for as much as before, and no more.
        two.answer(1, 0, 12, "*-1\r\n");
        CHECK(two.of_a().outstanding == 0);
        CHECK(two.of_a().responses == 13);
        CHECK(two.of_a().latency_max == 0);
        CHECK(two.ask(2, 10, 30, kGet) == 10);
        CHECK(two.of_b().outstanding_tokens == kTenGets);
    }
}

TEST_CASE("a request that waits on purpose holds its tokens as long as an answer takes, not less") {
    Two two(kTenGets);
    CHECK(two.ask(1, 0, 10, redis("WAIT 1 0")) == 8);  // 28 bytes each
    CHECK(two.ask(2, 0, 1, kGet) == 0);
    two.run(4 * kMs);
    CHECK(two.of_b().held == 0);
    CHECK(two.of_a().held == 0);
}

TEST_CASE(
    "requests without a response for 200 ms leave the window to others, and hold their own flow's part") {
    Two two(kTenGets);
    CHECK(two.ask(1, 0, 12, kGet) == 10);
    CHECK(two.ask(2, 0, 1, kGet) == 0);
    two.run(90 * kMs);
    CHECK(two.of_b().held == 1);
    CHECK(two.of_a().overdue_tokens == 0);
    two.run(130 * kMs);
    CHECK(two.of_b().held == 0);
    CHECK(two.of_a().held == 2);
    CHECK(two.of_a().overdue_tokens == kTenGets);
    CHECK(two.of_a().outstanding_tokens == kTenGets);
    two.answer(2, 0, 1, kNothing);
    CHECK(two.ask(2, 1, 12, kGet) == 10);  // B has the whole window now
    two.answer(2, 1, 12, kNothing);
    CHECK(two.of_b().outstanding_tokens == 0);
    // A's part is five requests: with four overdue it sends again, and no answer returns tokens twice.
    two.answer(1, 0, 5, kNothing);
    two.run(kMs);
    CHECK(two.of_a().held == 2);
    two.answer(1, 5, 6, kNothing);
    two.run(kMs);
    CHECK(two.of_a().held == 0);
    CHECK(two.of_a().overdue_tokens == 4 * kGetTokens);
    CHECK(two.of_a().outstanding_tokens == 6 * kGetTokens);
    two.answer(1, 6, 12, kNothing);
    CHECK(two.of_a().outstanding_tokens == 0);
    CHECK(two.of_a().overdue_tokens == 0);
    CHECK(two.ask(2, 12, 30, kGet) == 10);
    CHECK(balanced(two.host.host.stats(two.a).from_vm));
    CHECK(balanced(two.host.host.stats(two.b).from_vm));
}

TEST_CASE("a write whose data do not come is overdue like a request without a response") {
    const std::string set = "set k 0 0 2000\r\n";
    Two two(1'000, "memcached");
    CHECK(two.ask(1, 0, 1, set) == 1);
    CHECK(two.ask(2, 0, 3, "get k\r\n") == 0);
    two.run(220 * kMs);
    CHECK(two.of_b().held == 0);
    CHECK(two.of_a().overdue_tokens > 2'000);
    CHECK(two.ask(1, 1, 2, "get k\r\n") == 0);  // it is more than A's part
    const auto begin = static_cast<std::uint32_t>(1 + set.size());
    CHECK(two.ask(1, 0, 1, std::string(1'000, 'x'), begin) == 1);
    CHECK(two.ask(1, 0, 1, std::string(1'000, 'x') + "\r\n", begin + 1'000) == 1);
    two.answer(1, 0, 1, "STORED\r\n");
    CHECK(two.of_a().overdue_tokens == 0);
    two.run(kMs);
    CHECK(two.of_a().held == 0);
}

TEST_CASE("a client that resets the connections of overdue requests gains no more of the store with it") {
    Two two(kTenGets);
    CHECK(two.ask(1, 0, 10, kGet) == 10);
    two.run(220 * kMs);
    CHECK(two.of_a().overdue_tokens == kTenGets);
    for (std::uint16_t port = 5000; port < 5010; ++port)
        two.offer(1, port, kSecond, {}, kRst);
    CHECK(two.of_a().overdue_tokens == 0);
    CHECK(two.of_a().outstanding_tokens == kTenGets);
    CHECK(two.ask(1, 20, 21, kGet) == 0);
    two.run(4 * kMs);
    CHECK(two.host.left().size() == 1);
    CHECK(two.of_a().outstanding_tokens == kGetTokens);
}

TEST_CASE("a vNIC leaves with requests of every age, and its successor begins with none") {
    Two two(kTenGets);
    CHECK(two.ask(1, 0, 4, kGet) == 4);
    two.run(220 * kMs);
    CHECK(two.of_a().overdue_tokens == 4 * kGetTokens);
    CHECK(two.ask(1, 0, 3, redis("BLPOP q 0"), kSecond) == 3);
    CHECK(two.ask(1, 10, 11, kGet) == 1);
    two.offer(1, 5010, kSecond, {}, kRst);
    two.host.host.remove(two.a);
    two.host.host.add_again(two.a, vm_with({}));
    two.run(300 * kMs);
    CHECK(two.of_a().outstanding_tokens == 0);
    CHECK(two.of_a().overdue_tokens == 0);
    CHECK(two.ask(2, 0, 12, kGet) == 10);
}

TEST_CASE("overdue and outstanding requests of one flow together hold no more than the window") {
    Two two(kTenGets);
    two.host.host.remove(two.b);  // A's part is the whole window
    CHECK(two.ask(1, 0, 10, kGet) == 10);
    two.run(220 * kMs);
    CHECK(two.of_a().overdue_tokens == kTenGets);
    CHECK(two.ask(1, 10, 15, kGet) == 0);
    two.answer(1, 0, 2, kNothing);
    two.run(kMs);
    CHECK(two.of_a().held == 3);
    CHECK(two.of_a().overdue_tokens == 8 * kGetTokens);
    CHECK(two.of_a().outstanding_tokens == kTenGets);
}

TEST_CASE("without a window late requests are reported alike and hold no others") {
    Two two(UINT64_MAX);
    CHECK(two.ask(1, 0, 12, kGet) == 12);
    two.run(220 * kMs);
    CHECK(two.of_a().overdue_tokens == 12 * kGetTokens);
    CHECK(two.of_a().outstanding_tokens == 12 * kGetTokens);
    CHECK(two.ask(1, 0, 12, kGet, kSecond) == 12);
}
