// http_server.h - a small HTTP server for pages that machines read, on a thread of its own.
// Source: RFC 9112; GNU libmicrohttpd. Units: Nanos of the steady clock.
// Threads: made, asked and destroyed by any one thread; the handler is called on the server's own.
//
// It answers GET and HEAD of pages and closes the connection; all else is refused. No client is trusted: one
// thread serves all connections and waits for none of them, a request has at most kRequestBytes, a connection
// lasts at most kLife, and when kConnections are open, a further one takes the place of the oldest without a
// request, or else of the oldest. So 10,000 idle or slow clients hold 64 places for moments, and a client
// that sends its request at once is answered.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "common/clock.h"
#include "common/http/http_page.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace weir {

/// Connections since the start, and those that are open.
struct HttpCounters {
    std::atomic<std::uint64_t> answered{0};   ///< with a page of the handler
    std::atomic<std::uint64_t> refused{0};    ///< no page, or another method than GET and HEAD
    std::atomic<std::uint64_t> displaced{0};  ///< ended for a newer one
    std::atomic<std::uint64_t> expired{0};    ///< ended after kLife
    std::atomic<std::uint64_t> open{0};
};

class HttpServer {
  public:
    static constexpr std::size_t kConnections = 64;
    static constexpr std::size_t kRequestBytes = 8 * 1024;
    static constexpr std::chrono::seconds kLife{5};

    /// @param path without a query @param accept the header, or empty
    /// @return nullptr: there is no such page
    using Handler =
        std::function<std::shared_ptr<const HttpPage>(std::string_view path, std::string_view accept)>;

    /// @param listener a socket that listens; the server closes it
    HttpServer(int listener, Handler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    [[nodiscard]] const HttpCounters& counters() const { return counters_; }

  private:
    struct Open {
        MHD_Connection* connection;
        int descriptor;
        std::chrono::steady_clock::time_point since;
        bool has_request = false;
        bool is_ended = false;  // the library closes it in its next turn
    };
    struct Calls;  // the library's, which know no classes

    void run();
    void on_open(MHD_Connection* connection);
    void on_close(MHD_Connection* connection);
    [[nodiscard]] int on_request(MHD_Connection* connection, std::string_view path, std::string_view method);
    void make_room();
    void end_old_ones();
    static void end(Open& open);

    Handler handler_;
    HttpCounters counters_;
    std::shared_ptr<const HttpPage> no_page_;
    std::shared_ptr<const HttpPage> no_method_;
    std::list<Open> open_;  // oldest first
    std::unordered_map<MHD_Connection*, std::list<Open>::iterator> places_;
    MHD_Daemon* daemon_ = nullptr;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Listens on a numeric address: "127.0.0.1:9417", "[::1]:9417". @param key names it in the fault
/// @throws HostError with the address, the fault and the remedy
[[nodiscard]] int listen_on(const std::string& address, const char* key);

}  // namespace weir
