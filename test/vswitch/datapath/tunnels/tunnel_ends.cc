// tunnel_ends.cc - tunnels and their sessions as the agent sets them up, with keys that are no secret.
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"

#include <rte_mbuf.h>

#include <string>

#include "vswitch/esp/key_agreement.h"

namespace weir::testing {
namespace {

SwitchConfig with_workers(SwitchConfig config, unsigned workers) {
    config.uplink.device = "ring";
    config.workers.assign(workers, 0);
    return config;
}

std::vector<TunnelEnd> ends(bool left, unsigned tunnels) {
    std::vector<TunnelEnd> made;
    for (unsigned n = 0; n < tunnels; ++n)
        made.push_back(tunnel_end(left, n));
    return made;
}

}  // namespace

CryptoDevice& tunnel_device() {
    static CryptoDevice made((buffer_pool(), "crypto_openssl"), 1, 2 * limits::kTunnelsMax);
    return made;
}

EspEngine& tunnel_engine() {
    static EspEngine made(tunnel_device(), 0, buffer_pool());
    return made;
}

EspKeys tunnel_keys(std::uint32_t spi, std::uint8_t worker) {
    EspKeys made{.spi = spi | kTag << kSpiTagShift | worker, .cipher = {}, .auth = {}};
    made.cipher.fill(static_cast<std::uint8_t>(spi >> 8 | worker));
    made.auth.fill(static_cast<std::uint8_t>(spi >> 8 | worker));
    return made;
}

TunnelEnd tunnel_end(bool left, unsigned n) {
    constexpr std::uint32_t kSpiOfEach = 0x10000;
    const auto here = static_cast<std::uint8_t>(left ? 1 : 2);
    const auto there = static_cast<std::uint8_t>(3 - here);
    TunnelEnd made;
    made.local = {192, 0, 2, here};
    made.spi_in = (left ? kSpiRight : kSpiLeft) + n * kSpiOfEach;
    made.frame_max = esp_frame_max(made.algorithm, false, 1500);
    made.header = ethernet(mac(0xA0U + there), mac(0xA0U + here), kIpv4,
                           {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 50, 0, 0, 192, 0, 2, here, 192, 0, 2, there});
    made.networks = {*IpNetwork::parse("10." + std::to_string(n) + (left ? ".2.0/24" : ".1.0/24"))};
    made.cost = std::make_shared<const CostTable>();
    return made;
}

TunnelHost::TunnelHost(bool left, unsigned workers, SwitchConfig base, unsigned tunnels,
                       const PollTurn::Profile& turn)
    : left_(left),
      workers_(workers),
      ends_(ends(left, tunnels)),
      sessions_(tunnels),
      nic(static_cast<std::uint16_t>(workers)),
      host(with_workers(std::move(base), workers), &nic, {},
           {ends_, std::vector<EspEngine*>(tunnels, &tunnel_engine())}, turn) {
    VnicConfig encrypting = vm(left ? 1 : 2);
    encrypting.encrypt = true;
    encrypting.mtu = 1430;
    host.add(encrypting);
    host.add(vm(left ? 3 : 4));
}

TunnelHost::~TunnelHost() {
    nic.drain();
}

void TunnelHost::agree() {
    CryptoDevice& device = tunnel_device();
    for (TunnelId tunnel = 0; tunnel < ends_.size(); ++tunnel) {
        const std::uint32_t out = tunnel_end(!left_, tunnel).spi_in;
        EspSession& session = sessions_[tunnel];
        session.tag = kTag;
        for (std::uint8_t worker = 0; worker < workers_; ++worker)
            session.out.push_back(std::make_unique<EspSa>(device, tunnel_keys(out, worker),
                                                          EspSa::Parameters{.header = ends_[tunnel].header}));
        session.in.push_back(
            std::make_unique<EspSa>(device, tunnel_keys(ends_[tunnel].spi_in, 0),
                                    EspSa::Parameters{.outbound = false, .replay_window = 64, .header = {}}));
        post_to_all(command::ReceiveSession{tunnel, &session});
        post_to_all(command::SendSession{tunnel, &session});
    }
}

void TunnelHost::post_to_all(const WorkerCommand& command) {
    for (unsigned worker = 0; worker < workers_; ++worker)
        host.post(static_cast<WorkerId>(worker), command);
}

TunnelStats TunnelHost::tunnel() {
    TunnelStats sum;
    for (unsigned worker = 0; worker < workers_; ++worker) {
        std::vector<TunnelStats> stats(1);
        WorkerSnapshot snapshot;
        host.post(static_cast<WorkerId>(worker), command::ReadWorker{&snapshot, &stats});
        sum.add(stats[0]);
    }
    return sum;
}

DirectionStats TunnelHost::from_wire() {
    DirectionStats sum;
    for (unsigned worker = 0; worker < workers_; ++worker)
        sum.add(host.snapshot_worker(static_cast<WorkerId>(worker)).uplink.rx);
    return sum;
}

std::vector<rte_mbuf*> TunnelHost::send(const std::vector<FrameBytes>& frames, VnicId id) {
    for (const FrameBytes& frame : frames)
        host.port(id).offered.push_back(to_mbuf(buffer_pool(), frame));
    host.settle();
    return nic.take();
}

void TunnelHost::arrive(const std::vector<FrameBytes>& frames, std::uint16_t queue) {
    for (const FrameBytes& frame : frames)
        nic.arrive(to_mbuf(buffer_pool(), frame), queue);
    host.settle();
}

}  // namespace weir::testing
