// esp_engine_test.cc - two ends of a tunnel, an independent judge between them, and everything that must be
// refused.
#include "vswitch/esp/esp_engine.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <set>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/vswitch/esp/esp_judge.h"

using namespace weir;
using namespace weir::testing;

namespace {

struct Kind {
    EspAlgorithm algorithm;
    bool v6;
};
constexpr Kind kKinds[] = {{EspAlgorithm::kAes128Gcm, false},       {EspAlgorithm::kAes256Gcm, true},
                           {EspAlgorithm::kAes128CbcSha256, false}, {EspAlgorithm::kAes256CbcSha256, true},
                           {EspAlgorithm::kAes128CbcSha256, true},  {EspAlgorithm::kAes256Gcm, false}};
constexpr std::uint32_t kSpi = 1000;

CryptoDevice& device() {
    static CryptoDevice made((buffer_pool(), "crypto_openssl"), 2, 16);
    return made;
}
EspEngine& left() {
    static EspEngine made(device(), 0, buffer_pool());
    return made;
}
EspEngine& right() {
    static EspEngine made(device(), 1, buffer_pool());
    return made;
}

EspKeys keys() {
    EspKeys made{.spi = kSpi, .cipher = {}, .auth = {}};
    made.cipher.fill(7);
    made.auth.fill(9);
    return made;
}

/// 10.0.0.1 to 10.0.0.2, or fd00::1 to fd00::2.
FrameBytes header(bool v6) {
    FrameBytes bytes = ethernet(mac(0x22), mac(0x11), v6 ? kIpv6 : kIpv4, {});
    FrameBytes ip = v6 ? FrameBytes(40) : FrameBytes(20);
    ip[0] = v6 ? 0x60 : 0x45;
    ip[v6 ? 7 : 8] = 64;
    ip[v6 ? 6 : 9] = 50;
    for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
        ip[v6 ? 8 + 16 * end : 12 + 4 * end] = v6 ? 0xFD : 10;
        ip[v6 ? 23 + 16 * end : 15 + 4 * end] = static_cast<std::uint8_t>(end + 1);
    }
    bytes.insert(bytes.end(), ip.begin(), ip.end());
    return bytes;
}

struct Ends {
    explicit Ends(const Kind& kind, const EspKeys& theirs = keys())
        : front(header(kind.v6)),
          out(device(), keys(), {kind.algorithm, kind.v6, true, 0, front}),
          in(device(), theirs, {kind.algorithm, kind.v6, false, 64, {}}) {}
    FrameBytes front;
    EspSa out;
    EspSa in;
};

using Mbufs = std::vector<rte_mbuf*>;
using Outcomes = std::vector<EspOutcome>;

FrameBytes plain(std::size_t bytes, std::uint32_t number = 0) {
    return numbered(mac(9), mac(1), bytes, number);
}

/// Works on copies of the frames, burst by burst; those that succeed go to `out`. @return all outcomes
template <class Work>
Outcomes run(const std::vector<FrameBytes>& frames, std::size_t piece, std::vector<FrameBytes>& out,
             Work work) {
    Outcomes all;
    for (std::size_t first = 0; first < frames.size(); first += kCryptoBurst) {
        Mbufs burst;
        for (std::size_t i = first; i < std::min(first + kCryptoBurst, frames.size()); ++i)
            burst.push_back(to_mbuf(buffer_pool(), frames[i], piece));
        EspOutcomes outcomes;
        work(std::span(burst), outcomes);
        for (std::size_t i = 0; i < burst.size(); ++i) {
            all.push_back(outcomes[i]);
            if (outcomes[i] == EspOutcome::kDone)
                out.push_back(bytes_of(burst[i]));
            rte_pktmbuf_free(burst[i]);
        }
    }
    return all;
}

std::vector<FrameBytes> encrypted(Ends& ends, const std::vector<FrameBytes>& frames, std::size_t piece = 0) {
    std::vector<FrameBytes> out;
    run(frames, piece, out, [&](auto burst, auto& outcomes) { left().encrypt(ends.out, burst, outcomes); });
    REQUIRE(out.size() == frames.size());
    return out;
}

std::vector<FrameBytes> decrypted(Ends& ends, const std::vector<FrameBytes>& frames, std::size_t piece = 0) {
    std::vector<FrameBytes> out;
    run(frames, piece, out, [&](auto burst, auto& outcomes) { right().decrypt(ends.in, burst, outcomes); });
    return out;
}

