// request_path_fuzzer.cc - any frames of a VM and its appliances, whole or torn, through TCP headers,
// trackers and gate: no read beyond a buffer; every frame passes, waits or is dropped, once.
//
// The input is a list of acts: kind (1), TCP flags (1), patches (1), payload bytes (1), then the patches, two
// bytes each (place in the frame's first 128 bytes, value), then the payload.
//   kind: bit 0: from the service; bits 1-2: which service; bit 3: second connection; bits 4-5: 0 in order, 1
//   not seen, 2 again, 3 beyond a hole; bit 6: in small buffers; bit 7: the payload is the whole frame
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "test/fuzz/checks.h"
#include "test/support/eal_fixture.h"
#include "test/support/fake_port.h"
#include "test/support/frames.h"
#include "vswitch/datapath/requests/request_path.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;
using Octets = std::span<const std::uint8_t>;

constexpr std::size_t kHeadBytes = 4;
constexpr std::size_t kActsMax = 256;
constexpr Nanos kStep = 200'000;
constexpr std::uint64_t kClientMac = mac(1);
constexpr std::uint64_t kServiceMac = mac(2);
constexpr std::uint32_t kClient = 0x0A00'0001;
constexpr std::uint32_t kService = 0x0A00'0002;
constexpr std::array<std::string_view, 4> kServices{"memcached", "nbd", "redis", "iscsi"};
constexpr std::size_t kIp6Service = 3;  // that one is spoken to over IPv6

std::uint16_t port_of(std::size_t service) {
    return static_cast<std::uint16_t>(7000 + service);
}

std::vector<Appliance> appliances() {
    std::vector<Appliance> all(kServices.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].ip6 = i == kIp6Service;
        all[i].address = {10, 0, 0, 2};
        if (all[i].ip6) {
            const FrameBytes sample = ipv6(kTcp, {});
            std::copy_n(sample.begin() + 24, 16, all[i].address.begin());
        }
        all[i].port = port_of(i);
        all[i].protocol = protocol_index(kServices[i]).value();
        all[i].cost = std::make_shared<CostTable>();
    }
    all[2].window = 2'000;
    all[2].window_share = std::make_shared<LinkShare>(1, all[2].window);
    return all;
}

/// The first two services may be asked little, so that requests wait for tokens or for the way back; the
/// third has a window.
VnicConfig client_config(SwitchConfig& config) {
    VnicConfig client;
    client.name = "vm1";
    client.mac = MacAddress{kClientMac};
    for (const std::string_view name : kServices) {
        config.appliances.emplace_back().name = name;
        client.appliances.emplace_back().name = name;
    }
    client.appliances[0].limit_tokens = 100'000;
    client.appliances[1].downlink_bps = 8'000'000;
    return client;
}

struct Act {
    std::uint8_t what;
    std::uint8_t flags;
    Octets patches;
    Octets payload;

    [[nodiscard]] bool from_service() const { return (what & 1) != 0; }
    [[nodiscard]] std::size_t service() const { return what >> 1 & 3; }
    [[nodiscard]] std::size_t connection() const { return service() * 2 + (what >> 3 & 1); }
    [[nodiscard]] unsigned how() const { return what >> 4 & 3; }
    [[nodiscard]] std::size_t piece() const { return (what & 0x40) != 0 ? 61 : 0; }
    [[nodiscard]] bool bare() const { return (what & 0x80) != 0; }
};

class Target {
  public:
    Target()
        : appliances_(appliances()),
          wheel_(limits::kRequestFlowsMax),
          requests_({.appliances = appliances_,
                     .pool = buffer_pool(),
                     .key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                     .worker = 0,
                     .shared = false,
                     .wheel = wheel_,
                     .wheel_id = 0,
                     .overhead_bytes = 24,
                     .tap = tap_}),
          client_(client_config(config_)),
          path_(make_fixed(0, 0, &port_, client_, config_), make_vnic_profile(client_, config_), 0, now_) {}

    void begin() {
        seq_.fill({0xffff'ff00, 0xffff'ff00});
        requests_.add(path_, now_);
    }
    void act(const Act& act) {
        rte_mbuf* frame = to_mbuf(buffer_pool(), act.bare() ? bare(act) : segment(act), act.piece());
        if (act.from_service())
            to_client(frame);
        else
            from_client(frame);
        now_ += kStep;
        wheel_.advance(now_, 64, [this](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                requests_.wake(id, now_, [this](VnicId vnic, const PacketRef& ref) { give(vnic, ref); });
        });
        requests_.reopen_windows(now_, [](VnicId, rte_mbuf* update) { rte_pktmbuf_free(update); });
        requests_.serve_windows(now_, [this](VnicId vnic, const PacketRef& ref) { give(vnic, ref); });
        check();
    }
    /// Everything is as before the first act.
    void end() {
        requests_.remove(path_, now_, [this](const PacketRef& ref) { give(0, ref); });
        require(held_ == 0, "a vNIC that leaves takes along its waiting frames");
        require(wheel_.size() == 0, "a vNIC that leaves is not woken");
        for (unsigned i = 0; i < kSweeps; ++i)
            requests_.housekeeping(now_);
    }

  private:
    static constexpr unsigned kSweeps = 2048;  // all places of the connection table

