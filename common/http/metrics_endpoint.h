// metrics_endpoint.h - the pages /metrics and /healthz of a program: one text for each snapshot and format.
// Source: OpenMetrics 1.0. Units: as of the families.
// Threads: made and destroyed by any one thread; render() is called on the HTTP service's own.
//
//   metrics::SnapshotDesk<SwitchReport> desk;      // the agent serves it
//   const int listener = listen_on("127.0.0.1:9417", kMetricsListen);
//   const MetricsEndpoint<SwitchReport> endpoint(listener, desk, write_switch_metrics);
//
// Scrapers share a snapshot while it is the latest, and one text of it: however many there are, the program
// writes two pages a second at most in each format. The snapshots come from a SnapshotDesk or a
// SnapshotBoard.
#pragma once

#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/http/http_service.h"
#include "common/metrics/exposition.h"
#include "common/metrics/labels.h"
#include "common/metrics/snapshot_desk.h"

namespace weir {

/// The key of the address, in faults.
inline constexpr const char* kMetricsListen = "metrics.listen";

inline constexpr metrics::Family kConnectionsFamily{
    "weir_metrics_connections", metrics::Type::kCounter, "",
    "Connections to this page: answered, refused, displaced by newer ones, expired after 5 s"};

/// docs/metrics.md has these numbers.
inline constexpr HttpService::Limits kMetricsLimits{.connections = 64,
                                                    .connections_of_address = 64,
                                                    .head_bytes = std::size_t{8} * 1024,
                                                    .head = std::chrono::seconds(5),
                                                    .body = std::chrono::seconds(5),
                                                    .answer = std::chrono::seconds(5),
                                                    .idle = std::chrono::seconds(5),
                                                    .stall = std::chrono::seconds(5),
                                                    .life = std::chrono::seconds(5),
                                                    .has_accounts = false,
                                                    .nice_steps = 10};

/// @tparam Desk has read() as of SnapshotDesk
template <typename T, typename Desk = metrics::SnapshotDesk<T>>
class MetricsEndpoint final : public HttpService::Handler {
  public:
    /// Writes all families of a snapshot.
    using Render = std::function<void(const T& snapshot, metrics::Exposition& page)>;

    /// @param listener as of listen_on() @param desk outlives this @throws HostError
    MetricsEndpoint(int listener, Desk& desk, Render render)
        : desk_(desk), render_(std::move(render)), service_(listener, kMetricsLimits, {}, *this) {}

    /// No request has a body: the head is answered.
    HttpService::Page judge(const HttpRequest& request) override {
        const bool is_read = request.method == "GET" || request.method == "HEAD";
        const bool is_page = request.path == "/metrics" || request.path == "/healthz";
        if (is_read && is_page) {
            Page answer = page_of(request);
            ++answered_;
            return answer;
        }
        ++refused_;
        return is_read ? no_page_ : no_method_;
    }

  private:
    using Page = HttpService::Page;
    static constexpr std::chrono::seconds kPatience{1};

    static Page page(unsigned status, std::string_view text) {
        return std::make_shared<HttpPage>(status, "text/plain; charset=utf-8", text);
    }

    Page page_of(const HttpRequest& request) {
        const auto now = static_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch().count());
        auto snapshot = desk_.read(now, kPatience);
        if (!snapshot)
            return silent_;
        return request.path == "/healthz"
                   ? healthy_
                   : text_of(std::move(snapshot), metrics::format_for(request.header("Accept")));
    }

    Page text_of(std::shared_ptr<const T> snapshot, metrics::Format format) {
        if (snapshot != rendered_) {
            rendered_ = std::move(snapshot);
            pages_ = {};
        }
        Page& page = pages_[static_cast<std::size_t>(format)];
        if (!page) {
            metrics::Exposition text(format);
            render_(*rendered_, text);
            write_connections(text);
            if (text.dropped() != 0 && !std::exchange(is_full_, true))
                spdlog::warn("metrics: the page is full: {} samples of the last ones are left out",
                             text.dropped());
            page = std::make_shared<HttpPage>(200, metrics::content_type(format), text.finish());
        }
        return page;
    }

    void write_connections(metrics::Exposition& text) const {
        const HttpServiceCounters& counters = service_.counters();
        text.begin(kConnectionsFamily);
        text.add(R"(outcome="answered")", answered_);
        text.add(R"(outcome="refused")", refused_);
        text.add(R"(outcome="displaced")", counters.displaced.load(std::memory_order_relaxed));
        text.add(R"(outcome="expired")", counters.expired.load(std::memory_order_relaxed));
    }

    Desk& desk_;
    Render render_;
    Page healthy_ = page(200, "ok\n");
    Page silent_ = page(503, "the program did not answer within a second\n");
    Page no_page_ = page(404, "no such page; there are /metrics and /healthz\n");
    Page no_method_ = page(405, "only GET and HEAD\n");
    std::uint64_t answered_ = 0;
    std::uint64_t refused_ = 0;
    std::shared_ptr<const T> rendered_;
    std::array<Page, 2> pages_;  // of it, by format
    bool is_full_ = false;
    HttpService service_;  // last: its thread uses all others
};

}  // namespace weir
