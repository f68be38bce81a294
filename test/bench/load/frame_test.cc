// frame_test.cc - the generator's frames, byte by byte, and the combinations of keys that make none.
#include "bench/load/virtio/frame.h"

#include <rte_byteorder.h>
#include <rte_ip.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "test/support/catch.h"

using namespace weir::load;
using nlohmann::json;

namespace {

constexpr Mac kFrom{0x02, 0, 0, 0, 0, 1};
constexpr Mac kTo{0x02, 0, 0, 0, 0, 2};

StreamSpec stream(json keys) {
    keys["from"] = 0;
    if (!keys.contains("broadcast"))
        keys["to"] = 1;
    return parse_run({{"streams", json::array({keys})}}, 2).streams.front();
}

std::vector<std::uint8_t> frame_of(const StreamSpec& spec) {
    std::vector<std::uint8_t> frame(spec.size);
    build_frame(frame.data(), spec, 7, kFrom, kTo);
    return frame;
}

rte_ipv4_hdr ip4(const std::vector<std::uint8_t>& frame) {
    rte_ipv4_hdr ip;
    std::memcpy(&ip, frame.data() + kEtherBytes, sizeof ip);
    return ip;
}

std::uint16_t checksum_of(rte_ipv4_hdr ip) {
    ip.hdr_checksum = 0;
    return rte_ipv4_cksum(&ip);
}

std::string refusal(const json& keys) {
    try {
        (void)stream(keys);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a plain frame is UDP over IPv4 with the stream's stamp") {
    const auto frame = frame_of(stream({{"size", 64}}));
    CHECK(ip4(frame).src_addr == rte_cpu_to_be_32(0x0A00'0001));
    CHECK(ip4(frame).hdr_checksum == checksum_of(ip4(frame)));
    const auto stamp = read_stamp(frame.data(), 64);
    REQUIRE(stamp);
    CHECK(stamp->stream == 7);
}

TEST_CASE("a source that is written anew leaves a right checksum") {
    auto frame = frame_of(stream({{"src_ip", "10.9.0.255"}, {"src_ips", 60'000}}));
    CHECK(ip4(frame).src_addr == rte_cpu_to_be_32(0x0A09'00FF));
    write_source(frame.data() + kEtherBytes, 0x0A09'0100);
    CHECK(ip4(frame).src_addr == rte_cpu_to_be_32(0x0A09'0100));
    CHECK(ip4(frame).hdr_checksum == checksum_of(ip4(frame)));
}

TEST_CASE("extension headers lead to UDP at the end of their chain") {
    for (const auto& [size, headers] : {std::pair{1500, 8}, {1500, 1}, {574, 64}, {9000, 2}}) {
        INFO(size << " bytes, " << headers << " headers");
        const auto frame =
            frame_of(stream({{"size", size}, {"extensions", headers}, {"src_ip", "10.1.0.5"}}));
        const std::uint8_t* const ip = frame.data() + kEtherBytes;
        CHECK((frame[12] == 0x86 && frame[13] == 0xDD));
        CHECK((ip[8] == 0x20 && ip[11] == 0xB8 && ip[20] == 10 && ip[21] == 1 && ip[23] == 5));
        CHECK((ip[4] << 8 | ip[5]) == size - 14 - 40);
        std::uint8_t next = ip[6];
        std::size_t at = 40;
        int seen = 0;
        for (; next == 60; ++seen) {
            next = ip[at];
            at += (ip[at + 1] + std::size_t{1}) * 8;
        }
        CHECK(seen == headers);
        CHECK(next == IPPROTO_UDP);
        CHECK((ip[at + 4] << 8 | ip[at + 5]) == size - 14 - static_cast<int>(at));
    }
}

TEST_CASE("keys that make no frame are refused, and the error names the stream") {
    CHECK(refusal({{"size", 9001}}) == "stream 0->1: size: found 9001; allowed 64..9000");
    CHECK(refusal({{"size", 100}, {"extensions", 8}}) ==
          "stream 0->1: size: found 100; its headers need 126");
    CHECK(refusal({{"size", 1500}, {"extensions", 8}, {"src_ips", 2}}).find("extensions: not with") !=
          std::string::npos);
    CHECK(refusal({{"src_ip", "10.0.0.256"}}) ==
          "src_ip: found '10.0.0.256'; allowed: an IPv4 address, e.g. 10.0.0.1");
    CHECK(refusal({{"broadcast", true}}).empty());
}
