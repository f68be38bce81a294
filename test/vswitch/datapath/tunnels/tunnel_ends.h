// tunnel_ends.h - a switch at one end of a tunnel whose keys are known: the test takes its frames off the
// wire. DPDK's names allow one at a time. Units: frames. Threads: tests only.
#pragma once

#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/esp/esp_engine.h"

namespace weir::testing {

inline constexpr std::uint32_t kSpiLeft = 0x1000;
inline constexpr std::uint32_t kSpiRight = 0x2000;
/// Of the one session that there ever is.
inline constexpr std::uint8_t kTag = 3;

[[nodiscard]] CryptoDevice& tunnel_device();
[[nodiscard]] EspEngine& tunnel_engine();
/// The keys with which a worker of the end with this spi_out encrypts.
[[nodiscard]] EspKeys tunnel_keys(std::uint32_t spi, std::uint8_t worker);
/// 192.0.2.1 (left) and 192.0.2.2; behind them 10.0.1.0/24 and 10.0.2.0/24. Further tunnels, 1 and more, have
/// other SPIs and 10.n.1.0/24 and 10.n.2.0/24.
[[nodiscard]] TunnelEnd tunnel_end(bool left, unsigned n = 0);

/// A switch with one tunnel, or several. VM 0 (mac(1), or mac(2) on the right) encrypts, VM 1 (mac(3),
/// mac(4)) does not.
class TunnelHost {
  public:
    explicit TunnelHost(bool left, unsigned workers = 1, SwitchConfig base = {}, unsigned tunnels = 1,
                        const PollTurn::Profile& turn = {});
    ~TunnelHost();
    TunnelHost(const TunnelHost&) = delete;
    TunnelHost& operator=(const TunnelHost&) = delete;

    /// From now on it has the keys of all tunnels.
    void agree();
    [[nodiscard]] TunnelStats tunnel();
    [[nodiscard]] DirectionStats from_wire();
    [[nodiscard]] DirectionStats to_wire() { return host.snapshot_worker(0).uplink.tx; }
    /// Sends frames of the VM. @return the frames on the wire
    std::vector<rte_mbuf*> send(const std::vector<FrameBytes>& frames, VnicId id = 0);
    void arrive(const std::vector<FrameBytes>& frames, std::uint16_t queue = 0);

  private:
    void post_to_all(const WorkerCommand& command);

    bool left_;
    unsigned workers_;
    std::vector<TunnelEnd> ends_;
    std::vector<EspSession> sessions_;  // by tunnel

  public:
    RingNic nic;
    SwitchHarness host;
};

}  // namespace weir::testing
