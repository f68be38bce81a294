// http_service_test.cc - a page, malformed and large requests, and clients that never end theirs, with the
// limits of the metrics.
#include "common/http/http_service.h"

#include <sys/resource.h>

#include <vector>

#include "common/error.h"
#include "common/http/listen.h"
#include "common/http/metrics_endpoint.h"
#include "test/common/http/http_client.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::string_view kHeadWithBody = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";

struct OnePage final : HttpService::Handler {
    std::atomic<std::uint64_t> bodies{0};  ///< requests whose bodies may come
    std::atomic<std::uint64_t> served{0};  ///< with a whole body

    HttpService::Page judge(const HttpRequest& request) override {
        if (request.method == "POST") {
            ++bodies;
            return nullptr;
        }
        return std::make_shared<HttpPage>(request.path == "/metrics" ? 200 : 404, "text/plain; version=0.0.4",
                                          "accepts " + std::string(request.header("accept")) + "\n");
    }
    HttpService::Page serve(HttpService& /*service*/, const HttpRequest& request) override {
        ++served;
        return std::make_shared<HttpPage>(200, "text/plain", std::to_string(request.body.size()));
    }
};

struct ServedPort {
    HttpService::Limits limits = kMetricsLimits;
    Listener listener{};
    OnePage pages{};
    HttpService service{listener.descriptor, limits, {}, pages};

    HttpClient client() { return HttpClient(listener.port); }
    std::string page() { return client().get("/metrics").receive(); }
    bool reaches(const std::atomic<std::uint64_t>& counter, std::uint64_t value) {
        return testing::until([&] { return counter.load() == value; });
    }
};

