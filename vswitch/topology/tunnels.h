// tunnels.h - the agent's side of the ESP tunnels: crypto devices, agreement on keys, sessions for the
// workers. Units: Nanos. Threads: the agent (and at start and end, main), under the topology's lock.
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
#include "vswitch/datapath/worker.h"
#include "vswitch/esp/key_agreement.h"

namespace weir {

class Tunnels {
  public:
    /// Sends a worker a command. @return its number
    using Post = std::function<std::uint64_t(WorkerId, const WorkerCommand&)>;

    /// @param uplink_mac where the configuration says none
    /// @throws HostError when a crypto device does not start
    Tunnels(const SwitchConfig& config, const std::vector<TunnelParts>& parts, rte_mempool* pool,
            std::uint64_t uplink_mac, std::vector<std::unique_ptr<Worker>>& workers);
    ~Tunnels();
    Tunnels(const Tunnels&) = delete;
    Tunnels& operator=(const Tunnels&) = delete;

    [[nodiscard]] std::span<const TunnelEnd> ends() const { return ends_; }
    /// One for each tunnel.
    [[nodiscard]] std::vector<EspEngine*> engines(WorkerId worker) const;
    /// What other switches have said is answered, what is due is said; never waits for a worker.
    void tick(Nanos now, const Post& post);

    /// Where a worker writes its tallies to.
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
    void hear(TunnelId id, rte_mbuf* frame, Nanos now, const Post& post);
    void adopt(TunnelId id, const Post& post);
    void send_with_newest(TunnelId id, const Post& post);
    void say(TunnelId id, const KeyAgreement::Message& message, const Post& post);
    void post_to_all(const WorkerCommand& command, const Post& post);
    void renew_in_time(Tunnel& tunnel, Nanos now);
    void retire(Tunnel& tunnel);

    const SwitchConfig& config_;
    rte_mempool* pool_;
    std::vector<std::unique_ptr<Worker>>& workers_;
    std::vector<TunnelEnd> ends_;
    std::map<std::string, Device> devices_;  // by driver
    std::vector<Tunnel> tunnels_;
    std::vector<std::vector<TunnelStats>> readings_;  // by worker
    std::vector<std::uint64_t> posted_;               // by worker: the last command about a session
};

}  // namespace weir
