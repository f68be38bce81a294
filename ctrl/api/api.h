// api.h - the HTTP API of weir-ctrl: checks of requests, the commands that answer, and pages of a console.
// Source: docs/api.md; RFC 6750; RFC 9110. Units: time points of the steady clock.
// Threads: made by any one thread; used by the HTTP server's.
//
//   CommandDesk desk;                              // the loop answers its commands
//   Api api(desk, TokenFile(config.token_file), false);
//   HttpService service(listen_on(config.listen, "api.listen"), kApiLimits, {}, api);
//   desk.set_wake([&] { service.wake(); });
//
// A request passes these checks, in this order, and is refused with its reason by the first that it fails: of
// this site; with a token; of a known path and method; within the token's role; with a body that the path
// allows; not sent before. All but the body is checked before a byte of the body is taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "common/http/http_service.h"
#include "ctrl/api/change_keys.h"
#include "ctrl/api/event_feed.h"
#include "ctrl/api/routes.h"
#include "ctrl/api/sources.h"
#include "ctrl/api/token.h"
#include "ctrl/daemon/command_desk.h"

namespace weir {

/// A file of a console, which needs no token: it has no data.
struct SiteFile {
    std::string_view path;  ///< "/", "/app.js"
    std::string_view content_type;
    std::string_view text;
};

/// docs/api.md has these numbers.
inline constexpr HttpService::Limits kApiLimits{.connections = 512,
                                                .connections_of_address = 256,
                                                .head_bytes = std::size_t{16} * 1024,
                                                .head = std::chrono::seconds(10),
                                                .body = std::chrono::seconds(60),
                                                .answer = std::chrono::seconds(60),
                                                .idle = std::chrono::seconds(30),
                                                .stall = std::chrono::seconds(15),
                                                .life = std::chrono::seconds(0),
                                                .has_accounts = true,
                                                .nice_steps = 5};

class Api final : public HttpService::Handler {
  public:
    using Page = HttpService::Page;
    using Clock = std::chrono::steady_clock;
    /// In which the loop replies, or its job beside it.
    static constexpr std::chrono::seconds kPatience{30};
    static constexpr std::size_t kBodiesMax = 4;  ///< changes at the same time
    static constexpr std::size_t kBodiesPerToken = 2;

    /// @param has_tls of its address, for the origin of its own pages
    Api(CommandDesk& desk, TokenFile tokens, bool has_tls, std::span<const SiteFile> site = {});

    Page judge(const HttpRequest& request) override;
    Page serve(HttpService& service, const HttpRequest& request) override;
    void forget(std::uint64_t number) override;
    void turn(HttpService& service) override;

  private:
    struct Asked {
        Match match{};
        Token token{};
        std::string peer{};  ///< for the audit trail
        std::string key{};   ///< of a change: it comes once
        std::string place{};
        nlohmann::json arguments{};
        Clock::time_point since{};
        std::map<std::string, std::shared_ptr<Source>> sources{};
        bool is_waiting = false;
    };

    [[nodiscard]] Page site_page(const HttpRequest& request) const;
    [[nodiscard]] bool is_of_this_site(const HttpRequest& request) const;
    [[nodiscard]] const Token* token_of(const HttpRequest& request) const;
    [[nodiscard]] Page refuse_body(const Route& route, const HttpRequest& request) const;
    [[nodiscard]] Page refuse_change(const Route& route, const HttpRequest& request,
                                     const std::string& token);
    [[nodiscard]] Page refuse_repeated(const std::string& token, const std::string& key) const;
    Page refuse(unsigned status, std::atomic<std::uint64_t>& counter, Fault fault) const;
    Page refuse_unknown(const HttpRequest& request);

    [[nodiscard]] Page stream(HttpService& service, const HttpRequest& request);
    /// The answer, as far as its sources are there; null: it waits for one.
    [[nodiscard]] Page attempt(std::uint64_t number, Asked& asked);
    [[nodiscard]] Page view_page(std::uint64_t number, Asked& asked);
    [[nodiscard]] std::pair<std::shared_ptr<Source>, Page> source_of(std::uint64_t number, Asked& asked,
                                                                     const Sources::Question& question);
    [[nodiscard]] Page count(Page page) const;
    void on_reply(HttpService& service, std::uint64_t number, const Sources::Arrived& arrived);
    void end_late_ones(HttpService& service, Clock::time_point now);
    void read_events(HttpService& service, Clock::time_point now);

    CommandDesk& desk_;
    ApiCounters& counters_;
    TokenFile tokens_;
    std::string scheme_;
    std::map<std::string, Page, std::less<>> site_;
    Sources sources_;
    EventFeed feed_;
    std::map<std::uint64_t, Asked> asked_;  // by number of the request
    ChangeKeys keys_;
    Clock::time_point looked_{};  // at the file of tokens
    Clock::time_point read_{};    // the audit trail
    Clock::time_point beat_{};
    bool is_reading_ = false;
    std::uint64_t unauthorized_ = 0;
};

}  // namespace weir
