// closed_loop.cc - one thread, epoll; whole requests are appended, as much as the kernel takes is sent.
#include "ctrl/calibrate/load/closed_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "common/units.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};
constexpr unsigned kFillOutstanding = 16;
constexpr std::uint64_t kAnswersMin = 64;
constexpr unsigned kStretched = 8;  // times as long at most, for so many answers

constexpr const char* kValuesGone =
    "values have gone, or others write to these keys; give the appliance more memory";

Nanos clock_of(clockid_t which) {
    timespec time{};
    ::clock_gettime(which, &time);
    return static_cast<Nanos>(time.tv_sec) * kNanosPerSec + static_cast<Nanos>(time.tv_nsec);
}

}  // namespace

ClosedLoop::ClosedLoop(Service& service, const Endpoint& endpoint, unsigned connections)
    : service_(service), endpoint_(endpoint), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    connections_.reserve(connections);
    for (unsigned i = 0; i < connections; ++i) {
        connections_.emplace_back(Link(endpoint, kPatience), service.protocol());
        service.greet(connections_.back().link);
        epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_.back().link.fd(), &event);
    }
}

ClosedLoop::~ClosedLoop() {
    ::close(epoll_);
}

void ClosedLoop::fail(std::string found, std::string message) const {
    const std::string what =
        task_.step == nullptr ? endpoint_.text() : task_.step->name() + " at " + endpoint_.text();
    throw cli::Failure(cli::kExitRefused, {{what, std::move(found), "", std::move(message)}});
}

Counted ClosedLoop::look(const Step& step) {
    Counted counted{.step = step};
    std::string bytes;
    service_.append(bytes, step, 0, 0);
    ParserState state;
    const Protocol& protocol = service_.protocol();
    const Bytes all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    const Parsed parsed =
        protocol.request(all.first(std::min<std::size_t>(all.size(), protocol.header_max)), state);
    counted.request = parsed.request;
    task_.step = &step;
    if (parsed.verdict != Parsed::Verdict::kRequest || parsed.request.operation != step.operation)
        fail("another request", "the switch would not know this request for what it is");
    begin({.step = &step, .left = 1}, 1);
    drain();
    task_.step = &step;
    if (step.operation == Operation::kRead && step.keys == 1 && seen_bytes_ < step.size)
        fail("an answer of " + format_size(seen_bytes_), kValuesGone);
    task_ = {};
    counted.response_bytes = seen_bytes_;
    return counted;
}

