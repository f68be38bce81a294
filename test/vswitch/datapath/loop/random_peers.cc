// random_peers.cc - RandomPeers: ESP with keys that are no secret, memcached's words, forged feedback.
#include "test/vswitch/datapath/loop/random_peers.h"

#include <rte_mbuf.h>

#include <array>
#include <string_view>

#include "cost_functions/protocols/registry.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"
#include "vswitch/datapath/frame/feedback_frame.h"

namespace weir::testing {
namespace {

constexpr std::uint16_t kPort = 11211;
constexpr std::uint16_t kClientPort = 40'000;
constexpr std::uint32_t kService = 0x0A09'0909;
constexpr std::uint8_t kWorkersMost = 2;

/// This switch's ends and the sessions of both sides.
struct Tunnels {
    Tunnels() {
        const std::array networks{RandomOracle::kSources, RandomOracle::kToHosts, "10.9.9.9/32"};
        CryptoDevice& device = tunnel_device();
        for (unsigned n = 0; n < RandomPeers::kTunnels; ++n) {
            ends.push_back(tunnel_end(true, n));
            ends.back().networks = {*IpNetwork::parse(networks[n])};
            const TunnelEnd other = tunnel_end(false, n);
            here[n].tag = kTag;
            for (std::uint8_t worker = 0; worker < kWorkersMost; ++worker) {
                here[n].out.push_back(std::make_unique<EspSa>(device, tunnel_keys(other.spi_in, worker),
                                                              EspSa::Parameters{.header = ends[n].header}));
                here[n].in.push_back(std::make_unique<EspSa>(
                    device, tunnel_keys(ends[n].spi_in, worker),
                    EspSa::Parameters{.outbound = false, .replay_window = 64, .header = {}}));
                there[n].out.push_back(std::make_unique<EspSa>(device, tunnel_keys(ends[n].spi_in, worker),
                                                               EspSa::Parameters{.header = other.header}));
            }
        }
    }
    std::vector<TunnelEnd> ends;
    std::array<EspSession, RandomPeers::kTunnels> here;
    std::array<EspSession, RandomPeers::kTunnels> there;
};
Tunnels& tunnels() {
    static Tunnels made;
    return made;
}

FrameBytes words(std::string_view text) {
    return {text.begin(), text.end()};
}

}  // namespace

RandomPeers::RandomPeers(RandomPlan& plan, bool appliance, std::size_t workers) : plan_(plan) {
    if (!appliance)
        return;
    Appliance& made = appliances_.emplace_back();
    made.address = {kService >> 24, kService >> 16 & 0xFF, kService >> 8 & 0xFF, kService & 0xFF};
    made.port = kPort;
    made.protocol = protocol_index("memcached").value();
    made.cost = std::make_shared<CostTable>();
    made.window = plan.of<std::uint64_t>({UINT64_MAX, 2'000, 1'000'000});
    if (made.window != UINT64_MAX)
        made.window_share = std::make_shared<LinkShare>(workers, made.window);
}

std::span<const TunnelEnd> RandomPeers::tunnel_ends() {
    return tunnels().ends;
}

std::vector<EspEngine*> RandomPeers::engines() {
    return std::vector<EspEngine*>(kTunnels, &tunnel_engine());
}

const EspSession& RandomPeers::session(TunnelId tunnel) {
    return tunnels().here[tunnel];
}

rte_mbuf* RandomPeers::through_tunnel(rte_mbuf* frame, std::uint64_t flow) {
    const std::size_t tunnel = plan_.one_in(4) ? plan_.pick(kTunnels) : 0;
    EspSa& sa = *tunnels().there[tunnel].out[flow % kWorkersMost];
    EspOutcomes outcomes;
    tunnel_engine().encrypt(sa, std::span(&frame, 1), outcomes);
    if (outcomes[0] != EspOutcome::kDone) {
        rte_pktmbuf_free(frame);
        return nullptr;
    }
    if (plan_.one_in(20))
        *rte_pktmbuf_mtod_offset(frame, std::uint8_t*, plan_.pick(frame->data_len)) ^= 1;
    return frame;
}

rte_mbuf* RandomPeers::feedback(std::uint64_t guest, std::uint16_t vlan, std::uint64_t far) {
    FeedbackKey key{};
    key[0] = plan_.one_in(5) ? 1 : 0;
    FeedbackBuffer buffer;
    const FeedbackMessage message{guest, far, vlan, std::uint64_t{100'000} << plan_.pick(10), ++advertised_};
    const std::size_t bytes = write_feedback(message, numbered(far, guest, 60, 0), key, buffer);
    FrameBytes frame(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes));
    return to_mbuf(buffer_pool(), vlan == 0 ? frame : tagged(frame, vlan));
}

rte_mbuf* RandomPeers::request(Client& client, std::uint64_t to) {
    constexpr std::size_t kValueBytes = 102;
    FrameBytes payload = words("set k 0 0 100\r\n");
    payload.resize(payload.size() + kValueBytes, 'v');
    if (plan_.one_in(3))
        payload = words("get k\r\nget k\r\n");
    if (plan_.one_in(6))
        payload.resize(1 + plan_.pick(static_cast<unsigned>(payload.size())));
    if (plan_.one_in(8))
        payload = pattern(plan_.pick(1400));
    std::uint32_t sequence = client.sent;
    if (plan_.one_in(6))
        sequence += plan_.pick(400) - 200U;
    else
        client.sent += static_cast<std::uint32_t>(payload.size());
    const std::uint8_t flags = plan_.one_in(20) ? static_cast<std::uint8_t>(plan_.pick(64)) : kAck;
    FrameBytes frame = ethernet(to, client.mac, kIpv4, ipv4(kTcp, tcp(payload, sequence, flags)));
    write32(frame, 26, client.address);
    write32(frame, 30, kService);
    write16(frame, 34, kClientPort);
    write16(frame, 36, kPort);
    write32(frame, 42, client.answered);
    return to_mbuf(buffer_pool(), frame, plan_.one_in(10) ? 60 : 0);
}

void RandomPeers::open_window() {
    constexpr std::uint64_t kEnough = 1'000'000'000;
    for (const Appliance& appliance : appliances_)
        if (appliance.window_share)
            appliance.window_share->set_capacity(kEnough);
}

rte_mbuf* RandomPeers::answer(Client& client) {
    FrameBytes payload = words("STORED\r\n");
    if (plan_.one_in(3))
        payload = words("VALUE k 0 1\r\nv\r\nEND\r\n");
    if (plan_.one_in(4))
        payload.clear();
    FrameBytes frame = ethernet(client.mac, mac(0x90), kIpv4, ipv4(kTcp, tcp(payload, client.answered)));
    client.answered += static_cast<std::uint32_t>(payload.size());
    write32(frame, 26, kService);
    write32(frame, 30, client.address);
    write16(frame, 34, kPort);
    write16(frame, 36, kClientPort);
    write32(frame, 42, client.sent);
    return to_mbuf(buffer_pool(), frame);
}

}  // namespace weir::testing
