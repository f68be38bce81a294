// esp_tunnel_test.cc - two ends of a tunnel, an independent judge between them, and everything that must be
// refused.
#include "vswitch/appliance/esp_tunnel.h"

#include <rte_mbuf.h>

#include <set>

#include "common/error.h"
#include "test/appliance/esp_judge.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"

using namespace weir;
using namespace weir::testing;

namespace {

struct Kind {
    EspAlgorithm algorithm;
    std::size_t key_bytes;
};
constexpr Kind kKinds[] = {{EspAlgorithm::kAesGcm, 16},
                           {EspAlgorithm::kAesGcm, 32},
                           {EspAlgorithm::kAesCbcHmacSha256, 16},
                           {EspAlgorithm::kAesCbcHmacSha256, 32}};

CryptoDevice& device() {
    static CryptoDevice made((buffer_pool(), "crypto_openssl"), 2, 16);
    return made;
}

EspKeys keys(const Kind& kind, std::uint32_t spi) {
    const auto filler = static_cast<std::uint8_t>(spi);
    const std::size_t auth = kind.algorithm == EspAlgorithm::kAesGcm ? 4 : 32;
    return {spi, FrameBytes(kind.key_bytes, filler), FrameBytes(auth, static_cast<std::uint8_t>(filler + 1))};
}

EspTunnelParameters left_end(const Kind& kind, InnerIp inner) {
    return {.algorithm = kind.algorithm,
            .inner = inner,
            .out = keys(kind, 1000),
            .in = keys(kind, 2000),
            .replay_window = 64,
            .local = 0x0A000001,
            .remote = 0x0A000002,
            .local_mac = {2, 0, 0, 0, 0, 1},
            .remote_mac = {2, 0, 0, 0, 0, 2},
            .vm_mac = {0x52, 0x54, 0, 0, 0, 1},
            .gateway_mac = {0x52, 0x54, 0, 0, 0, 9}};
}

EspTunnelParameters right_end(const Kind& kind, InnerIp inner) {
    EspTunnelParameters end = left_end(kind, inner);
    std::swap(end.out, end.in);
    std::swap(end.local, end.remote);
    end.vm_mac = {0x52, 0x54, 0, 0, 0, 2};
    return end;
}

struct Ends {
    explicit Ends(const Kind& kind, InnerIp inner = InnerIp::kIpv4)
        : left(device(), 0, buffer_pool(), left_end(kind, inner)),
          right(device(), 1, buffer_pool(), right_end(kind, inner)) {}
    EspTunnel left;
    EspTunnel right;
};

using Frames = std::vector<rte_mbuf*>;

FrameBytes plain(std::size_t bytes, std::uint32_t number = 0) {
    return numbered(mac(9), mac(1), bytes, number);
}

/// Encrypts copies; all must pass.
std::vector<FrameBytes> encrypted(EspTunnel& tunnel, const std::vector<FrameBytes>& frames,
                                  std::size_t piece = 0) {
    Frames burst;
    for (const FrameBytes& frame : frames)
        burst.push_back(to_mbuf(buffer_pool(), frame, piece));
    REQUIRE(tunnel.encrypt_burst(burst) == frames.size());
    std::vector<FrameBytes> out;
    for (rte_mbuf* frame : burst) {
        out.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    return out;
}

std::vector<FrameBytes> decrypted(EspTunnel& tunnel, const std::vector<FrameBytes>& frames,
                                  std::size_t piece = 0) {
    Frames burst;
    for (const FrameBytes& frame : frames)
        burst.push_back(to_mbuf(buffer_pool(), frame, piece));
    burst.resize(tunnel.decrypt_burst(burst));
    std::vector<FrameBytes> out;
    for (rte_mbuf* frame : burst) {
        out.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    return out;
}

FrameBytes behind(const FrameBytes& frame, std::ptrdiff_t bytes) {
    return {frame.begin() + bytes, frame.end()};
}

FrameBytes as_delivered(const FrameBytes& sent) {
    return ethernet(mac(2), mac(9), read16(sent, 12), behind(sent, 14));
}

}  // namespace

TEST_CASE("frames of every size come back, whatever the algorithm, in one buffer or many") {
    for (const Kind& kind : kKinds)
        for (const std::size_t piece : {std::size_t{0}, std::size_t{50}}) {
            Ends ends(kind);
            std::vector<FrameBytes> sent;
            std::vector<FrameBytes> wanted;
            for (std::size_t bytes = 64; bytes <= 1514; bytes += bytes < 200 ? 1 : 23) {
                sent.push_back(plain(bytes, static_cast<std::uint32_t>(bytes)));
                wanted.push_back(as_delivered(sent.back()));
            }
            REQUIRE(decrypted(ends.right, encrypted(ends.left, sent, piece), piece) == wanted);
            CHECK(ends.left.counters().encrypted == sent.size());
            CHECK(ends.right.counters().decrypted == sent.size());
        }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("OpenSSL opens what we encrypt, and finds RFC 4303 in it") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        std::vector<FrameBytes> sent;
        for (std::size_t bytes = 64; bytes <= 1500; bytes += 31)
            sent.push_back(plain(bytes));
        const auto out = encrypted(ends.left, sent);
        std::set<FrameBytes> ivs;
        for (std::size_t i = 0; i < out.size(); ++i) {
            CHECK(ip_checksum_good(out[i]));
            CHECK(read16(out[i], 16) == out[i].size() - 14);
            CHECK(out[i][23] == 50);
            CHECK(read32(out[i], 26) == 0x0A000001);
            CHECK(read32(out[i], 30) == 0x0A000002);
            const FrameBytes esp = behind(out[i], 34);
            const auto opened = open_esp(kind.algorithm, keys(kind, 1000), esp);
            REQUIRE(opened);
            CHECK(opened->spi == 1000);
            CHECK(opened->sequence == i + 1);
            CHECK(opened->next_header == 4);
            CHECK(opened->packet == behind(sent[i], 14));
            ivs.emplace(esp.begin() + 8, esp.begin() + 8 + iv_bytes(kind.algorithm));
        }
        CHECK(ivs.size() == out.size());
        if (kind.algorithm == EspAlgorithm::kAesCbcHmacSha256) {
            Ends again(kind);
            CHECK(behind(encrypted(again.left, {sent[0]})[0], 42) != behind(out[0], 42));
        }
    }
}

TEST_CASE("IPv6 goes through a tunnel of its own") {
    const FrameBytes six = ethernet(mac(9), mac(1), kIpv6, ipv6(kUdp, udp(pattern(300))));
    Ends ends(kKinds[0], InnerIp::kIpv6);
    const auto out = encrypted(ends.left, {six});
    CHECK(open_esp(EspAlgorithm::kAesGcm, keys(kKinds[0], 1000), behind(out[0], 34))->next_header == 41);
    CHECK(decrypted(ends.right, out) == std::vector<FrameBytes>{as_delivered(six)});
}

TEST_CASE("a flipped bit anywhere behind the outer header is found, and the wrong key") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const FrameBytes good = encrypted(ends.left, {plain(100)})[0];
        std::uint64_t flips = 0;
        for (std::size_t at = 42; at < good.size(); ++at, ++flips) {
            FrameBytes bad = good;
            bad[at] = static_cast<std::uint8_t>(bad[at] ^ 1U << at % 8);
            CHECK(decrypted(ends.right, {bad}).empty());
        }
        CHECK(ends.right.counters().bad_tag == flips);
        EspTunnelParameters wrong = right_end(kind, InnerIp::kIpv4);
        wrong.in.cipher[3] ^= 1;
        wrong.in.auth[3] ^= 1;
        EspTunnel stranger(device(), 1, buffer_pool(), wrong);
        CHECK(decrypted(stranger, {good}).empty());
        CHECK(stranger.counters().bad_tag == 1);
        CHECK(decrypted(ends.right, {good}).size() == 1);
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("a frame passes once: not in the same burst, not later, not when older than the window") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const auto out = encrypted(ends.left, std::vector<FrameBytes>(300, plain(90)));
        CHECK(decrypted(ends.right, {out[1], out[1], out[2]}).size() == 2);
        CHECK(decrypted(ends.right, {out[2]}).empty());
        CHECK(decrypted(ends.right, {out[299]}).size() == 1);
        CHECK(decrypted(ends.right, {out[3], out[290]}).size() == 1);
        CHECK(ends.right.counters().replayed == 3);
        CHECK(ends.right.counters().decrypted == 4);
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("truncated and foreign frames are refused at every length") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const FrameBytes good = encrypted(ends.left, {plain(100)})[0];
        for (std::size_t bytes = 1; bytes < good.size(); ++bytes) {
            FrameBytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
            CHECK(decrypted(ends.right, {cut}).empty());
            if (bytes >= 34) {  // a header that agrees with it
                write16(cut, 16, static_cast<std::uint16_t>(bytes - 14));
                CHECK(decrypted(ends.right, {cut}).empty());
            }
        }
        FrameBytes other = good;
        write32(other, 34, 1001);
        CHECK(decrypted(ends.right, {other, plain(100), arp_request()}).empty());
        const EspCounters& counted = ends.right.counters();
        CHECK(counted.malformed + counted.bad_tag == good.size() - 1 + (good.size() - 34) + 3);
        CHECK(counted.decrypted == 0);
        FrameBytes padded = good;  // as short frames are on Ethernet
        padded.resize(padded.size() + 7);
        CHECK(decrypted(ends.right, {padded}).size() == 1);
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("only finished frames of the tunnel's family are carried; the others are counted and freed") {
    Ends ends(kKinds[0]);
    Frames burst{
        to_mbuf(buffer_pool(), arp_request()),
        to_mbuf(buffer_pool(), tagged(plain(100), 5)),
        to_mbuf(buffer_pool(), ethernet(mac(9), mac(1), kIpv6, ipv6(kUdp, udp(pattern(30))))),
        ask_checksum(to_mbuf(buffer_pool(), ethernet(mac(9), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(9)))))),
        to_mbuf(buffer_pool(), FrameBytes(14, 1)),
        to_mbuf(buffer_pool(), plain(3000), 1000),
        to_mbuf(buffer_pool(), plain(100))};
    REQUIRE(ends.left.encrypt_burst(burst) == 1);
    rte_pktmbuf_free(burst[0]);
    CHECK(ends.left.counters().not_carried == 5);
    CHECK(ends.left.counters().too_long == 1);
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("without a free buffer a chained frame is dropped and counted") {
    Ends ends(kKinds[0]);
    Frames burst{to_mbuf(buffer_pool(), plain(300), 100)};
    Frames rest;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(buffer_pool()))
        rest.push_back(buffer);
    CHECK(ends.left.encrypt_burst(burst) == 0);
    CHECK(ends.left.counters().no_buffer == 1);
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("keys that cannot be right are refused with what to do") {
    const auto refused = [](auto change) {
        EspTunnelParameters end = left_end(kKinds[0], InnerIp::kIpv4);
        change(end);
        CHECK_THROWS_AS(EspTunnel(device(), 0, buffer_pool(), end), HostError);
    };
    refused([](EspTunnelParameters& end) { end.out.spi = 255; });
    refused([](EspTunnelParameters& end) { end.in.cipher.resize(24); });
    refused([](EspTunnelParameters& end) { end.out.auth.resize(3); });
    refused([](EspTunnelParameters& end) { end.in = end.out; });
    CHECK_THROWS_AS(CryptoDevice("crypto_of_nobody", 1, 2), HostError);
}
