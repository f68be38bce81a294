// metrics_endpoint_test.cc - pages of snapshots that an owner makes on demand, or publishes at its own times.
#include "common/http/metrics_endpoint.h"

#include <optional>
#include <thread>

#include "common/metrics/snapshot_board.h"
#include "test/common/http/http_client.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr metrics::Family kNumber{"weir_number", metrics::Type::kGauge, "", "Number of the snapshot"};

/// A program with a thread that serves the desk, as the agent does.
struct MeasuredProgram {
    metrics::SnapshotDesk<int> desk;
    Listener listener;
    int made = 0;
    std::atomic<int> rendered{0};
    std::atomic<bool> stop{false};
    std::optional<MetricsEndpoint<int>> endpoint;
    std::thread owner;

    explicit MeasuredProgram(bool is_alive = true) {
        endpoint.emplace(listener.descriptor, desk, [this](const int& number, metrics::Exposition& page) {
            ++rendered;
            page.begin(kNumber);
            page.add("", static_cast<std::uint64_t>(number));
        });
        if (is_alive)
            owner = std::thread([this] {
                while (!stop) {
                    const auto now = std::chrono::steady_clock::now().time_since_epoch();
                    desk.serve(static_cast<Nanos>(now.count()), [this] { return ++made; });
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            });
    }
    ~MeasuredProgram() {
        stop = true;
        if (owner.joinable())
            owner.join();
    }
    std::string get(const std::string& path, const std::string& headers = "") {
        return HttpClient(listener.port).get(path, headers).receive();
    }
    std::string answer_to(const std::string& method, const std::string& headers = "") {
        return HttpClient(listener.port)
            .send(method + " /metrics HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n")
            .receive();
    }
};

}  // namespace

TEST_CASE("a page has the program's families and the endpoint's own, in the format that the scraper takes") {
    MeasuredProgram program;
    const std::string text = program.get("/metrics");
    CHECK(has(text, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    CHECK(has(text, "\nweir_number 1\n"));
    CHECK(has(text, "\nweir_metrics_connections_total{outcome=\"answered\"} "));
    const std::string open =
        program.get("/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    CHECK(has(open, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    CHECK(open.ends_with("# EOF\n"));
    CHECK(program.get("/healthz").ends_with("\r\n\r\nok\n"));
}

TEST_CASE("many scrapers share a snapshot and its text") {
    MeasuredProgram program;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i)
        CHECK(has(program.get("/metrics"), " 200 OK"));
    const auto halves = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(500);
    CHECK(program.rendered <= halves + 1);
}

TEST_CASE("a program that stands still is reported, and the scraper does not wait for long") {
    MeasuredProgram program(false);
    CHECK(has(program.get("/metrics"), " 503 "));
    CHECK(has(program.get("/healthz"), " 503 "));
}

TEST_CASE("other pages and methods are refused, and a body is not read") {
    MeasuredProgram program;
    CHECK(program.get("/").starts_with("HTTP/1.1 404 "));
    CHECK(program.get("/../etc/passwd").starts_with("HTTP/1.1 404 "));
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"})
        CHECK(program.answer_to(std::string(method), "Content-Length: 9\r\n").starts_with("HTTP/1.1 405 "));
    const std::string head = program.answer_to("HEAD");
    CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(head.ends_with("\r\n\r\n"));
    CHECK(program.answer_to("GET", "Content-Length: 9\r\n").starts_with("HTTP/1.1 200 "));
    CHECK(has(program.get("/metrics"), "{outcome=\"refused\"} 7\n"));
}

TEST_CASE(
    "pages of a program that publishes at its own times have its latest snapshot, as long as it lasts") {
    metrics::SnapshotBoard<int> board;
    Listener listener;
    const MetricsEndpoint<int, metrics::SnapshotBoard<int>> endpoint(
        listener.descriptor, board, [](const int& number, metrics::Exposition& page) {
            page.begin(kNumber);
            page.add("", static_cast<std::uint64_t>(number));
        });
    const auto get = [&](const std::string& path) {
        return HttpClient(listener.port).get(path, "").receive();
    };
    const auto now = static_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch().count());
    CHECK(has(get("/healthz"), " 503 "));
    board.publish(now + kNanosPerSec, 1);
    CHECK(has(get("/metrics"), "\nweir_number 1\n"));
    board.publish(now + kNanosPerSec, 2);
    const std::string second = get("/metrics");
    CHECK(has(second, "\nweir_number 2\n"));
    CHECK(has(second, "{outcome=\"answered\"} 2\n"));  // before it
    CHECK(has(get("/healthz"), " 200 "));
    board.publish(now - metrics::SnapshotBoard<int>::kLasts, 3);
    CHECK(has(get("/metrics"), " 503 "));
}
