// http_server.cc - the library's polling in one thread, and the ends of connections that are old or too many.
#include "common/http/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/config/endpoint.h"
#include "common/error.h"
#include "common/http/http_thread.h"

namespace weir {
namespace {

using std::chrono::steady_clock;

/// Connections that wait until they are accepted.
constexpr int kBacklog = 1'024;
/// The library accepts some at once, before ended ones are closed.
constexpr unsigned kRoomForEnded = 64;
constexpr int kTurnMs = 100;
constexpr int kNiceSteps = 10;

}  // namespace

/// The library's calls, on the server's thread.
struct HttpServer::Calls {
    static MHD_Result request(void* server, MHD_Connection* connection, const char* url, const char* method,
                              const char* /*version*/, const char* /*upload*/, std::size_t* /*upload_bytes*/,
                              void** /*request*/) {
        return static_cast<HttpServer*>(server)->on_request(connection, url, method) == MHD_YES ? MHD_YES
                                                                                                : MHD_NO;
    }
    static void notify(void* server, MHD_Connection* connection, void** /*socket*/,
                       MHD_ConnectionNotificationCode code) {
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
            static_cast<HttpServer*>(server)->on_open(connection);
        else
            static_cast<HttpServer*>(server)->on_close(connection);
    }
};

HttpServer::HttpServer(int listener, Handler handler)
    : handler_(std::move(handler)),
      no_page_(
          std::make_shared<HttpPage>(404, "text/plain", "no such page; there are /metrics and /healthz\n")),
      no_method_(std::make_shared<HttpPage>(405, "text/plain", "only GET and HEAD\n")) {
    daemon_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Calls::request, this,
                               MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
                               static_cast<unsigned>(kConnections) + kRoomForEnded,
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, kRequestBytes,
                               MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kLife.count()),
                               MHD_OPTION_NOTIFY_CONNECTION, &Calls::notify, this, MHD_OPTION_END);
    if (daemon_ == nullptr) {
        close(listener);
        throw HostError("the HTTP server cannot start; are there free file descriptors (ulimit -n)?");
    }
    thread_ = std::thread([this] { run(); });
}

HttpServer::~HttpServer() {
    stop_.store(true);
    thread_.join();
    MHD_stop_daemon(daemon_);
}

void HttpServer::run() {
    begin_http_thread(kNiceSteps);
    while (!stop_.load(std::memory_order_relaxed)) {
        (void)MHD_run_wait(daemon_, kTurnMs);
        end_old_ones();
    }
}

void HttpServer::on_open(MHD_Connection* connection) {
    const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    make_room();
    open_.push_back({connection, info == nullptr ? -1 : info->connect_fd, steady_clock::now()});
    places_[connection] = std::prev(open_.end());
    counters_.open.store(open_.size(), std::memory_order_relaxed);
}

void HttpServer::on_close(MHD_Connection* connection) {
    const auto place = places_.find(connection);
    if (place == places_.end())
        return;
    open_.erase(place->second);
    places_.erase(place);
    counters_.open.store(open_.size(), std::memory_order_relaxed);
}

int HttpServer::on_request(MHD_Connection* connection, std::string_view path, std::string_view method) {
    if (const auto place = places_.find(connection); place != places_.end())
        place->second->has_request = true;
    const char* accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const bool is_read = method == "GET" || method == "HEAD";
    auto page = is_read ? handler_(path, accept == nullptr ? "" : accept) : no_method_;
    const bool is_answered = is_read && page != nullptr;
    (is_answered ? counters_.answered : counters_.refused).fetch_add(1, std::memory_order_relaxed);
    if (page == nullptr)
        page = no_page_;
    return MHD_queue_response(connection, page->status_, page->response_);
}

/// Of the connections that are not ended yet at most kConnections - 1 remain.
void HttpServer::make_room() {
    const auto is_running = [](const Open& open) { return !open.is_ended; };
    if (static_cast<std::size_t>(std::ranges::count_if(open_, is_running)) < kConnections)
        return;
    auto victim =
        std::ranges::find_if(open_, [&](const Open& open) { return is_running(open) && !open.has_request; });
    if (victim == open_.end())
        victim = std::ranges::find_if(open_, is_running);
    end(*victim);
    counters_.displaced.fetch_add(1, std::memory_order_relaxed);
}

void HttpServer::end_old_ones() {
    const auto bound = steady_clock::now() - kLife;
    for (Open& open : open_) {
        if (open.since > bound)
            return;
        if (open.is_ended)
            continue;
        end(open);
        counters_.expired.fetch_add(1, std::memory_order_relaxed);
    }
}

/// The library notices the end, and closes the descriptor.
void HttpServer::end(Open& open) {
    open.is_ended = true;
    (void)::shutdown(open.descriptor, SHUT_RDWR);
}

int listen_on(const std::string& address, const char* key) {
    const auto endpoint = SocketEndpoint::parse("tcp://" + address);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (!endpoint ||
        getaddrinfo(endpoint->host.c_str(), std::to_string(endpoint->port).c_str(), &hints, &found) != 0)
        throw HostError(std::string(key) + ": " + address + " is no address of this machine");
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    const int file = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, kBacklog) == 0)
        return file;
    const std::string why = std::strerror(errno);
    if (file >= 0)
        close(file);
    throw HostError(std::string(key) + ": cannot listen on " + address + " (" + why +
                    "); give it an address of this machine and a port that no other program has (ss -ltnp)");
}

}  // namespace weir
