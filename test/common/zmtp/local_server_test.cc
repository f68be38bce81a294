// local_server_test.cc - ZeroMQ's own clients, and clients that break the rules.
#include "common/zmtp/local_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <zmq.hpp>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"

using namespace weir;

namespace {

constexpr LocalServer::Bounds kBounds{
    .message = {.bytes = 100'000, .parts = 3}, .connections = 4, .held = 250'000};

// A server on a manual clock, with its log.
struct Place {
    test::TempFolder folder;
    std::vector<std::string> log;
    LocalServer server;
    Nanos now = kNanosPerSec;

    explicit Place(const LocalServer::Bounds& bounds = kBounds)
        : server({folder.file("socket"), "control_socket", {}}, bounds,
                 [this](const std::string& text) { log.push_back(text); }) {}
    void turn() {
        server.work(now);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    std::optional<LocalServer::Message> receive() {
        REQUIRE(testing::until([&] { return server.has_message(); }, [&] { turn(); }));
        return server.receive();
    }
    [[nodiscard]] std::string endpoint() const { return "ipc://" + folder.file("socket"); }
};

// A client that writes any bytes.
class Raw {
  public:
    explicit Raw(Place& place) : place_(place) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        place.folder.file("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
        REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    ~Raw() { close(socket_); }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;

    // All of it, while the server takes it. @return false: the connection has ended
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && errno != EAGAIN)
                return false;
            bytes.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
            place_.turn();
        }
        return true;
    }
    bool introduce() {
        std::string ready("\4\x1a\5READY\x0bSocket-Type\0\0\0\6DEALER", 30);
        ready[1] = static_cast<char>(ready.size() - 2);
        return send(zmtp::greeting() + ready);
    }
    bool send_message(std::string_view text) { return send(zmtp::frames_of(std::array{text})); }
    // Reads nothing of it. @return whether the server has ended the connection
    bool has_ended() {
        for (int turns = 0; turns < 20; ++turns)
            place_.turn();
        std::array<char, 4'096> bytes;
        ssize_t count = 0;
        do
            count = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
        while (count > 0);
        return count == 0 || errno == ECONNRESET;
    }

  private:
    Place& place_;
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace

TEST_CASE("REQ and DEALER sockets of ZeroMQ are answered, with their envelopes, in their order") {
    LocalServer::Bounds bounds = kBounds;
    bounds.held = 10 << 20;
    Place place(bounds);
    zmq::context_t context;
    zmq::socket_t asking(context, zmq::socket_type::req);
    zmq::socket_t dealer(context, zmq::socket_type::dealer);
    for (zmq::socket_t* socket : {&asking, &dealer}) {
        socket->set(zmq::sockopt::linger, 0);
        socket->set(zmq::sockopt::heartbeat_ivl, 50);
        socket->connect(place.endpoint());
    }
    asking.send(zmq::str_buffer("question"), zmq::send_flags::none);
    auto message = place.receive();
    CHECK(message->parts == zmtp::Parts{"", "question"});
    CHECK(message->peer.user == getuid());
    CHECK(message->peer.process == getpid());
    const std::string large(3 << 20, 'x');  // more than the kernel takes at once
    CHECK(place.server.answer(*message, large) == LocalServer::Sent::kYes);
    zmq::message_t reply;
    REQUIRE(testing::until([&] { return asking.recv(reply, zmq::recv_flags::dontwait).has_value(); },
                           [&] { place.server.work(place.now); }));
    CHECK(reply.to_string_view() == large);

    for (const char* text : {"1", "2", "3"})
        dealer.send(zmq::buffer(std::string_view(text)), zmq::send_flags::none);
    std::string order;
    for (int i = 0; i < 3; ++i) {
        message = place.receive();
        order += message->parts.at(0);
        CHECK_FALSE(place.server.has_message());  // the next one when this one is answered
        CHECK(place.server.answer(*message, "got " + message->parts[0]) == LocalServer::Sent::kYes);
    }
    CHECK(order == "123");
    for (const char* text : {"got 1", "got 2", "got 3"}) {
        REQUIRE(testing::until([&] { return dealer.recv(reply, zmq::recv_flags::dontwait).has_value(); },
                               [&] { place.turn(); }));
        CHECK(reply.to_string_view() == text);
    }
    const std::uint64_t connection = message->connection;
    dealer.close();
    CHECK(testing::until([&] { return !place.server.has(connection); }, [&] { place.turn(); }));
    const std::array parts{std::string_view("late")};
    CHECK(place.server.send(connection, parts) == LocalServer::Sent::kGone);
    CHECK(place.server.counters().ended == 0);
    CHECK(place.log.empty());
}

TEST_CASE("a message without an end is ended at its bound, and its user is named once") {
    Place place;
    const std::string part = std::string("\3\0\0\0\0\0\0\x40\0", 9) + std::string(0x4000, 'x');
    for (int attacker = 0; attacker < 3; ++attacker) {
        Raw raw(place);
        REQUIRE(raw.introduce());
        bool is_open = true;
        for (int parts = 0; parts < 1'000 && is_open; ++parts)
            is_open = raw.send(part);
        CHECK_FALSE(is_open);
    }
    CHECK(place.server.counters().ended == 3);
    REQUIRE(place.log.size() == 1);
    CHECK(place.log[0] ==
          "control_socket: uid " + std::to_string(getuid()) + ", process " + std::to_string(getpid()) +
              " sent a message of more than 3 parts; its connection was ended, and is counted from "
              "now on");
}

TEST_CASE("of too many connections those go first that never sent a message") {
    Place place;
    Raw honest(place);
    REQUIRE(honest.introduce());
    REQUIRE(honest.send_message("hello"));
    const auto message = place.receive();
    std::vector<std::unique_ptr<Raw>> idle;
    for (int i = 0; i < 20; ++i) {
        idle.push_back(std::make_unique<Raw>(place));
        place.turn();
    }
    CHECK(place.server.has(message->connection));
    CHECK(place.server.answer(*message, "answer") == LocalServer::Sent::kYes);
    CHECK(place.server.counters().ended == 17);
    CHECK(idle.front()->has_ended());
    CHECK_FALSE(idle.back()->has_ended());
    place.now += LocalServer::kSilentMax;
    CHECK(idle.back()->has_ended());
    CHECK(place.server.has(message->connection));
}

TEST_CASE("connections that hold too much together lose the one that holds most") {
    Place place;
    std::vector<std::unique_ptr<Raw>> clients;
    for (const std::size_t size : std::array<std::size_t, 3>{90'000, 95'000, 60'000}) {  // 245,000 of 250,000
        clients.push_back(std::make_unique<Raw>(place));
        REQUIRE(clients.back()->introduce());
        const std::string whole = zmtp::frames_of(std::array{std::string_view(std::string(size, 'x'))});
        REQUIRE(clients.back()->send(std::string_view(whole).substr(0, whole.size() - 1)));
    }
    clients.push_back(std::make_unique<Raw>(place));
    REQUIRE(clients.back()->introduce());
    REQUIRE(clients.back()->send_message(std::string(10'000, 'y')));
    CHECK(place.receive()->parts == zmtp::Parts{std::string(10'000, 'y')});
    CHECK(clients[1]->has_ended());
    for (const std::size_t other : std::array<std::size_t, 3>{0, 2, 3})
        CHECK_FALSE(clients[other]->has_ended());
    REQUIRE(clients[0]->send("x"));
    CHECK(place.receive()->parts.at(0).size() == 90'000);
    place.turn();
    place.now += LocalServer::kUnfinishedMax;
    CHECK(clients[2]->has_ended());
    CHECK_FALSE(clients[0]->has_ended());
}

TEST_CASE("answers that are not read hold no more than the bound, and a client's next request waits") {
    LocalServer::Bounds bounds = kBounds;
    bounds.held = 10 << 20;
    Place place(bounds);
    Raw greedy(place);
    REQUIRE(greedy.introduce());
    REQUIRE(greedy.send_message("all of it"));
    const auto first = place.receive();
    REQUIRE(greedy.send_message("again"));
    CHECK(place.server.answer(*first, std::string(8 << 20, 'x')) == LocalServer::Sent::kYes);
    for (int turns = 0; turns < 20; ++turns)
        place.turn();
    CHECK_FALSE(place.server.has_message());
    const std::array parts{std::string_view("more")};
    CHECK(place.server.send(first->connection, parts) == LocalServer::Sent::kFull);
    Raw second(place);
    REQUIRE(second.introduce());
    REQUIRE(second.send_message("too"));
    CHECK(place.server.answer(*place.receive(), std::string(7 << 20, 'x')) == LocalServer::Sent::kYes);
    place.turn();
    CHECK_FALSE(place.server.has(first->connection));
    CHECK(greedy.has_ended());
}

TEST_CASE("pings are answered, and a client that reads no answer to them is read no more") {
    Place place;
    Raw raw(place);
    REQUIRE(raw.introduce());
    std::string pings;
    for (int i = 0; i < 1'000; ++i)
        pings += std::string("\4\7\4PING\0\0", 9);
    for (int i = 0; i < 20; ++i)
        REQUIRE(raw.send(pings));
    CHECK_FALSE(raw.has_ended());
    CHECK(place.server.counters().ended == 0);
}

TEST_CASE("a socket's file has the mode that is asked for, vanishes at the end, and leaves another's alone") {
    const test::TempFolder folder;
    const std::string path = folder.file("made/by it/socket");
    const auto log = [](const std::string&) {};
    {
        LocalServer server({path, "control_read_socket", 0660}, kBounds, log);
        struct stat file {};
        REQUIRE(stat(path.c_str(), &file) == 0);
        CHECK((file.st_mode & 0777) == 0660);  // under any umask
        std::filesystem::remove_all(folder.file("made"));
        server.work(kNanosPerSec);
        CHECK(std::filesystem::exists(path));
        REQUIRE(stat(path.c_str(), &file) == 0);
        CHECK((file.st_mode & 0777) == 0660);
    }
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK_THROWS_AS(LocalServer({"/proc/none/socket", "control_socket", {}}, kBounds, log), HostError);
    CHECK_THROWS_WITH(LocalServer({folder.file(std::string(120, 'x')), "control_socket", {}}, kBounds, log),
                      ContainsSubstring("shorter than 108 bytes"));
}