void open_many_files() {
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

std::size_t files_max() {
    rlimit limit{};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

TEST_CASE("a page is sent with its type and the connection is closed") {
    ServedPort port;
    const std::string answer = port.client().get("/metrics?debug=1", "Accept: text/plain\r\n").receive();
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(has(answer, "Content-Type: text/plain; version=0.0.4\r\n"));
    CHECK(has(answer, "Connection: close\r\n"));
    CHECK(answer.ends_with("\r\n\r\naccepts text/plain\n"));
    CHECK(port.reaches(port.service.counters().open, 0));
}

TEST_CASE("escapes of characters are read, and those of NUL and of a slash change no path") {
    ServedPort port;
    CHECK(port.client().get("/m%65trics").receive().starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(port.client().get("/metric%73?a=%41%zz%").receive().starts_with("HTTP/1.1 200 OK\r\n"));
    for (const char* path :
         {"/metrics%00x", "/metrics%00", "%2Fmetrics", "/metrics%2F", "/%2e%2e%2fmetrics", "/metrics%"})
        CHECK_FALSE(has(port.client().get(path).receive(), " 200 OK"));
}

TEST_CASE("malformed and oversized requests end their own connection alone") {
    ServedPort port;
    HttpClient waiting = port.client();
    waiting.send("GET /metrics HT");
    const std::string long_line(2 * kMetricsLimits.head_bytes, 'a');
    std::vector<HttpClient> broken;
    for (const std::string& request :
         {std::string("\r\n\r\n\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8), std::string("GET\r\n\r\n"),
          std::string("GET /metrics HTTP/1.1\r\n\r\n"),  // without Host
          std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), "GET /" + long_line,
          "GET /metrics HTTP/1.1\r\nX: " + long_line + "\r\n\r\n"})
        broken.push_back(std::move(port.client().send(request)));
    waiting.send("TP/1.1\r\nHost: x\r\n\r\n");
    CHECK(waiting.receive().starts_with("HTTP/1.1 200 OK\r\n"));
    for (HttpClient& each : broken)
        CHECK_FALSE(has(each.receive(), " 200 OK"));
}

TEST_CASE("a body that the head does not announce is not read: no byte of it is kept") {
    ServedPort port;
    const std::string much(1 << 20, 'x');
    for (const char* header :
         {"Transfer-Encoding:", "Transfer-Encoding: chunked", "transfer-encoding: identity",
          "Transfer-Encoding : chunked", "Transfer-Encoding:\r\n chunked", "Content-Length: +5",
          "Content-Length: 5\r\nContent-Length: 1048576", "Content-Length: 1, 1048576",
          "Content-Length: 5\r\nTransfer-Encoding: chunked"})
        for (const char* method : {"GET", "POST"}) {
            CAPTURE(header, method);
            HttpClient client = port.client();
            client.send(std::string(method) + " /other HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n");
            client.send(much);
            CHECK_FALSE(has(client.receive(), " 200 OK"));
        }
    CHECK(port.pages.served == 0);
    const std::string answer =
        port.client().send("POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\r\n").receive();
    CHECK(answer.starts_with("HTTP/1.1 411 "));
    CHECK(has(answer, "Transfer-Encoding: found '', allowed: Content-Length alone\n"));
    CHECK(
        port.client().send(std::string(kHeadWithBody) + "123456789").receive().starts_with("HTTP/1.1 200 "));
    CHECK(port.pages.served == 1);
}

TEST_CASE("ten thousand clients that never end their request do not keep another one waiting") {
    open_many_files();
    ServedPort port;
    const std::size_t count = std::min<std::size_t>(10'000, files_max() - 500);
    std::vector<HttpClient> slow;
    for (std::size_t i = 0; i < count; ++i) {
        slow.push_back(port.client());
        slow.back().send("GET /metrics HTTP/1.1\r\nX-Slow: ");
        if (i % 1'000 == 0)
            CHECK(has(port.page(), "200 OK"));
    }
    CHECK(has(port.page(), "200 OK"));
    const HttpServiceCounters& counters = port.service.counters();
    CHECK(counters.open <= kMetricsLimits.connections + 64);
    CHECK(counters.displaced + counters.expired + counters.open >= count);
}

TEST_CASE("a client that sends a byte now and then is ended after five seconds") {
    ServedPort port;
    const auto begin = std::chrono::steady_clock::now();
    HttpClient drip = port.client();
    drip.send("GET /metrics HTTP/1.1\r\nX: ");
    CHECK(testing::until([&] { return drip.has_input(std::chrono::milliseconds(50)); },
                         [&] { drip.send("a"); }));
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(5));
    CHECK(port.reaches(port.service.counters().expired, 1));
    CHECK_FALSE(has(drip.receive(), "200 OK"));
    CHECK(has(port.page(), "200 OK"));
}

TEST_CASE("where both places have requests, accounts decide whether the oldest or the newest client goes") {
    HttpService::Limits limits = kMetricsLimits;
    limits.connections = 2;
    limits.body = limits.life = limits.stall = std::chrono::hours(1);
    limits.has_accounts = GENERATE(false, true);
    ServedPort port{.limits = limits};
    std::vector<HttpClient> busy;
    for (std::uint64_t i = 1; i <= 2; ++i) {
        busy.push_back(std::move(port.client().send(kHeadWithBody)));
        REQUIRE(port.reaches(port.pages.bodies, i));
    }
    HttpClient newcomer = port.client();
    REQUIRE(port.reaches(
        limits.has_accounts ? port.service.counters().surplus : port.service.counters().displaced, 1));
    CHECK((limits.has_accounts ? newcomer : busy.front()).receive().empty());
    if (!limits.has_accounts) {
        CHECK(has(port.page(), "200 OK"));
        CHECK(newcomer.receive().empty());  // it had no request
        CHECK_FALSE(busy.back().has_input(std::chrono::milliseconds(0)));
    }
}

TEST_CASE("a server that stops ends its connections") {
    auto port = std::make_unique<ServedPort>();
    HttpClient waiting = port->client();
    REQUIRE(port->reaches(port->service.counters().open, 1));
    port.reset();
    CHECK(waiting.receive().empty());
}

TEST_CASE("an address on which the server cannot listen is named with the remedy") {
    const Listener taken;
    const std::string address = "127.0.0.1:" + std::to_string(taken.port);
    CHECK_THROWS_WITH(listen_on(address, "metrics.listen"),
                      Catch::Matchers::StartsWith("metrics.listen: cannot listen on " + address +
                                                  " (Address already in use)"));
    CHECK_THROWS_AS(listen_on("192.0.2.77:9417", "metrics.listen"), HostError);
    close(taken.descriptor);
    const int six = listen_on("[::1]:" + std::to_string(taken.port), "metrics.listen");
    CHECK(six >= 0);
    close(six);
}