Outcomes judged(Ends& ends, const std::vector<FrameBytes>& frames) {
    std::vector<FrameBytes> out;
    return run(frames, 0, out,
               [&](auto burst, auto& outcomes) { right().decrypt(ends.in, burst, outcomes); });
}

std::size_t esp_at(const Kind& kind) {
    return kEspFrontBytes + outer_ip_bytes(kind.v6);
}
FrameBytes behind(const FrameBytes& frame, std::size_t at) {
    return {frame.begin() + static_cast<std::ptrdiff_t>(at), frame.end()};
}

}  // namespace

TEST_CASE("whole frames of every size come back, whatever the algorithm, in one buffer or many") {
    for (const Kind& kind : kKinds)
        for (const std::size_t piece : {std::size_t{0}, std::size_t{90}}) {
            Ends ends(kind);
            std::vector<FrameBytes> sent{ethernet(mac(9), mac(1), kArp, arp_request()),
                                         tagged(plain(100), 5)};
            for (std::size_t bytes = 60; bytes <= 1514; bytes += bytes < 200 ? 1 : 23)
                sent.push_back(plain(bytes, static_cast<std::uint32_t>(bytes)));
            const auto out = encrypted(ends, sent, piece);
            for (std::size_t i = 0; i < out.size(); ++i)
                CHECK(out[i].size() ==
                      esp_frame_bytes(kind.algorithm, kind.v6, static_cast<std::uint32_t>(sent[i].size())));
            CHECK(decrypted(ends, out, piece) == sent);
            CHECK(ends.out.packets() == sent.size());
            CHECK(ends.in.packets() == sent.size());
        }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("OpenSSL opens what we encrypt, and finds Ethernet in RFC 4303's packet, and IVs that differ") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        std::vector<FrameBytes> sent;
        for (std::size_t bytes = 64; bytes <= 1500; bytes += 31)
            sent.push_back(plain(bytes));
        const auto out = encrypted(ends, sent);
        std::set<FrameBytes> ivs;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t ip = kEspFrontBytes;
            if (kind.v6) {
                CHECK(read16(out[i], ip + 4) == out[i].size() - ip - 40);
                CHECK(out[i][ip + 6] == 50);
            } else {
                CHECK(ip_checksum_good(out[i]));
                CHECK(read16(out[i], ip + 2) == out[i].size() - ip);
                CHECK(out[i][ip + 9] == 50);
            }
            const FrameBytes esp = behind(out[i], esp_at(kind));
            const auto opened = open_esp(kind.algorithm, keys(), esp);
            REQUIRE(opened);
            CHECK(opened->spi == kSpi);
            CHECK(opened->sequence == i + 1);
            CHECK(opened->next_header == 143);
            CHECK(opened->packet == sent[i]);
            ivs.emplace(esp.begin() + 8, esp.begin() + 8 + iv_bytes(kind.algorithm));
        }
        CHECK(ivs.size() == out.size());
    }
}

TEST_CASE("the outer header repeats DSCP and ECN of the packet inside") {
    for (const bool v6 : {false, true}) {
        Ends ends({EspAlgorithm::kAes128Gcm, v6});
        FrameBytes four = plain(100);
        four[15] = 0xBB;
        FrameBytes six = ethernet(mac(9), mac(1), kIpv6, ipv6(kUdp, udp(pattern(30))));
        write16(six, 14, 0x6BB0);
        for (const FrameBytes& frame : encrypted(ends, {four, six, tagged(four, 7)}))
            CHECK((v6 ? read16(frame, 14) >> 4 & 0xFF : frame[15]) == 0xBB);
    }
}

