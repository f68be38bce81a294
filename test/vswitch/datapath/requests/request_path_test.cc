// request_path_test.cc - requests of a VM to an appliance: tracked, held, released, settled; in whole frames.
#include "vswitch/datapath/requests/request_path.h"

#include <algorithm>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/requests/request_host.h"

using namespace weir;
using namespace weir::testing;

namespace {

using Host = RequestHost;

/// Of `get k`.
FrameBytes answer_of_900() {
    FrameBytes value = text("VALUE k 0 900\r\n");
    value.resize(value.size() + 902, 'v');
    const FrameBytes end = text("END\r\n");
    value.insert(value.end(), end.begin(), end.end());
    return value;
}

const FrameBytes kSet = text("set k 0 0 100\r\n");  // and 102 bytes of data

}  // namespace

TEST_CASE("requests pass while their tokens last, wait in order, and go when there are more") {
    Host host(vm_with(1'000));  // one second's worth at once
    FrameBytes set = kSet;
    set.resize(kSet.size() + 102, 'x');
    set[set.size() - 2] = '\r';
    set[set.size() - 1] = '\n';
    host.send(5000, 0, {}, 0x02);  // SYN
    std::uint32_t seq = 1;
    for (unsigned i = 0; i < 12; ++i, seq += static_cast<std::uint32_t>(set.size()))
        host.send(5000, seq, set);
    CHECK(host.left().size() == 1 + 8);  // 117 + 8 for each `STORED`: eight fit into 1000
    CHECK(host.host.stats(host.vm).from_vm.queued.packets == 4);
    CHECK(host.flow().held == 4);
    CHECK(host.flow().requests == 12);
    CHECK(balanced(host.host.stats(host.vm).from_vm));
    host.send(5000, seq, {});  // a pure ACK waits for nothing
    CHECK(host.left().size() == 1);
    host.send(5000, 1 + 9 * static_cast<std::uint32_t>(set.size()), set);  // still held
    CHECK(drops(host.host.stats(host.vm).from_vm, DropReason::kRequestHeld) == 1);
    host.host.run(2000 * kMs, 100'000);
    const std::vector<std::uint32_t> rest = host.left();
    REQUIRE(rest.size() == 4);
    CHECK(std::ranges::is_sorted(rest));
    CHECK(host.flow().held == 0);
    CHECK(host.flow().blocked_ns[0] > 100 * kMs);
    CHECK(host.flow().blocked_ns[2] == 0);
    CHECK(balanced(host.host.stats(host.vm).from_vm));
}

TEST_CASE("what a get brings back is learned, charged to the way back, and settled") {
    Host host(vm_with({}, 80'000));  // 10,000 bytes a second back
    FrameBytes value = text("VALUE k 0 4000\r\n");
    value.resize(value.size() + 4002, '\n');
    value[value.size() - 2] = '\r';
    const FrameBytes end = text("END\r\n");
    value.insert(value.end(), end.begin(), end.end());
    host.send(5000, 0, {}, 0x02);
    host.nic.arrive(segment(false, 5000, 0, {}, 0x12));
    const FrameBytes get = text("get k\r\n");
    std::uint32_t seq = 1;
    std::uint32_t back = 1;
    for (unsigned i = 0; i < 6; ++i) {
        host.send(5000, seq, get);
        seq += static_cast<std::uint32_t>(get.size());
        if (host.left().empty())
            break;
        host.host.now += kMs;
        for (std::size_t at = 0; at < value.size(); at += 1448) {
            const std::size_t bytes = std::min<std::size_t>(1448, value.size() - at);
            host.answer(5000, back,
                        FrameBytes(value.begin() + static_cast<std::ptrdiff_t>(at),
                                   value.begin() + static_cast<std::ptrdiff_t>(at + bytes)));
            back += static_cast<std::uint32_t>(bytes);
        }
    }
    const RequestFlowStats stats = host.flow();
    CHECK(stats.requests == 3);  // the first was charged nothing before its response; the third waits
    CHECK(stats.responses == 2);
    CHECK(stats.held == 1);
    CHECK(stats.used[2] == 2 * (4023 + 3 * 78));
    CHECK(stats.latency_p50 >= kMs);
    CHECK(stats.latency_p50 < 2 * kMs);
    CHECK(stats.outstanding == 1);
}

TEST_CASE("a vNIC that leaves takes along what it holds; other traffic is not looked at") {
    Host host(vm_with(1));
    host.send(5000, 0, {}, 0x02);
    host.send(5000, 1, text("get a\r\n"));
    host.send(5000, 8, text("get b\r\n"));
    host.send(5000, 15, text("get c\r\n"));
    CHECK(host.flow().held == 2);
    host.host.port(host.vm).offered.push_back(to_mbuf(buffer_pool(), numbered(kFar, mac(1), 100, 7)));
    host.host.settle();
    CHECK(host.left().size() == 3);
    host.host.remove(host.vm);
    CHECK(host.host.worker().drained());
}

TEST_CASE("segments that are shorter than their headers state are dropped") {
    Host host(vm_with(1));
    for (unsigned cut = 0; cut < 60; ++cut) {
        rte_mbuf* frame = segment(true, 5000, 1, text("get a\r\nget b\r\n"));
        rte_pktmbuf_trim(frame, static_cast<std::uint16_t>(std::min(cut, rte_pktmbuf_data_len(frame) - 20U)));
        host.host.port(host.vm).offered.push_back(frame);
        host.host.settle();
    }
    CHECK(balanced(host.host.stats(host.vm).from_vm));
    CHECK(drops(host.host.stats(host.vm).from_vm, DropReason::kRequestUnreadable) >= 30);
}

TEST_CASE("a payload in several buffers is one stream") {
    Host host(vm_with(1'000'000));
    host.send(5000, 0, {}, 0x02);
    for (const std::size_t piece : {60UL, 71UL, 100UL}) {
        const auto seq = static_cast<std::uint32_t>(1 + host.flow().requests * 7);
        host.host.port(host.vm).offered.push_back(segment(
            true, 5000, seq, text("get a\r\nget b\r\nget c\r\nget d\r\nget e\r\nget f\r\n"), kAck, piece));
        host.host.settle();
    }
    CHECK(host.flow().requests == 18);
    CHECK(host.flow().plain_bytes == 0);
}

TEST_CASE("no more is outstanding than the window takes; answers and resets make room") {
    // The window is 2,000 tokens. A `get k` is expected to bring as many bytes as the last one.
    Host host(vm_with({}), 2'000);
    const FrameBytes get = text("get k\r\n");
    const FrameBytes value = answer_of_900();
    for (std::uint16_t port = 5000; port < 5005; ++port) {
        host.send(port, 0, {}, 0x02);
        host.nic.arrive(segment(false, port, 0, {}, 0x12));
    }
    (void)host.left();
    host.send(5000, 1, get);
    host.answer(5000, 1, value);  // from here on a get is expected to cost 7 and 922
    (void)host.left();
    for (std::uint16_t port = 5000; port < 5005; ++port)
        host.send(port, port == 5000 ? 8 : 1, get);
    CHECK(host.left().size() == 2);
    CHECK(host.flow().held == 3);
    CHECK(host.flow().outstanding_tokens == 2 * 929);
    host.answer(5000, 1 + static_cast<std::uint32_t>(value.size()), value);
    CHECK(host.left().size() == 1);
    CHECK(host.flow().held == 2);
    host.nic.arrive(segment(false, 5001, 1, {}, 0x04));  // RST: it will never be answered
    host.host.settle();
    CHECK(host.left().size() == 1);
    CHECK(host.flow().outstanding_tokens == 2 * 929);
    host.send(5004, 8, {}, 0x04);  // RST: it passes; the request that waits was sent before and stays
    CHECK(host.flow().held == 1);
    host.answer(5002, 1, value);
    CHECK(host.left().size() == 2);                // with the RST
    CHECK(host.flow().outstanding_tokens == 929);  // the last one's response is not awaited
    host.answer(5003, 1, value);
    host.host.run(10 * kMs);
    CHECK(host.flow().held == 0);
    CHECK(host.flow().outstanding_tokens == 0);
    CHECK(host.flow().blocked_ns[kWindowHold] == 0);  // the clock stood still
    CHECK(balanced(host.host.stats(host.vm).from_vm));
}

TEST_CASE("after a client's reset its tokens are outstanding for as long as an answer takes") {
    Host host(vm_with({}), 1'000);
    const FrameBytes value = answer_of_900();
    for (std::uint16_t port = 5000; port < 5002; ++port) {
        host.send(port, 0, {}, 0x02);
        host.nic.arrive(segment(false, port, 0, {}, 0x12));
    }
    host.send(5000, 1, text("get k\r\n"));
    host.host.now += 4 * kMs;
    host.answer(5000, 1, value);
    host.send(5000, 8, text("get k\r\n"));
    (void)host.left();
    host.send(5000, 15, {}, 0x04);
    CHECK(host.left().size() == 1);
    CHECK(host.flow().outstanding_tokens == 929);
    host.send(5001, 1, text("get k\r\n"));
    host.host.run(3 * kMs);
    CHECK(host.left().empty());
    host.host.run(6 * kMs);
    CHECK(host.left().size() == 1);
    CHECK(host.flow().outstanding_tokens == 929);
    host.answer(5001, 1, value);
    CHECK(host.flow().outstanding_tokens == 0);
    CHECK(balanced(host.host.stats(host.vm).from_vm));
}

TEST_CASE("latency counts from when a request leaves, not from when it began to wait") {
    Host host(vm_with(1'000));
    host.send(5000, 0, {}, 0x02);
    FrameBytes set = text("set k 0 0 900\r\n");
    set.resize(set.size() + 902, 'x');
    set[set.size() - 2] = '\r';
    set[set.size() - 1] = '\n';
    const auto size = static_cast<std::uint32_t>(set.size());
    host.send(5000, 1, set);
    host.answer(5000, 1, text("STORED\r\n"));
    host.send(5000, 1 + size, set);
    CHECK(host.flow().held == 1);
    host.host.run(1000 * kMs, 100'000);
    CHECK(host.flow().held == 0);
    host.answer(5000, 9, text("STORED\r\n"));
    CHECK(host.flow().responses == 2);
    CHECK(host.flow().latency_max < 300 * kMs);  // it waited for 0.8 s here, and then was on its way
}
