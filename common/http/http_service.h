// http_service.h - an HTTP server for requests with bodies, for answers that come later, and for streams.
// Source: RFC 9110; RFC 9112; GNU libmicrohttpd. Units: Nanos of the steady clock.
// Threads: made and destroyed by any one thread; wake() by any; all other calls, and the handler's, are of
// the server's own thread.
//
// No client is waited for: each connection has a time for the head, for the body, for the answer, between two
// requests, and perhaps for all of these together. A client is trusted when the handler has accepted the head
// of a request, and not before: of untrusted clients the oldest make room for new ones, so that 10,000 idle
// or slow ones hold places for moments. Trusted clients keep their places, unless they are idle and others
// need them. Without accounts a client is trusted from its request on, and where all are busy with one, the
// oldest makes room.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/http/http_body.h"
#include "common/http/http_page.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace weir {

struct HttpRequest {
    std::uint64_t number = 0;  ///< of the request, in the service
    std::string method{};
    std::string path{};     ///< without the query, percent signs resolved
    std::string address{};  ///< of the client
    HttpBody announced{};   ///< by the head
    std::string body{};
    std::vector<std::pair<std::string, std::string>> query{};
    HttpHeaders headers{};

    /// Value of the first header of the name, in any case; empty: there is none.
    [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// Connections since the start, and those that are open.
struct HttpServiceCounters {
    std::atomic<std::uint64_t> displaced{0};  ///< ended for a newer one
    std::atomic<std::uint64_t> surplus{0};    ///< ended at once: all places were those of trusted clients
    std::atomic<std::uint64_t> expired{0};    ///< ended because their time was over
    std::atomic<std::uint64_t> open{0};
};

class HttpService {
  public:
    struct Limits {
        std::size_t connections;
        std::size_t connections_of_address;
        std::size_t head_bytes;
        std::chrono::seconds head;    ///< from the connection to the end of the head
        std::chrono::seconds body;    ///< until the end of the body
        std::chrono::seconds answer;  ///< until the client has received the answer
        std::chrono::seconds idle;    ///< until the end of the next head
        std::chrono::seconds stall;   ///< in which no byte moves
        std::chrono::seconds life;    ///< of a connection; 0: any
        bool has_accounts;            ///< the handler refuses unknown clients
        int nice_steps;               ///< below the program's other threads: one of these may share its core
    };

    using Page = std::shared_ptr<const HttpPage>;
    /// Text of a stream: empty: none yet; nothing: the stream ends.
    using Source = std::function<std::optional<std::string>()>;

    class Handler {
      public:
        virtual ~Handler() = default;
        /// The head of a request has come. @return the answer to it, such as a refusal; nullptr: the client
        /// is trusted, and its body may come, of as many bytes as the head announces; where that cannot be
        /// known the server refuses the request
        virtual Page judge(const HttpRequest& request) = 0;
        /// The request is complete. @return nullptr: answer() or stream() was called, or answer() follows
        virtual Page serve(HttpService& /*service*/, const HttpRequest& /*request*/) { return nullptr; }
        /// The request has ended: answered, or its client is gone.
        virtual void forget(std::uint64_t /*number*/) {}
        /// At least ten times a second, and after wake().
        virtual void turn(HttpService& /*service*/) {}
    };

    /// PEM texts.
    struct Tls {
        std::string certificate;
        std::string key;
    };

    /// @param listener a socket that listens; the server closes it @param tls nothing: plain HTTP
    /// @param handler outlives this @throws HostError
    HttpService(int listener, const Limits& limits, const std::optional<Tls>& tls, Handler& handler);
    ~HttpService();
    HttpService(const HttpService&) = delete;
    HttpService& operator=(const HttpService&) = delete;

    [[nodiscard]] const HttpServiceCounters& counters() const { return counters_; }
    void wake();

    /// The answer to a request for which serve() returned none.
    void answer(std::uint64_t number, Page page);
    /// The same with events (text/event-stream), until the source or the client ends.
    void stream(std::uint64_t number, Source source);
    /// Asks the sources of all streams for text.
    void resume_streams();

  private:
    struct Open;
    struct Exchange;
    struct Calls;  // the library's, which know no classes

    void run();
    void wait() const;
    int on_request(MHD_Connection* connection, Exchange*& exchange, const char* path, const char* method,
                   const char* body, std::size_t& bytes);
    Exchange* begin(MHD_Connection* connection, const char* path, const char* method);
    int queue(Exchange& exchange);
    std::int64_t read(Exchange& exchange, char* out, std::size_t most);
    void suspend(Exchange& exchange);
    static void resume(Exchange& exchange);
    void on_completed(Exchange& exchange);

    // http_service_connections.cc
    Open* on_open(MHD_Connection* connection);
    void on_close(Open* open);
    void make_room(Open& newcomer);
    void end_old_ones();
    static void end(Open& open);

    const Limits limits_;
    Handler& handler_;
    HttpServiceCounters counters_;
    std::list<Open> open_;                                          // oldest first
    std::map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;  // by number
    std::uint64_t requests_ = 0;
    MHD_Daemon* daemon_ = nullptr;
    int wake_;  // eventfd
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace weir
