// tunnels.h - the agent's side of the ESP tunnels: crypto devices, key agreement, sessions for the workers.
// Source: RFC 4303; docs/algorithms.md 11.2; docs/tunnels.md. Units: Nanos.
// Threads: the agent (at start and end main), under the topology's lock.
//
// A change of keys loses no frame: workers first learn to receive with the new session, then, once the other
// end has it, to send with it. The sessions before it stay until no worker can use them. With `rekey` 1h the
// end with the smaller outbound SPI asks for new keys after 1 h, the other one after 1 h 15 min if they did
// not come.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vswitch/agent/switch_control.h"
#include "vswitch/config/config.h"
#include "vswitch/config/config_files.h"
#include "vswitch/datapath/loop/worker.h"
#include "vswitch/esp/key_agreement.h"
#include "vswitch/ports/packet_pools.h"

namespace weir {

class Tunnels {
  public:
    /// Posts a command to a worker. @return its number
    using Post = std::function<std::uint64_t(WorkerId, const WorkerCommand&)>;

    /// @param pools outlive this
    /// @param uplink_mac source address of tunnels without a `local_mac`
    /// @throws HostError when a crypto device does not start
    Tunnels(const SwitchConfig& config, const std::vector<TunnelParts>& parts, const PacketPools& pools,
            std::uint64_t uplink_mac, std::vector<std::unique_ptr<Worker>>& workers);
    Tunnels(const Tunnels&) = delete;
    Tunnels& operator=(const Tunnels&) = delete;

    [[nodiscard]] std::span<const TunnelEnd> ends() const { return ends_; }
    /// One for each tunnel.
    [[nodiscard]] std::vector<EspEngine*> engines(WorkerId worker) const;
    /// Handles key messages that workers received, sends those that are due, renews keys. Never waits for a
    /// worker.
    void tick(Nanos now, const Post& post);

    /// The tallies that a worker writes in its snapshot, by tunnel.
    [[nodiscard]] std::vector<TunnelStats>& reading(WorkerId worker) { return readings_[worker]; }
    [[nodiscard]] bool any() const { return !ends_.empty(); }
    [[nodiscard]] std::vector<TunnelReport> report(Nanos now) const;

  private:
    struct Device {
        std::unique_ptr<CryptoDevice> device;
        std::vector<std::unique_ptr<EspEngine>> engines;  // by worker
    };
    struct Tunnel {
        const TunnelConfig* config;
        std::unique_ptr<KeyAgreement> agreement;
        Device* device = nullptr;
        std::deque<std::unique_ptr<EspSession>> sessions;  // the newest last
        const EspSession* sending = nullptr;
        TunnelReport report;
    };

    Device& device_for(const TunnelConfig& tunnel);
    [[nodiscard]] std::unique_ptr<EspSession> make_session(std::size_t tunnel) const;
    void on_key_message(TunnelId id, rte_mbuf* frame, Nanos now, const Post& post);
    void adopt(TunnelId id, const Post& post);
    void send_with_newest(TunnelId id, const Post& post);
    void send_key_message(TunnelId id, const KeyAgreement::Message& message, const Post& post);
    void post_to_all(const WorkerCommand& command, const Post& post);
    void renew_in_time(Tunnel& tunnel, Nanos now);
    void retire(Tunnel& tunnel);

    const SwitchConfig& config_;
    const PacketPools& pools_;
    std::vector<std::unique_ptr<Worker>>& workers_;
    std::vector<TunnelEnd> ends_;
    std::map<std::string, Device> devices_;  // by driver; destroyed after the sessions of tunnels_
    std::vector<Tunnel> tunnels_;
    std::vector<std::vector<TunnelStats>> readings_;  // by worker
    std::vector<std::uint64_t> posted_;               // by worker: the last command about a session
};

}  // namespace weir
