// http_service.cc - requests as the library reports them: head, body, answer, stream.
#include "common/http/http_service.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>

#include "common/error.h"
#include "common/http/http_service_open.h"

namespace weir {
namespace {

/// The library accepts some connections at once, before ended ones are closed.
constexpr unsigned kRoomForEnded = 64;
constexpr int kTurnMs = 100;
constexpr std::size_t kStreamBlock = 16 * 1024;
constexpr const char* kTlsVersions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

HttpService::Page failure(const char* text) {
    return std::make_shared<HttpPage>(500, "text/plain; charset=utf-8", text);
}

/// Calls a handler: no exception passes through the library.
template <typename Call>
HttpService::Page guarded(Call call) {
    try {
        return call();
    } catch (const std::exception&) {
        return failure("the request could not be carried out; its program's log may have the cause\n");
    }
}

void begin_thread(int nice_steps) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // they are the main thread's
    const int others = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, others + nice_steps);  // in Linux of this thread alone
}

MHD_Result add_pair(void* out, MHD_ValueKind /*kind*/, const char* key, const char* value) {
    static_cast<std::vector<std::pair<std::string, std::string>>*>(out)->emplace_back(
        key, value == nullptr ? "" : value);
    return MHD_YES;
}

HttpService::Page refusal_of(const HttpBody& body) {
    const std::string text = std::string(body.header) + ": found '" + body.found.substr(0, 100) +
                             "', allowed: " + std::string(body.allowed) + "\n";
    return std::make_shared<HttpPage>(body.status, "text/plain; charset=utf-8", text);
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
    for (const auto& [key, value] : headers)
        if (is_same_header(key, name))
            return value;
    return {};
}

/// The library's calls, on the server's thread.
struct HttpService::Calls {
    static MHD_Result request(void* service, MHD_Connection* connection, const char* url, const char* method,
                              const char* /*version*/, const char* upload, std::size_t* upload_bytes,
                              void** request) {
        auto*& exchange = reinterpret_cast<Exchange*&>(*request);
        return static_cast<HttpService*>(service)->on_request(connection, exchange, url, method, upload,
                                                              *upload_bytes) == MHD_YES
                   ? MHD_YES
                   : MHD_NO;
    }
    static void completed(void* service, MHD_Connection* /*connection*/, void** request,
                          MHD_RequestTerminationCode /*code*/) {
        if (auto* exchange = static_cast<Exchange*>(std::exchange(*request, nullptr)); exchange != nullptr)
            static_cast<HttpService*>(service)->on_completed(*exchange);
    }
    static void notify(void* service, MHD_Connection* connection, void** socket,
                       MHD_ConnectionNotificationCode code) {
        auto& here = *static_cast<HttpService*>(service);
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
            *socket = here.on_open(connection);
        else
            here.on_close(static_cast<Open*>(std::exchange(*socket, nullptr)));
    }
    /// As the library does, but for %00, which would end the text, and %2F, which would make another segment
    /// of the path: no name has a percent sign.
    static std::size_t unescape(void* /*service*/, MHD_Connection* /*connection*/, char* text) {
        const char* from = text;
        char* to = text;
        while (*from != '\0') {
            unsigned value = 0;
            const bool is_escape = *from == '%' && std::isxdigit(static_cast<unsigned char>(from[1])) != 0 &&
                                   std::isxdigit(static_cast<unsigned char>(from[2])) != 0 &&
                                   std::from_chars(from + 1, from + 3, value, 16).ec == std::errc();
            const bool is_taken = is_escape && value != 0 && value != '/';
            *to++ = is_taken ? static_cast<char>(value) : *from;
            from += is_taken ? 3 : 1;
        }
        *to = '\0';
        return static_cast<std::size_t>(to - text);
    }
    static ssize_t read(void* exchange, std::uint64_t /*position*/, char* out, std::size_t most) {
        auto& one = *static_cast<Exchange*>(exchange);
        return static_cast<ssize_t>(one.service->read(one, out, most));
    }
};

HttpService::HttpService(int listener, const Limits& limits, const std::optional<Tls>& tls, Handler& handler)
    : limits_(limits), handler_(handler), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const auto fail = [&](const char* why) {
        close(listener);
        close(wake_);
        throw HostError(why);
    };
    if (tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        fail("this libmicrohttpd has no TLS; install one that was built with GnuTLS");
    std::vector<MHD_OptionItem> options{
        {MHD_OPTION_LISTEN_SOCKET, listener, nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(limits_.connections) + kRoomForEnded, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(limits_.head_bytes), nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, limits_.stall.count(), nullptr},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr}};
    if (tls)
        for (const auto& [option, text] : {std::pair(MHD_OPTION_HTTPS_MEM_CERT, tls->certificate.c_str()),
                                           std::pair(MHD_OPTION_HTTPS_MEM_KEY, tls->key.c_str()),
                                           std::pair(MHD_OPTION_HTTPS_PRIORITIES, kTlsVersions)})
            options.push_back({option, 0, const_cast<char*>(text)});
    options.push_back({MHD_OPTION_END, 0, nullptr});
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? unsigned{MHD_USE_TLS} : 0U);
    daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Calls::request, this, MHD_OPTION_ARRAY,
                               options.data(), MHD_OPTION_UNESCAPE_CALLBACK, &Calls::unescape, this,
                               MHD_OPTION_NOTIFY_COMPLETED, &Calls::completed, this,
                               MHD_OPTION_NOTIFY_CONNECTION, &Calls::notify, this, MHD_OPTION_END);
    if (daemon_ == nullptr)
        fail(tls ? "the HTTPS server cannot start; are certificate and key PEM files that belong together "
                   "(openssl x509 -in FILE)?"
                 : "the HTTP server cannot start; are there free file descriptors (ulimit -n)?");
    thread_ = std::thread([this] { run(); });
}

