// crypto_device.h - a cryptodev with one queue pair per worker, its sessions and its operations.
// Source: DPDK cryptodev guide. Units: operations.
// Threads: made and unmade on the control thread; a queue pair belongs to one worker.
#pragma once

#include <cstdint>
#include <string>

struct rte_mempool;

namespace weir {

/// Operations in one burst.
inline constexpr std::uint16_t kCryptoBurst = 32;

class CryptoDevice {
  public:
    /// Creates and starts a virtual crypto device.
    /// @param driver as EAL names it: "crypto_openssl", "crypto_aesni_gcm", "crypto_aesni_mb"
    /// @param sessions SAs that may exist at a time
    /// @throws HostError when the driver is missing or does not start
    CryptoDevice(const std::string& driver, std::uint16_t queue_pairs, std::uint32_t sessions);
    ~CryptoDevice();
    CryptoDevice(const CryptoDevice&) = delete;
    CryptoDevice& operator=(const CryptoDevice&) = delete;

    [[nodiscard]] std::uint8_t id() const { return id_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] rte_mempool* sessions() const { return sessions_; }
    [[nodiscard]] rte_mempool* operations() const { return operations_; }

  private:
    void start(std::uint32_t sessions);
    void release();

    std::string name_;
    std::uint16_t queue_pairs_;
    std::uint8_t id_ = 0;
    rte_mempool* sessions_ = nullptr;
    rte_mempool* operations_ = nullptr;
};

}  // namespace weir
