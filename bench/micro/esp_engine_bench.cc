// esp_engine_bench.cc - cycles per frame of 1400 bytes into ESP, by crypto device and algorithm.
// Source: RFC 4303. Units: TSC cycles. Threads: one. `bench/run.sh encryption` runs it beside
// dpdk-test-crypto-perf, which measures the device alone.
#include <benchmark/benchmark.h>
#include <rte_mbuf.h>

#include <cstring>
#include <stdexcept>

#include "bench/micro/buffers.h"
#include "bench/micro/cycles.h"
#include "vswitch/esp/esp_engine.h"

namespace weir::bench {
namespace {

constexpr std::uint16_t kFrameBytes = 1400;
constexpr std::uint16_t kPacketBytes = kFrameBytes - 14;

EspKeys keys() {
    EspKeys made{.spi = 1000, .cipher = {}, .auth = {}};
    made.cipher.fill(1);
    made.auth.fill(2);
    return made;
}

/// Ethernet and IPv4.
constexpr std::array<std::uint8_t, 34> kHeader{0, 0, 0, 0, 0, 2,  0,  0, 0, 0,  0, 1, 8, 0,  0x45, 0, 0,
                                               0, 0, 0, 0, 0, 64, 50, 0, 0, 10, 0, 0, 1, 10, 0,    0, 2};

/// Writes the frame's header anew, as if a VM had sent the frame and the switch had read it; the payload is
/// the last round's ciphertext.
void renew(rte_mbuf* frame) {
    static constexpr std::uint8_t kHead[34] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0x45, 0, kPacketBytes >> 8, kPacketBytes & 0xFF};
    frame->data_off = RTE_PKTMBUF_HEADROOM;
    frame->data_len = kFrameBytes;
    frame->pkt_len = kFrameBytes;
    std::memcpy(rte_pktmbuf_mtod(frame, void*), kHead, sizeof(kHead));
}

void encrypts(benchmark::State& state, const char* driver, EspAlgorithm algorithm) {
    rte_mempool* const buffers = buffer_pool();
    try {
        CryptoDevice device(driver, 1, 2);
        EspEngine engine(device, 0, buffers);
        EspSa sa(device, keys(), {algorithm, false, true, 0, kHeader});
        EspOutcomes outcomes;
        // The same buffers again and again, as those of the switch, which come from a mempool's cache.
        std::array<rte_mbuf*, kCryptoBurst> frames{};
        if (rte_pktmbuf_alloc_bulk(buffers, frames.data(), kCryptoBurst) != 0)
            throw std::runtime_error("no buffers");
        std::uint64_t spent = 0;
        for (auto _ : state) {
            for (rte_mbuf* frame : frames)
                renew(frame);
            const std::uint64_t began = cycles();
            engine.encrypt(sa, frames, outcomes);
            spent += cycles() - began;
            for (const EspOutcome outcome : outcomes)
                if (outcome != EspOutcome::kDone)
                    throw std::runtime_error("the engine refused a frame");
        }
        state.counters["cycles_per_packet"] = static_cast<double>(spent) / static_cast<double>(sa.packets());
        rte_pktmbuf_free_bulk(frames.data(), kCryptoBurst);
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}
BENCHMARK_CAPTURE(encrypts, openssl_gcm, "crypto_openssl", EspAlgorithm::kAes128Gcm);
BENCHMARK_CAPTURE(encrypts, aesni_gcm_gcm, "crypto_aesni_gcm", EspAlgorithm::kAes128Gcm);
BENCHMARK_CAPTURE(encrypts, aesni_mb_gcm, "crypto_aesni_mb", EspAlgorithm::kAes128Gcm);
BENCHMARK_CAPTURE(encrypts, openssl_cbc, "crypto_openssl", EspAlgorithm::kAes128CbcSha256);
BENCHMARK_CAPTURE(encrypts, aesni_mb_cbc, "crypto_aesni_mb", EspAlgorithm::kAes128CbcSha256);

}  // namespace
}  // namespace weir::bench
