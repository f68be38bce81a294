// property_test.cc - any frame from any side, with limits, floods, changes and removals: every frame is
// accounted for, no buffer is lost, nothing is reordered between two VMs, and no VM gets what was another's.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/vswitch/datapath/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kPorts = 5;
constexpr std::uint64_t kOffloads[] = {RTE_MBUF_F_TX_TCP_SEG,   RTE_MBUF_F_TX_IP_CKSUM,
                                       RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM,
                                       RTE_MBUF_F_TX_IPV4,      RTE_MBUF_F_TX_IPV6};

class Chaos {
  public:
    explicit Chaos(std::uint32_t seed, bool uplink)
        : random_(seed), nic_(2, 128), host_(config(), uplink ? &nic_ : nullptr) {
        for (unsigned n = 1; n <= kPorts; ++n)
            start(n, host_.add(random_config(n)));
    }

    void step() {
        const unsigned what = pick(1000);
        const unsigned n = 1 + pick(kPorts);
        if (what < 4)
            replace(n);
        else if (what < 10)
            host_.change(ids_[n], random_config(n));
        else if (what < 20)
            host_.port(ids_[n]).attached = pick(2) == 0;
        else if (what < 700)
            offer_valid(n);
        else if (what < 850)
            host_.port(ids_[n]).offered.push_back(hostile(n));
        else if (what < 900)
            nic_.drain();
        host_.now += pick(5000);
        host_.turn();
    }

    /// Frames whose sums do not hold, and pairs that were reordered, so far.
    [[nodiscard]] unsigned faults() {
        for (const auto& [n, id] : ids_) {
            faults_ += !balanced(host_.stats(id).from_vm);
            faults_ += !balanced(host_.stats(id).to_vm);
        }
        for (const WorkerId worker : {WorkerId{0}, WorkerId{1}}) {
            const WorkerSnapshot snapshot = host_.snapshot_worker(worker);
            faults_ += !balanced(snapshot.uplink.rx);
            faults_ += !balanced(snapshot.uplink.tx);
        }
        return faults_;
    }
    [[nodiscard]] std::uint64_t received() const { return received_; }

  private:
    static SwitchConfig config() {
        SwitchConfig config;
        config.workers = {1, 2};
        config.uplink.rate_bps = 1'000'000'000;
        config.flood_limit_pps = 5000;
        return config;
    }
    unsigned pick(unsigned below) { return random_() % below; }

    VnicConfig random_config(unsigned n) {
        VnicConfig vnic = vm(n);
        vnic.worker = static_cast<std::uint16_t>(n % 2);
        vnic.anti_spoofing = n != kPorts;
        vnic.shares = 1 + pick(1000);
        vnic.reservation_bps = pick(3) * 100'000'000;
        vnic.cycle_shares = 1 + pick(1000);
        if (pick(2) == 0)
            vnic.limit_bps = 1'000'000U << pick(11);
        if (pick(4) == 0)
            vnic.limit_pps = 1000U << pick(8);
        return vnic;
    }
    void start(unsigned n, VnicId id) {
        ids_[n] = id;
        FakePort& port = host_.port(id);
        port.taken = {.checksum = n % 2 == 0, .tso = n % 4 == 0};
        port.sink = [this, n](const rte_mbuf* frame) { check_order(n, bytes_of(frame)); };
        for (auto& [pair, last] : last_)
            if (pair.first == n || pair.second == n)
                last = 0;
    }
    /// Two vNICs go and come back, each with the other's id.
    void replace(unsigned n) {
        const unsigned other = 1 + n % kPorts;
        const VnicId id = ids_[n];
        const VnicId others_id = ids_[other];
        host_.remove(id);
        host_.remove(others_id);
        host_.add_again(others_id, random_config(n));
        start(n, others_id);
        host_.add_again(id, random_config(other));
        start(other, id);
    }
    /// Only numbered frames are UDP.
    void check_order(unsigned n, const FrameBytes& frame) {
        ++received_;
        // The last port takes unknown addresses, too.
        const FrameBytes own{0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(n)};
        faults_ += n != kPorts && (frame[0] & kMacGroupBit) == 0 &&
                   !std::equal(own.begin(), own.end(), frame.begin());
        if (frame.size() < 60 || read16(frame, 12) != kIpv4 || frame[23] != kUdp || frame[5] != n)
            return;
        std::uint32_t number = 0;
        std::memcpy(&number, frame.data() + frame.size() - sizeof(number), sizeof(number));
        std::uint32_t& last = last_[{frame[11], n}];
        faults_ += number <= last;
        last = number;
    }
    void offer_valid(unsigned n) {
        const unsigned burst = 1 + pick(48);
        const std::uint64_t to = mac(1 + pick(kPorts + 1));
        for (unsigned i = 0; i < burst && buffers_in_use() < kBuffers / 2; ++i)
            host_.port(ids_[n]).offered.push_back(
                to_mbuf(buffer_pool(),
                        numbered(pick(30) == 0 ? kBroadcast : to, mac(n), 60 + pick(1454), ++number_)));
    }
    rte_mbuf* hostile(unsigned n) {
        FrameBytes bytes = pattern(1 + pick(pick(8) == 0 ? 20'000 : 200));
        if (pick(3) != 0)
            bytes =
                ethernet(mac(1 + pick(kPorts)), mac(n), pick(2) == 0 ? kIpv4 : kIpv6, ipv4(kTcp, tcp(bytes)));
        for (unsigned i = pick(4); i > 0; --i)
            bytes[pick(static_cast<unsigned>(bytes.size()))] = static_cast<std::uint8_t>(random_());
        if (bytes.size() > 23 && bytes[23] == kUdp)
            bytes[23] = kTcp;
        rte_mbuf* frame = to_mbuf(buffer_pool(), bytes, pick(2) == 0 ? 0 : 20 + pick(500));
        for (const std::uint64_t flag : kOffloads)
            frame->ol_flags |= pick(2) == 0 ? flag : 0;
        frame->l2_len = pick(4) == 0 ? random_() & 0x7F : 14;
        frame->l3_len = pick(4) == 0 ? random_() & 0x1FF : 20;
        frame->l4_len = pick(4) == 0 ? random_() & 0xFF : 20;
        frame->tso_segsz = static_cast<std::uint16_t>(pick(2) == 0 ? random_() : 1000);
        return frame;
    }

    Random32 random_;
    std::map<unsigned, VnicId> ids_;
    std::map<std::pair<unsigned, unsigned>, std::uint32_t> last_;
    std::uint32_t number_ = 0;
    std::uint64_t received_ = 0;
    unsigned faults_ = 0;
    RingNic nic_;
    SwitchHarness host_;  // last: it delivers while it is taken apart
};

}  // namespace

TEST_CASE(
    "whatever VMs send and the operator does, every frame is accounted for and every buffer comes back") {
    const unsigned before = buffers_in_use();
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        {
            Chaos chaos(seed, seed % 2 == 0);
            for (unsigned round = 0; round < 20; ++round) {
                for (unsigned step = 0; step < 100; ++step)
                    chaos.step();
                REQUIRE(chaos.faults() == 0);
            }
            CHECK(chaos.received() > 500);
        }
        CHECK(buffers_in_use() == before);
    }
}
