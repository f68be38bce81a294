// capture_test.cc - the blocks of a capture file, comments of frames, filters.
#include <cstring>

#include "ctrl/cli/capture_filter.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/failure.h"
#include "ctrl/cli/pcapng.h"
#include "test/support/catch.h"

using namespace weir;
using namespace weir::cli;
using nlohmann::json;

namespace {

json frame_json() {
    return {{"unix_ns", 1'700'000'000'123'456'789},
            {"length", 60},
            {"vnic", "vm1"},
            {"direction", "from_vm"},
            {"verdict", "dropped"},
            {"reason", "mac_spoof"},
            {"queue_delay_ns", 0},
            {"bytes", "AQID"}};
}

std::uint32_t word(const std::string& block, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, block.data() + at, sizeof(value));
    return value;
}

}  // namespace

TEST_CASE("every block has its length at both ends, a multiple of four bytes") {
    const std::string blocks[] = {
        pcapng_section("weirctl"),
        pcapng_interface("vm1", 96, "udp"),
        pcapng_interface("uplink", 96, ""),
        pcapng_frame({.unix_ns = 1, .length = 60, .bytes = "12345", .comment = "why"}),
        pcapng_frame({.unix_ns = 1, .length = 60, .bytes = "", .comment = ""}),
        pcapng_statistics(1, 10, 2)};
    for (const std::string& block : blocks) {
        CHECK(block.size() % 4 == 0);
        CHECK(word(block, 4) == block.size());
        CHECK(word(block, block.size() - 4) == block.size());
    }
}

TEST_CASE("a frame's block has time, lengths, bytes, direction and comment") {
    const std::string block = pcapng_frame(captured_frame(frame_json()));
    CHECK(word(block, 0) == 6);
    CHECK(word(block, 8) == 0);
    CHECK((std::uint64_t{word(block, 12)} << 32 | word(block, 16)) == 1'700'000'000'123'456'789);
    CHECK(word(block, 20) == 3);
    CHECK(word(block, 24) == 60);
    CHECK(block.substr(28, 4) == std::string("\x01\x02\x03\0", 4));
    CHECK(word(block, 32) == (4U << 16 | 2U));  // the option "flags": four bytes
    CHECK(word(block, 36) == 1);                // inbound
    CHECK(block.find("from vm (vm1): dropped: mac_spoof") != std::string::npos);
}

TEST_CASE("a comment says direction, vNIC, verdict, reason and the time in a queue") {
    json frame = frame_json();
    CHECK(capture_comment(frame) == "from vm (vm1): dropped: mac_spoof");
    frame["verdict"] = "forwarded";
    frame["reason"] = nullptr;
    frame["queue_delay_ns"] = 1'200'000;
    CHECK(capture_comment(frame) == "from vm (vm1): forwarded, waited 1.2 ms");
    frame["vnic"] = nullptr;
    frame["direction"] = "to_wire";
    frame["queue_delay_ns"] = 0;
    CHECK(capture_comment(frame) == "to wire: forwarded");
    CHECK_FALSE(captured_frame(frame).inbound);
}

TEST_CASE("a filter is compiled for Ethernet, or refused with libpcap's reason") {
    const auto filter = compile_filter("ip", 96);
    REQUIRE(filter.size() == 4);
    CHECK(filter[0].code == 0x28);
    CHECK(filter[0].value == 12);
    CHECK(filter[1].value == 0x0800);
    for (const char* wrong : {"tcp prot 80", "ip and", "host 10.0.0.300", "(", "proto 1000000000000"}) {
        try {
            (void)compile_filter(wrong, 96);
            FAIL(wrong << " was compiled");
        } catch (const Failure& failure) {
            CHECK(failure.exit_code == kExitBadInput);
            CHECK(failure.faults.at(0).path == "--filter");
            CHECK_FALSE(failure.faults.at(0).message.empty());
        }
    }
    std::string longest = "port 1";
    for (unsigned port = 2; port < 400; ++port)
        longest += " or port " + std::to_string(2 * port);
    CHECK_THROWS_AS((void)compile_filter(longest, 96), Failure);
}