HttpService::~HttpService() {
    stop_.store(true);
    wake();
    thread_.join();
    MHD_stop_daemon(daemon_);
    close(wake_);
}

void HttpService::wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
}

void HttpService::run() {
    begin_thread(limits_.nice_steps);
    while (!stop_.load(std::memory_order_relaxed)) {
        wait();
        (void)MHD_run(daemon_);
        handler_.turn(*this);
        end_old_ones();
    }
    // The library ends no suspended connection.
    for (const auto& [number, exchange] : exchanges_) {
        if (!exchange->page)
            exchange->page = failure("the program stops\n");
        resume(*exchange);
    }
    (void)MHD_run(daemon_);
}

void HttpService::wait() const {
    const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    std::array<pollfd, 2> files{pollfd{info->epoll_fd, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    MHD_UNSIGNED_LONG_LONG most = 0;
    const bool is_bounded = MHD_get_timeout(daemon_, &most) == MHD_YES;
    const int span = is_bounded ? static_cast<int>(std::min<std::uint64_t>(most, kTurnMs)) : kTurnMs;
    (void)::poll(files.data(), files.size(), span);
    std::uint64_t count = 0;
    (void)!::read(wake_, &count, sizeof count);
}

HttpService::Exchange* HttpService::begin(MHD_Connection* connection, const char* path, const char* method) {
    auto exchange = std::make_unique<Exchange>();
    exchange->service = this;
    exchange->connection = connection;
    exchange->open = static_cast<Open*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
    HttpRequest& request = exchange->request;
    request.number = ++requests_;
    request.method = method;
    request.path = path;
    request.address = exchange->open->address;
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_pair, &request.query);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_pair, &request.headers);
    request.announced = body_of(request.headers);
    exchange->open->is_busy = true;
    exchange->open->allow(limits_.body);
    return exchanges_.emplace(request.number, std::move(exchange)).first->second.get();
}

int HttpService::on_request(MHD_Connection* connection, Exchange*& exchange, const char* path,
                            const char* method, const char* body, std::size_t& bytes) {
    if (exchange == nullptr) {
        exchange = begin(connection, path, method);
        HttpRequest& request = exchange->request;
        exchange->page = guarded([&] { return handler_.judge(request); });
        if (!exchange->page && request.announced.status != 0)
            exchange->page = refusal_of(request.announced);
        exchange->open->is_trusted |= !exchange->page || !limits_.has_accounts;
        return exchange->page ? queue(*exchange) : MHD_YES;
    }
    if (bytes != 0) {
        HttpRequest& request = exchange->request;
        if (bytes > request.announced.bytes - request.body.size())
            return MHD_NO;
        request.body.append(body, bytes);
        bytes = 0;
        return MHD_YES;
    }
    if (!std::exchange(exchange->is_served, true)) {
        exchange->open->allow(limits_.answer);
        if (auto page = guarded([&] { return handler_.serve(*this, exchange->request); }))
            exchange->page = std::move(page);
    }
    if (exchange->page || exchange->source)
        return queue(*exchange);
    suspend(*exchange);
    return MHD_YES;
}

int HttpService::queue(Exchange& exchange) {
    if (exchange.page) {
        exchange.open->allow(limits_.answer);
        return MHD_queue_response(exchange.connection, exchange.page->status_, exchange.page->response_);
    }
    MHD_Response* response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock, &Calls::read, &exchange, nullptr);
    if (response == nullptr)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    exchange.open->allow_any_time();  // a client that takes nothing stalls
    const MHD_Result result = MHD_queue_response(exchange.connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

std::int64_t HttpService::read(Exchange& exchange, char* out, std::size_t most) {
    if (stop_.load(std::memory_order_relaxed))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (exchange.sent == exchange.text.size()) {
        std::optional<std::string> next;
        try {
            next = exchange.source();
        } catch (const std::exception&) {  // the stream ends
        }
        if (!next)
            return MHD_CONTENT_READER_END_OF_STREAM;
        exchange.text = std::move(*next);
        exchange.sent = 0;
    }
    const std::size_t bytes = std::min(most, exchange.text.size() - exchange.sent);
    if (bytes == 0)
        suspend(exchange);
    std::memcpy(out, exchange.text.data() + exchange.sent, bytes);
    exchange.sent += bytes;
    return static_cast<std::int64_t>(bytes);
}

void HttpService::suspend(Exchange& exchange) {
    exchange.is_suspended = true;
    MHD_suspend_connection(exchange.connection);
}

void HttpService::resume(Exchange& exchange) {
    if (std::exchange(exchange.is_suspended, false))
        MHD_resume_connection(exchange.connection);
}

void HttpService::on_completed(Exchange& exchange) {
    const std::uint64_t number = exchange.request.number;
    exchange.open->is_busy = false;
    exchange.open->allow(limits_.idle);
    handler_.forget(number);
    exchanges_.erase(number);
}

void HttpService::answer(std::uint64_t number, Page page) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end())
        return;
    found->second->page = std::move(page);
    resume(*found->second);
}

void HttpService::stream(std::uint64_t number, Source source) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end())
        return;
    found->second->source = std::move(source);
    resume(*found->second);
}

void HttpService::resume_streams() {
    for (const auto& [number, exchange] : exchanges_)
        if (exchange->source)
            resume(*exchange);
}

}  // namespace weir
