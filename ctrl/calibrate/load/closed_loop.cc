// closed_loop.cc - epoll loop of one thread: responses in, as many requests out, partial writes resumed.
#include "ctrl/calibrate/load/closed_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "common/units.h"
#include "cost_functions/protocols/registry.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};  // without any response the appliance hangs
constexpr unsigned kVisitOutstanding = 16;
constexpr std::uint64_t kResponsesMin = 64;  // of a measurement ...
constexpr unsigned kStretch = 8;             // ... which is at most this many times as long to get them

constexpr const char* kValuesGone =
    "values were evicted, or another client writes these keys; give the appliance more memory";

Nanos clock_of(clockid_t which) {
    timespec time{};
    ::clock_gettime(which, &time);
    return static_cast<Nanos>(time.tv_sec) * kNanosPerSec + static_cast<Nanos>(time.tv_nsec);
}

}  // namespace

ClosedLoop::ClosedLoop(Service& service, const Endpoint& endpoint, unsigned connections)
    : service_(service), endpoint_(endpoint), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    clients_.reserve(connections);
    for (unsigned i = 0; i < connections; ++i) {
        clients_.emplace_back(TcpConnection(endpoint, kPatience), service.protocol());
        service.greet(clients_.back().connection);
        epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_.back().connection.fd(), &event);
    }
}

ClosedLoop::~ClosedLoop() {
    ::close(epoll_);
}

void ClosedLoop::fail(std::string found, std::string message) const {
    const std::string subject =
        task_.step == nullptr ? endpoint_.text() : task_.step->name() + " at " + endpoint_.text();
    throw cli::Failure(cli::kExitRefused, {{subject, std::move(found), "", std::move(message)}});
}

/// A request of the step as the switch's parser reads it.
Parsed ClosedLoop::parse_request(const Step& step) const {
    std::string bytes;
    service_.append(bytes, step, 0, 0);
    ParserState state;
    const Protocol& protocol = service_.protocol();
    const Bytes all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return protocol.request(all.first(std::min<std::size_t>(all.size(), protocol.header_max)), state);
}

CountedStep ClosedLoop::probe(const Step& step) {
    const Parsed parsed = parse_request(step);
    task_.step = &step;
    if (parsed.verdict != Parsed::Verdict::kRequest || parsed.request.operation != step.operation)
        fail("another request", "the switch's parser does not recognize this request");
    begin({.step = &step, .left = 1}, 1);
    drain();
    task_.step = &step;
    if (step.operation == Operation::kRead && step.keys == 1 && response_bytes_ < step.size)
        fail("a response of " + format_size(response_bytes_), kValuesGone);
    task_ = {};
    return {step, parsed.request, response_bytes_};
}