ClosedLoop::Trial ClosedLoop::run(const Counted& counted, unsigned outstanding, Stretch stretch) {
    const std::uint64_t asked = asked_;
    Nanos now = clock_of(CLOCK_MONOTONIC);
    const Nanos warm_until = now + stretch.warm;
    begin({.step = &counted.step, .response_bytes = counted.response_bytes, .left = UINT64_MAX}, outstanding);
    // From one lot of answers to another, without those of the first: answers may come in bursts.
    while (turn() == 0 || (now = clock_of(CLOCK_MONOTONIC)) < warm_until) {
    }
    const Nanos began = now;
    const Nanos busy = clock_of(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t enough = std::max<std::uint64_t>(kAnswersMin, 2 * outstanding);
    std::uint64_t answers = 0;
    for (bool done = false; !done;) {
        const unsigned more = turn();
        answers += more;
        now = clock_of(CLOCK_MONOTONIC);
        done = more > 0 && now >= began + stretch.length &&
               (answers >= enough || now >= began + kStretched * stretch.length);
    }
    const auto seconds = static_cast<double>(now - began) / kNanosPerSec;
    const auto worked = static_cast<double>(clock_of(CLOCK_THREAD_CPUTIME_ID) - busy) / kNanosPerSec;
    drain();
    return {static_cast<double>(answers) / seconds, worked / seconds, asked_ - asked};
}

void ClosedLoop::each_place(const Step& step) {
    // What is deleted may be gone already.
    begin({.step = &step,
           .left = step.places,
           .in_turn = true,
           .refusals_count = step.operation == Operation::kWrite},
          static_cast<unsigned>(std::min<std::uint64_t>(step.places, kFillOutstanding)));
    drain();
}

void ClosedLoop::begin(const Task& task, unsigned outstanding) {
    task_ = task;
    place_ = 0;
    std::string probe;
    service_.append(probe, *task.step, 0, 0);
    ParserState state;
    const Protocol& protocol = service_.protocol();
    const Bytes all(reinterpret_cast<const std::uint8_t*>(probe.data()), probe.size());
    as_asked_ = protocol.request(all.first(std::min<std::size_t>(all.size(), protocol.header_max)), state)
                    .request.response_bytes;
    const auto count = static_cast<unsigned>(connections_.size());
    for (unsigned i = 0; i < count; ++i)
        ask(connections_[i], outstanding / count + (i < outstanding % count ? 1 : 0));
}

void ClosedLoop::ask(Connection& connection, unsigned count) {
    for (; count > 0 && task_.left > 0; --count, --task_.left) {
        const std::uint64_t places = task_.step->places;
        const std::uint64_t place = task_.in_turn ? place_++ % places : random_() % places;
        service_.append(connection.out, *task_.step, place, ++cookie_);
        ++connection.outstanding;
        ++asked_;
    }
    flush(connection);
}

void ClosedLoop::flush(Connection& connection) {
    while (connection.sent < connection.out.size()) {
        const std::ptrdiff_t sent =
            connection.link.send_some(std::span(connection.out).subspan(connection.sent));
        if (sent < 0)
            break;
        connection.sent += static_cast<std::size_t>(sent);
    }
    const bool wants_room = connection.sent < connection.out.size();
    if (!wants_room)
        connection.out.clear(), connection.sent = 0;
    if (wants_room == connection.wants_room)
        return;
    connection.wants_room = wants_room;
    epoll_event event{.events = EPOLLIN | (wants_room ? EPOLLOUT : 0U),
                      .data = {.u64 = static_cast<std::uint64_t>(&connection - connections_.data())}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.link.fd(), &event);
}

void ClosedLoop::answered(Connection& connection, const Response& response, unsigned& count) {
    if (connection.outstanding == 0)
        fail("an answer to nothing", "the connection is out of step");
    --connection.outstanding;
    ++count;
    seen_bytes_ = response.bytes;
    if (response.failed && task_.refusals_count)
        fail("the appliance said no: " + connection.reader.said(),
             "let it take requests of this kind and size, or leave them out (--operations, --sizes)");
    if (task_.response_bytes != 0 && response.bytes != task_.response_bytes)
        fail("an answer of " + format_size(response.bytes) + " instead of " +
                 format_size(task_.response_bytes),
             kValuesGone);
}

unsigned ClosedLoop::receive(Connection& connection) {
    const std::ptrdiff_t received = connection.link.receive_some(connection.reader.room());
    unsigned count = 0;
    if (received > 0 &&
        !connection.reader.take(static_cast<std::size_t>(received), as_asked_,
                                [&](const Response& response) { answered(connection, response, count); }))
        fail(connection.reader.said(), "this is no answer of " + std::string(service_.protocol().name));
    return count;
}

// Waits for the next answers and asks anew for each. Returns how many there were; 0: only bytes of them.
unsigned ClosedLoop::turn() {
    std::array<epoll_event, 64> events;
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(kPatience.count()));
    if (ready == 0)
        fail("no answer for " + std::to_string(kPatience.count() / 1000) + " s",
             "the appliance hangs, or something on the way holds its requests back");
    unsigned all = 0;
    for (int i = 0; i < ready; ++i) {
        Connection& connection = connections_[events[static_cast<std::size_t>(i)].data.u64];
        if ((events[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) {
            const unsigned count = receive(connection);
            all += count;
            ask(connection, count);
        } else {
            flush(connection);
        }
    }
    return all;
}

// Asks no more than was planned, and waits for what is outstanding.
void ClosedLoop::drain() {
    if (!task_.in_turn)
        task_.left = 0;
    const auto waits = [](const Connection& connection) { return connection.outstanding > 0; };
    while (std::ranges::any_of(connections_, waits))
        turn();
    task_ = {};
}

}  // namespace weir::calibrate