TEST_CASE("a flipped bit anywhere behind the outer header is found, and the wrong key") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const FrameBytes good = encrypted(ends, {plain(100)})[0];
        std::vector<FrameBytes> bad;
        for (std::size_t at = esp_at(kind) + kEspHeaderBytes; at < good.size(); ++at) {
            bad.push_back(good);
            bad.back()[at] = static_cast<std::uint8_t>(good[at] ^ 1U << at % 8);
        }
        CHECK(judged(ends, bad) == Outcomes(bad.size(), EspOutcome::kBadTag));
        EspKeys wrong = keys();
        wrong.cipher[3] ^= 1;
        wrong.auth[3] ^= 1;
        Ends other_key(kind, wrong);
        CHECK(judged(other_key, {good}) == Outcomes{EspOutcome::kBadTag});
        CHECK(judged(ends, {good}) == Outcomes{EspOutcome::kDone});
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("a frame passes once: not in the same burst, not later, not when older than the window") {
    using enum EspOutcome;
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const auto out = encrypted(ends, std::vector<FrameBytes>(300, plain(90)));
        CHECK(judged(ends, {out[1], out[1], out[2]}) == Outcomes{kDone, kReplayed, kDone});
        CHECK(judged(ends, {out[2]}) == Outcomes{kReplayed});
        CHECK(judged(ends, {out[299]}) == Outcomes{kDone});
        CHECK(judged(ends, {out[3], out[290]}) == Outcomes{kReplayed, kDone});
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("no sequence number comes twice: the last frames are refused when all are used") {
    using enum EspOutcome;
    Ends ends(kKinds[0]);
    ends.out.count(UINT32_MAX - 2);
    std::vector<FrameBytes> out;
    const auto work = [&](auto burst, auto& outcomes) { left().encrypt(ends.out, burst, outcomes); };
    CHECK(run({plain(90), plain(91), plain(92)}, 0, out, work) == Outcomes{kDone, kDone, kFailed});
    CHECK(run({plain(90)}, 0, out, work) == Outcomes{kFailed});
    REQUIRE(out.size() == 2);
    CHECK(read32(out[1], esp_at(kKinds[0]) + 4) == UINT32_MAX);
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("what is wrong with one frame of a burst is no other's, and every one keeps its place") {
    using enum EspOutcome;
    Ends ends(kKinds[0]);
    auto out = encrypted(ends, std::vector<FrameBytes>(6, plain(90)));
    out[1][60] ^= 1;
    out[3] = out[2];
    out[4].resize(50);
    CHECK(judged(ends, out) == Outcomes{kDone, kBadTag, kDone, kReplayed, kMalformed, kDone});
}

TEST_CASE("truncated frames, fragments and options are refused at every length") {
    for (const Kind& kind : kKinds) {
        Ends ends(kind);
        const FrameBytes good = encrypted(ends, {plain(100)})[0];
        std::vector<FrameBytes> bad;
        for (std::size_t bytes = esp_at(kind) + kEspHeaderBytes; bytes < good.size(); ++bytes) {
            FrameBytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
            bad.push_back(cut);
            const std::size_t inside =
                bytes - kEspFrontBytes - (kind.v6 ? 40 : 0);  // a header that agrees with it
            write16(cut, kEspFrontBytes + (kind.v6 ? 4 : 2), static_cast<std::uint16_t>(inside));
            bad.push_back(cut);
        }
        if (!kind.v6) {
            for (const std::uint16_t fragment : {std::uint16_t{0x2000}, std::uint16_t{1}}) {
                bad.push_back(good);
                write16(bad.back(), 20, fragment);
            }
            bad.push_back(good);
            bad.back()[14] = 0x46;
        }
        for (const EspOutcome outcome : judged(ends, bad))
            CHECK((outcome == EspOutcome::kMalformed || outcome == EspOutcome::kBadTag));
        FrameBytes padded = good;  // as short frames are on Ethernet
        padded.resize(padded.size() + 7);
        CHECK(decrypted(ends, {padded}) == std::vector<FrameBytes>{plain(100)});
    }
    CHECK(buffers_in_use() == 0);
}

TEST_CASE(
    "frames that fit no buffer, and chains when there is no buffer, stay as they are and are reported") {
    Ends ends(kKinds[0]);
    std::vector<FrameBytes> out;
    const auto work = [&](auto burst, auto& outcomes) { left().encrypt(ends.out, burst, outcomes); };
    CHECK(run({plain(3000), plain(100)}, 1000, out, work) ==
          Outcomes{EspOutcome::kTooLong, EspOutcome::kDone});
    rte_mbuf* chain = to_mbuf(buffer_pool(), plain(300), 100);
    Mbufs rest;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(buffer_pool()))
        rest.push_back(buffer);
    EspOutcomes outcomes;
    left().encrypt(ends.out, {&chain, 1}, outcomes);
    CHECK(outcomes[0] == EspOutcome::kNoBuffer);
    rest.push_back(chain);
    for (rte_mbuf* buffer : rest)
        rte_pktmbuf_free(buffer);
    CHECK(buffers_in_use() == 0);
}

TEST_CASE("reserved SPIs and devices that do not exist are refused") {
    EspKeys reserved = keys();
    reserved.spi = 255;
    CHECK_THROWS_AS(Ends(kKinds[0], reserved), HostError);
    CHECK_THROWS_AS(CryptoDevice("crypto_absent", 1, 2), HostError);
}
