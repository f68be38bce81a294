// client_test.cc - the client against a switch that replies, refuses, sends garbage, is silent, or is absent.
#include "ctrl/cli/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "ctrl/cli/failure.h"
#include "test/ctrl/cli/fake_switch.h"
#include "test/support/catch.h"
#include "test/support/wait.h"

using namespace weir;
using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

Failure failure_of(const std::string& path, std::chrono::milliseconds timeout = weir::testing::wait_bound()) {
    try {
        (void)ask_program(path, "status", json::object(), timeout);
    } catch (const Failure& failure) {
        return failure;
    }
    FAIL("the call did not fail");
    throw;
}

}  // namespace

TEST_CASE("a call sends the command with its arguments and returns the data") {
    std::string seen;
    const FakeSwitch fake(fresh_socket(), [&](const std::string& request) {
        seen = request;
        return R"({"schema": 1, "ok": true, "data": {"answer": 42}})";
    });
    CHECK(ask_program(fake.path(), "vnic.show", {{"name", "vm1"}}) == json{{"answer", 42}});
    CHECK(json::parse(seen) ==
          json::parse(R"({"schema": 1, "command": "vnic.show", "args": {"name": "vm1"}})"));
}

TEST_CASE("the switch's faults come back whole, with exit status 1") {
    const FakeSwitch fake(fresh_socket(), [](const std::string&) {
        return R"({"schema": 1, "ok": false, "faults": [
            {"path": "change.limit", "found": "5", "allowed": "a unit", "message": "bare"}, {"path": "b", "found": 7}]})";
    });
    const Failure failure = failure_of(fake.path());
    CHECK(failure.exit_code == 1);
    REQUIRE(failure.faults.size() == 2);
    CHECK(failure.faults[0].to_line() == "change.limit: found 5; allowed: a unit; bare");
    CHECK(failure.faults[1].to_line() == "b");
}

TEST_CASE("a refusal without a reason is still reported") {
    const FakeSwitch fake(fresh_socket(), [](const std::string&) { return R"({"schema": 1, "ok": false})"; });
    CHECK(failure_of(fake.path()).faults.at(0).message == "the request was refused without a reason");
}

TEST_CASE("replies that are not of schema 1 are refused") {
    for (const char* reply : {"x", "{", "[]", "5", R"({"ok": true})", R"({"schema": 2, "ok": true})",
                              R"({"schema": 1})", R"({"schema": 1, "ok": "true"})", "\xFF\xFE"}) {
        INFO(reply);
        const FakeSwitch fake(fresh_socket(), [reply](const std::string&) { return reply; });
        CHECK(failure_of(fake.path()).faults.at(0).message ==
              "use weirctl and weir-switch, or weir-ctrl, of the same version");
    }
}

TEST_CASE("a call to a silent switch fails after the timeout") {
    const FakeSwitch fake(fresh_socket(), [](const std::string&) { return std::string(); });
    const Failure failure = failure_of(fake.path(), std::chrono::milliseconds(200));
    CHECK(failure.exit_code == 1);
    CHECK(failure.faults.at(0).found == "no reply within 200 ms");
    CHECK(weir::testing::until([&] { return fake.requests() == 1; }));
}

TEST_CASE("without a listener the call fails at once and the error names what to do") {
    const std::string path = fresh_socket();
    const Failure absent = failure_of(path);
    CHECK(absent.exit_code == 1);
    CHECK(absent.faults.at(0).path == "ipc://" + path);
    CHECK(absent.faults.at(0).message.find("start it (systemctl start weir-switch)") != std::string::npos);

    // The socket of a switch that was killed.
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    REQUIRE(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::close(dead);
    CHECK(failure_of(path).faults.at(0).found == "Connection refused");
    ::unlink(path.c_str());
}

TEST_CASE("a path that cannot be a socket is wrong input") {
    CHECK(failure_of("").exit_code == 2);
    CHECK(failure_of("/" + std::string(200, 'x')).exit_code == 2);
}

TEST_CASE("a switch that restarted is found again by the next call") {
    const std::string path = fresh_socket();
    for (int life = 1; life <= 2; ++life) {
        const FakeSwitch fake(path, [life](const std::string&) {
            return R"({"schema": 1, "ok": true, "data": )" + std::to_string(life) + "}";
        });
        CHECK(ask_program(path, "status", json::object(), weir::testing::wait_bound()) == life);
    }
}

TEST_CASE("arguments that are not UTF-8 are sent as replacement characters") {
    const FakeSwitch fake(fresh_socket(), [](const std::string& request) {
        return json{{"schema", 1}, {"ok", true}, {"data", json::parse(request)["args"]["name"]}}.dump();
    });
    CHECK(ask_program(fake.path(), "vnic.show", {{"name", "a\xFF"}}) == "a\xEF\xBF\xBD");
}
