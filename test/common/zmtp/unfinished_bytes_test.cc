// unfinished_bytes_test.cc - an account of bytes and messages, on paper and of a real connection over tcp.
#include "common/zmtp/unfinished_bytes.h"

#include <zmq.hpp>

#include "test/support/catch.h"

using namespace weir;
using zmtp::UnfinishedBytes;

TEST_CASE("a part on the wire has the bytes that ZeroMQ's frames and boxes add") {
    CHECK(zmtp::curve_bytes(0) == 35);
    CHECK(zmtp::curve_bytes(222) == 257);
    CHECK(zmtp::curve_bytes(223) == 265);
}

TEST_CASE("what came and was not shown adds up, and only small remainders are forgotten") {
    UnfinishedBytes bytes;
    CHECK(bytes.of(300) == 300);  // the handshake
    bytes.on_message(1'000, 1'300);
    CHECK(bytes.of(1'300) == 0);
    bytes.on_message(1'000, 2'250);  // the kernel's count may be that of a moment before
    CHECK(bytes.of(2'300) == 50);
    std::uint64_t read = 2'300;
    for (int queued = 0; queued < 5; ++queued) {  // whole messages do not hide an unfinished one behind them
        read += 2'000'000;
        bytes.on_message(1'000, read);
    }
    CHECK(bytes.of(read) > 9'990'000);
    UnfinishedBytes idle;
    for (std::uint64_t second = 1; second < 1'000'000; ++second)  // heartbeats of eleven days
        idle.on_message(100, second * 300);
    CHECK(idle.of(300'000'000) <= 300);
}

TEST_CASE("the kernel's count of a connection over tcp is what its messages take") {
    zmq::context_t context;
    char open[41];
    char secret[41];
    REQUIRE(zmq_curve_keypair(open, secret) == 0);
    zmq::socket_t router(context, zmq::socket_type::router);
    router.set(zmq::sockopt::curve_server, true);
    router.set(zmq::sockopt::curve_secretkey, secret);
    router.bind("tcp://127.0.0.1:*");
    zmq::socket_t dealer(context, zmq::socket_type::dealer);
    dealer.set(zmq::sockopt::curve_serverkey, open);
    dealer.set(zmq::sockopt::curve_publickey, open);
    dealer.set(zmq::sockopt::curve_secretkey, secret);
    dealer.set(zmq::sockopt::linger, 0);
    dealer.connect(router.get(zmq::sockopt::last_endpoint));
    const auto send = [&](std::size_t size) {
        dealer.send(zmq::message_t(0), zmq::send_flags::sndmore);
        dealer.send(zmq::message_t(size), zmq::send_flags::none);
        zmq::message_t part;
        for (int parts = 0; parts < 3; ++parts)
            REQUIRE(router.recv(part));
        const auto read = zmtp::read_bytes(zmq_msg_get(part.handle(), ZMQ_SRCFD));
        REQUIRE(read);
        return *read;
    };
    const std::uint64_t first = send(10);
    CHECK(send(100'000) - first == zmtp::curve_bytes(0) + zmtp::curve_bytes(100'000));
    CHECK(send(0) - first == 3 * zmtp::curve_bytes(0) + zmtp::curve_bytes(100'000));
    CHECK_FALSE(zmtp::read_bytes(0));
    CHECK_FALSE(zmtp::read_bytes(-1));
}
