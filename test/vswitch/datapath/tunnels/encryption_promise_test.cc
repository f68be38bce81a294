// encryption_promise_test.cc - reservations of encryption beside vNICs without one, on a core whose cycles
// are counted by the test; the frames go through the real ESP stage.
#include "vswitch/qos/schedulers/encryption_promise.h"

#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t kMega = 1'000'000;
constexpr std::uint64_t kFrameCycles = 2'000;  // of a core on which a cycle takes a nanosecond

/// From the n-th VM to a host behind the tunnel, or to the VM beside it that does not encrypt.
FrameBytes from_vm(unsigned n, bool is_local = false) {
    FrameBytes frame = ethernet(mac(is_local ? 3 : 2), mac(n), kIpv4, ipv4(kUdp, udp(pattern(1'000))));
    write32(frame, 26, 0x0A000100 + n);
    write32(frame, 30, is_local ? 0x0A000103 : 0x0A000201);
    return frame;
}

/// Two VMs that encrypt and have 100 shares of the core each, and a third with 10,000; all send at all times.
struct EncryptingHost {
    TunnelHost side{true, 1, {}, 1, {.outside_every = 10'000, .length_max = 50'000}};
    std::array<VnicConfig, 3> configs{vm(1), vm(5), vm(6)};
    std::array<VnicId, 3> ids{0, 0, 0};
    std::array<bool, 3> is_local{};
    std::uint64_t taken = 0;  // from all rings

    EncryptingHost() {
        side.agree();
        for (std::size_t i = 0; i < configs.size(); ++i) {
            configs[i].encrypt = true;
            configs[i].cycle_shares = i == 2 ? 10'000 : 100;
            if (i != 0)
                ids[i] = side.host.add(configs[i]);
        }
        const std::array<unsigned, 3> numbers{1, 5, 6};
        for (std::size_t i = 0; i < configs.size(); ++i)
            side.host.port(ids[i]).source = [this, i, n = numbers[i]] {
                side.host.cycles += kFrameCycles;
                if (++taken % limits::kBurst == 0)
                    (void)side.nic.drain();  // the wire takes frames at all times
                return to_mbuf(buffer_pool(), from_vm(n, is_local[i]));
            };
        side.host.port(1).read_at_once();
    }
    void reserve(std::uint64_t first, std::uint64_t second) {
        configs[0].encrypt_reservation = first;
        configs[1].encrypt_reservation = second;
        for (std::size_t i = 0; i < configs.size(); ++i)
            side.host.change(ids[i], configs[i]);
    }
    /// Each one's rate in tokens per second. A turn takes as long as the cycles that it used.
    std::array<double, 3> run(Nanos duration) {
        std::array<double, 3> tokens{};
        for (std::size_t i = 0; i < ids.size(); ++i)
            tokens[i] = -static_cast<double>(side.host.stats(ids[i]).encryption_tokens);
        for (const Nanos end = side.host.now + duration; side.host.now < end;) {
            const std::uint64_t before = side.host.cycles;
            side.host.turn();
            side.host.now += side.host.cycles - before + 100;
        }
        for (std::size_t i = 0; i < ids.size(); ++i)
            tokens[i] = (tokens[i] + static_cast<double>(side.host.stats(ids[i]).encryption_tokens)) /
                        to_seconds(duration);
        return tokens;
    }
};

}  // namespace

TEST_CASE(
    "two tenants that encrypt get their reservations, 2 to 1 within 2%, beside a third without a promise",
    "[encryption]") {
    EncryptingHost host;
    (void)host.run(20'000'000);
    const auto by_shares = host.run(100'000'000);
    CHECK(by_shares[0] < 0.03 * by_shares[2]);
    CHECK(by_shares[1] < 0.03 * by_shares[2]);
    host.reserve(200 * kMega, 100 * kMega);
    (void)host.run(50'000'000);  // the bursts that the buckets begin with
    const auto reserved = host.run(200'000'000);
    CHECK(reserved[0] == Approx(200e6).epsilon(0.02));
    CHECK(reserved[1] == Approx(100e6).epsilon(0.02));
    const double all = by_shares[0] + by_shares[1] + by_shares[2];
    CHECK(reserved[2] == Approx(all - 300e6).epsilon(0.03));  // work goes on
    host.reserve(0, 0);
    (void)host.run(20'000'000);
    CHECK(host.run(100'000'000)[0] < 0.03 * by_shares[2]);
}

TEST_CASE("promises of more than the core can encrypt are cut by one ratio", "[encryption]") {
    EncryptingHost host;
    host.reserve(2'000 * kMega, 1'000 * kMega);  // a frame of 2,000 cycles costs some 1,060 tokens
    (void)host.run(20'000'000);
    const auto cut = host.run(200'000'000);
    CHECK(cut[0] + cut[1] > 300e6);
    CHECK(cut[0] == Approx(2 * cut[1]).epsilon(0.02));
    CHECK(cut[2] < 0.4 * (cut[0] + cut[1]));
}

TEST_CASE("a promise of encryption is a floor: with the larger part of the shares nothing changes",
          "[encryption]") {
    EncryptingHost host;
    host.configs[0].cycle_shares = 10'000;
    host.reserve(0, 0);
    (void)host.run(20'000'000);
    const auto without = host.run(100'000'000);
    CHECK(without[0] == Approx(without[2]).epsilon(0.03));
    host.reserve(100 * kMega, 0);
    (void)host.run(20'000'000);
    CHECK(host.run(100'000'000)[0] == Approx(without[0]).epsilon(0.05));
}

TEST_CASE("frames that stay on the host are paid by the promise too, and take no more of the core",
          "[encryption]") {
    EncryptingHost host;
    host.is_local[0] = true;
    host.reserve(2 * kMega, 0);
    (void)host.run(50'000'000);
    const std::uint64_t before = host.side.host.stats(0).from_vm.delivered.packets;
    (void)host.run(100'000'000);
    const auto frames = static_cast<double>(host.side.host.stats(0).from_vm.delivered.packets - before);
    // 2 Mtokens/s are 31,250 frames of 64 bytes a second; a frame takes 2,000 cycles, so it counts as one.
    // With 100 of 10,200 shares there are 490 frames in 100 ms besides.
    CHECK(frames < 3'125 + 490 + 64);
}

TEST_CASE("a poll pays for its frames, and at least for so many small ones", "[encryption]") {
    const auto wait_after = [](std::uint64_t tokens, std::uint32_t frames, std::uint64_t cycles) {
        EncryptionPromise promise;
        promise.set_profile(make_profile(kMega, 10'000), 0);
        promise.pay(tokens, frames, cycles, 64, 0);
        Nanos wait = 0;
        while (!promise.may_poll(wait))
            wait += 1'000;
        return wait;
    };
    CHECK(wait_after(48'000, 32, 64'000) == 38'001'000);  // 48,000 - 10,000 + 1 tokens at 1 per us
    CHECK(wait_after(9'000, 32, 32'000) == 0);
    CHECK(wait_after(0, 32, 1'024 * 300) == 9'201'000);  // 300 frames of 64
    CHECK(wait_after(0, 1, 10'240'000) == 630'001'000);  // 10,000 of them: all that was used
    EncryptionPromise promise;
    CHECK_FALSE(promise.given());
    promise.set_profile(make_profile(kMega, 10'000), 0);
    CHECK(promise.given());
    for (int i = 0; i < 100; ++i)
        promise.count(48'000, 0);
    CHECK_FALSE(promise.may_poll(9'000'000));
    CHECK(promise.may_poll(10'001'000));
}