ClosedLoop::Trial ClosedLoop::run(const CountedStep& counted, unsigned outstanding, Duration duration) {
    const std::uint64_t asked = asked_;
    Nanos now = clock_of(CLOCK_MONOTONIC);
    const Nanos warm_until = now + duration.warm_up;
    begin({.step = &counted.step, .response_bytes = counted.response_bytes, .left = UINT64_MAX}, outstanding);
    // Responses may arrive in bursts: the time is counted from the end of one burst to the end of another.
    while (poll() == 0 || (now = clock_of(CLOCK_MONOTONIC)) < warm_until) {
    }
    const Nanos began = now;
    const Nanos cpu_began = clock_of(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t enough = std::max<std::uint64_t>(kResponsesMin, 2 * outstanding);
    std::uint64_t responses = 0;
    for (bool done = false; !done;) {
        const unsigned more = poll();
        responses += more;
        now = clock_of(CLOCK_MONOTONIC);
        done = more > 0 && now >= began + duration.measured &&
               (responses >= enough || now >= began + kStretch * duration.measured);
    }
    const auto seconds = static_cast<double>(now - began) / kNanosPerSec;
    const auto cpu_seconds =
        static_cast<double>(clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu_began) / kNanosPerSec;
    drain();
    return {static_cast<double>(responses) / seconds, cpu_seconds / seconds, asked_ - asked};
}

void ClosedLoop::visit_places(const Step& step) {
    // A delete may fail: the key may be gone already.
    begin({.step = &step,
           .left = step.places,
           .in_order = true,
           .may_fail = step.operation != Operation::kWrite},
          static_cast<unsigned>(std::min<std::uint64_t>(step.places, kVisitOutstanding)));
    drain();
}

void ClosedLoop::begin(const Task& task, unsigned outstanding) {
    task_ = task;
    place_ = 0;
    as_asked_ = parse_request(*task.step).request.response_bytes;
    const auto count = static_cast<unsigned>(clients_.size());
    for (unsigned i = 0; i < count; ++i)
        send_requests(clients_[i], outstanding / count + (i < outstanding % count ? 1 : 0));
}

void ClosedLoop::send_requests(Client& client, unsigned count) {
    for (; count > 0 && task_.left > 0; --count, --task_.left) {
        const std::uint64_t places = task_.step->places;
        const std::uint64_t place = task_.in_order ? place_++ % places : random_() % places;
        service_.append(client.out, *task_.step, place, ++cookie_);
        ++client.outstanding;
        ++asked_;
    }
    flush(client);
}

void ClosedLoop::flush(Client& client) {
    while (client.sent < client.out.size()) {
        const std::ptrdiff_t sent = client.connection.send_some(std::span(client.out).subspan(client.sent));
        if (sent < 0)
            break;
        client.sent += static_cast<std::size_t>(sent);
    }
    const bool is_blocked = client.sent < client.out.size();
    if (!is_blocked)
        client.out.clear(), client.sent = 0;
    if (is_blocked == client.is_blocked)
        return;
    client.is_blocked = is_blocked;
    epoll_event event{.events = EPOLLIN | (is_blocked ? EPOLLOUT : 0U),
                      .data = {.u64 = static_cast<std::uint64_t>(&client - clients_.data())}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, client.connection.fd(), &event);
}

void ClosedLoop::on_response(Client& client, const Response& response) {
    if (client.outstanding == 0)
        fail("a response without a request", "the connection is out of step");
    --client.outstanding;
    response_bytes_ = response.bytes;
    if (response.failed && !task_.may_fail)
        fail("the appliance refused the request: " + client.reader.failed_header(),
             "let it accept requests of this kind and size, or leave them out (--operations, --sizes)");
    if (task_.response_bytes != 0 && response.bytes != task_.response_bytes)
        fail("a response of " + format_size(response.bytes) + " instead of " +
                 format_size(task_.response_bytes),
             kValuesGone);
}

/// Returns the number of responses that are complete.
unsigned ClosedLoop::receive(Client& client) {
    const std::ptrdiff_t received = client.connection.receive_some(client.reader.room());
    if (received <= 0)
        return 0;
    unsigned count = 0;
    const auto sink = [&](const Response& response) {
        on_response(client, response);
        ++count;
    };
    if (!client.reader.read(static_cast<std::size_t>(received), as_asked_, sink))
        fail(client.reader.failed_header(),
             "this is no response of the protocol " + std::string(protocol_name(service_.protocol())));
    return count;
}

/// Waits for the next bytes and sends a request for each response. Returns the number of responses; 0 when
/// only parts of responses arrived.
unsigned ClosedLoop::poll() {
    std::array<epoll_event, 64> events;
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(kPatience.count()));
    if (ready == 0)
        fail("no response for " + std::to_string(kPatience.count() / 1000) + " s",
             "the appliance hangs, or the switch or a firewall holds its requests back");
    unsigned responses = 0;
    for (int i = 0; i < ready; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        Client& client = clients_[event.data.u64];
        if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) {
            const unsigned count = receive(client);
            responses += count;
            send_requests(client, count);
        } else {
            flush(client);
        }
    }
    return responses;
}

/// Sends the remaining requests of a task in order, drops those of another task, and waits until no request
/// is outstanding.
void ClosedLoop::drain() {
    if (!task_.in_order)
        task_.left = 0;
    const auto waits = [](const Client& client) { return client.outstanding > 0; };
    while (std::ranges::any_of(clients_, waits))
        poll();
    task_ = {};
}

}  // namespace weir::calibrate
