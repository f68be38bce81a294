// agent_test.cc - reports to systemd: ready, the watchdog while the workers answer, stopping; stepped time.
#include "vswitch/agent/agent.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "test/support/catch.h"
#include "test/support/wait.h"
#include "test/vswitch/agent/fake_control.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// The part of a service manager: listens on a socket and names it in the environment.
class Manager {
  public:
    /// @param name of the socket in the environment's form: a path, or "@" and an abstract name
    explicit Manager(std::string name, const char* watchdog_usec = nullptr)
        : name_(std::move(name)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        if (name_.front() == '@')
            address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0);
        const timeval bound{testing::wait_bound() / std::chrono::seconds(1), 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
        ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
        if (watchdog_usec != nullptr)
            ::setenv("WATCHDOG_USEC", watchdog_usec, 1);
    }
    ~Manager() {
        for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
            ::unsetenv(variable);
        ::close(socket_);
        ::unlink(name_.c_str());
    }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    /// The next statement; "" when none comes.
    std::string receive(int flags = 0) const {
        std::array<char, 64> text{};
        const ssize_t length = ::recv(socket_, text.data(), text.size(), flags);
        return {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
    }
    std::string received_now() const { return receive(MSG_DONTWAIT); }

  private:
    std::string name_;
    int socket_;
};

std::string path_of(const char* what) {
    return (std::filesystem::temp_directory_path() / ("weir_agent_" + std::to_string(getpid()) + what))
        .string();
}

/// An agent at work.
class Running {
  public:
    explicit Running(SwitchControl& control)
        : agent_(control, path_of(".sock")), thread_([this] { agent_.run(stop_); }) {}
    ~Running() { stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void stop() {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }

  private:
    Agent agent_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace

TEST_CASE(
    "the agent reports to systemd that it is ready when it serves, and that it stops when it is stopped") {
    for (const std::string& name : {path_of(".notify"), "@weir-agent-test-" + std::to_string(getpid())}) {
        const Manager systemd(name);
        FakeControl control;
        Running agent(control);
        CHECK(systemd.receive() == "READY=1");
        agent.stop();
        CHECK(systemd.received_now() == "STOPPING=1");
        CHECK(systemd.received_now().empty());
    }
}

TEST_CASE("a watched agent shows life while its workers answer, and none when they do not") {
    const Manager systemd(path_of(".notify"), "40000");
    FakeControl control;
    {
        const Running agent(control);
        CHECK(systemd.receive() == "READY=1");
        CHECK(systemd.receive() == "WATCHDOG=1");
        CHECK(systemd.receive() == "WATCHDOG=1");
    }
    while (!systemd.received_now().empty()) {
    }
    control.complaint = "worker 0 does not answer";
    Running stuck(control);
    CHECK(systemd.receive() == "READY=1");
    CHECK(testing::until([&] { return control.reports >= 2; }));
    stuck.stop();
    CHECK(systemd.received_now() == "STOPPING=1");
}

TEST_CASE("signs of life are due at half of the time that systemd waits, to the process that it watches") {
    constexpr Nanos kStart = 5 * kNanosPerSec;
    {
        const Manager systemd(path_of(".notify"), "30000000");
        ServiceNotifier notifier;
        notifier.ready(kStart);
        CHECK_FALSE(notifier.alive_due(kStart + 15 * kNanosPerSec - 1));
        CHECK(notifier.alive_due(kStart + 15 * kNanosPerSec));
        notifier.alive(kStart + 15 * kNanosPerSec);
        CHECK_FALSE(notifier.alive_due(kStart + 29 * kNanosPerSec));
        ::setenv("WATCHDOG_PID", "1", 1);
        CHECK_FALSE(ServiceNotifier().alive_due(kNever));
    }
    ServiceNotifier alone;  // without systemd
    alone.ready(kStart);
    CHECK_FALSE(alone.alive_due(kNever));
    alone.stopping();
}

TEST_CASE("a step of 25 ms is 2,500 poll turns of 10 us and two ticks, and the next 5 ms have the third") {
    FakeControl control;
    Agent agent(control, path_of(".sock"), nullptr, &control.clock);
    CHECK(agent.step({.span = 25'000'000}) == SteppedClock::kStart + 25'000'000);
    CHECK(control.turns_made == 2'500);
    CHECK(control.ticks == 2);
    CHECK(agent.step({.span = 5'000'000, .turn = 1'000'000}) == SteppedClock::kStart + 30'000'000);
    CHECK(control.turns_made == 2'505);
    CHECK(control.ticks == 3);
}