    /// At least a header, as the classifier sees to it.
    static FrameBytes bare(const Act& act) {
        FrameBytes bytes(act.payload.begin(), act.payload.end());
        bytes.resize(std::max<std::size_t>(bytes.size(), 14));
        return bytes;
    }
    FrameBytes segment(const Act& act) {
        const auto bytes = static_cast<std::uint32_t>(act.payload.size());
        std::uint32_t& next = seq_[act.connection()][act.from_service()];
        std::uint32_t seq = next;
        if (act.how() == 2)
            seq -= bytes;
        else if (act.how() == 3)
            seq += 1 + act.flags;
        else
            next += bytes;
        FrameBytes frame = whole(act, seq);
        for (std::size_t i = 0; i + 1 < act.patches.size(); i += 2)
            frame[act.patches[i] % std::min<std::size_t>(frame.size(), 128)] = act.patches[i + 1];
        if (act.how() == 1)  // got lost before it came here
            return FrameBytes(60, 0);
        return frame;
    }
    static FrameBytes whole(const Act& act, std::uint32_t seq) {
        const bool back = act.from_service();
        const bool ip6 = act.service() == kIp6Service;
        const FrameBytes content = tcp({act.payload.begin(), act.payload.end()}, seq, act.flags);
        FrameBytes frame = ethernet(back ? kClientMac : kServiceMac, back ? kServiceMac : kClientMac,
                                    ip6 ? weir::testing::kIpv6 : weir::testing::kIpv4,
                                    ip6 ? ipv6(kTcp, content) : ipv4(kTcp, content));
        const std::size_t at = ip6 ? 54 : 34;
        const auto client_port = static_cast<std::uint16_t>(40'000 + act.connection());
        if (!ip6) {
            write32(frame, 26, back ? kService : kClient);
            write32(frame, 30, back ? kClient : kService);
        } else if (back) {
            std::swap_ranges(frame.begin() + 22, frame.begin() + 38, frame.begin() + 38);
        }
        write16(frame, at, back ? port_of(act.service()) : client_port);
        write16(frame, at + 2, back ? client_port : port_of(act.service()));
        return frame;
    }

    void from_client(rte_mbuf* frame) {
        Batch batch;
        batch.frames[0] = frame;
        batch.bytes[0] = batch.bytes_total = frame->pkt_len;
        batch.wire_frames[0] = 1;
        batch.wire_frames_total = 1;
        batch.to[0] = 1;
        batch.count = 1;
        const std::uint64_t dropped = path_.stats.from_vm.dropped.packets;
        requests_.from_vm(path_, batch, now_);
        const bool gone = path_.stats.from_vm.dropped.packets != dropped;
        require(batch.count + gone <= 1, "a frame has one fate");
        if (batch.count == 1)
            rte_pktmbuf_free(batch.frames[0]);
        else if (!gone)
            ++held_;
    }
    void to_client(rte_mbuf* frame) {
        const std::uint32_t bytes = frame->pkt_len;
        const std::uint16_t one = 1;
        requests_.to_vm(path_, {&frame, &bytes, &one, 1, bytes, 1, bytes, 0}, now_);
        rte_pktmbuf_free(frame);
    }
    void give(VnicId vnic, const PacketRef& ref) {
        require(vnic == 0 && held_ > 0, "only a waiting frame is given");
        --held_;
        path_.stats.from_vm.queued.remove(1, ref.bytes);
        rte_pktmbuf_free(static_cast<rte_mbuf*>(ref.packet));
    }
    void check() {
        require(path_.stats.from_vm.queued.packets == held_, "waiting frames are counted as queued");
        requests_.read(0, now_, readings_);
        std::uint64_t held = 0;
        for (const RequestPath::Reading& each : readings_) {
            held += each.stats.held;
            require(each.stats.outstanding <= each.stats.requests, "no more is outstanding than was asked");
        }
        require(held == held_, "the gate holds the frames that it was given");
    }

    SwitchConfig config_;
    std::vector<Appliance> appliances_;
    TimingWheel wheel_;
    CaptureTap tap_;
    RequestPath requests_;
    FakePort port_;
    VnicConfig client_;
    Nanos now_ = kNanosPerSec;
    VnicPath path_;
    std::array<std::array<std::uint32_t, 2>, 2 * kServices.size()> seq_{};
    std::uint64_t held_ = 0;
    std::vector<RequestPath::Reading> readings_ = [] {
        std::vector<RequestPath::Reading> room;
        room.reserve(limits::kAppliancesPerVnic);
        return room;
    }();
};

Octets take(Octets& from, std::size_t bytes) {
    const Octets taken = from.first(std::min(from.size(), bytes));
    from = from.subspan(taken.size());
    return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    buffer_pool();
    static Target target;
    Octets rest(data, size);
    target.begin();
    for (std::size_t acts = 0; acts < kActsMax && rest.size() > kHeadBytes; ++acts) {
        const Octets head = take(rest, kHeadBytes);
        const Octets patches = take(rest, 2 * (head[2] & 7U));
        target.act({head[0], head[1], patches, take(rest, head[3])});
    }
    target.end();
    require(buffers_in_use() == 0, "no buffer is lost");
    return 0;
}
