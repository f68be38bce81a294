// crypto_device.cc - start and release of a cryptodev.
#include "vswitch/esp/crypto_device.h"

#include <rte_crypto.h>
#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <atomic>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint16_t kIvBytes = 16;
constexpr std::uint32_t kDescriptors = 256;

std::string unused_name(const std::string& driver) {
    static std::atomic<unsigned> made{0};
    return driver + "_weir" + std::to_string(made.fetch_add(1));
}

}  // namespace

CryptoDevice::CryptoDevice(const std::string& driver, std::uint16_t queue_pairs, std::uint32_t sessions)
    : name_(unused_name(driver)), queue_pairs_(queue_pairs) {
    const std::string arguments = "max_nb_queue_pairs=" + std::to_string(queue_pairs);
    if (const int error = rte_eal_hotplug_add("vdev", name_.c_str(), arguments.c_str()); error != 0)
        throw HostError("crypto device '" + driver + "' does not start (" + rte_strerror(-error) +
                        "); crypto_openssl comes with every DPDK, the others need their processor");
    try {
        start(sessions);
    } catch (...) {
        release();
        throw;
    }
}

void CryptoDevice::start(std::uint32_t sessions) {
    const auto must = [this](bool good, const char* what) {
        if (!good)
            throw HostError("crypto device '" + name_ + "': " + what + " fails (" + rte_strerror(rte_errno) +
                            "); give DPDK more memory or fewer workers");
    };
    const int id = rte_cryptodev_get_dev_id(name_.c_str());
    must(id >= 0, "look-up");
    id_ = static_cast<std::uint8_t>(id);
    const auto bytes = static_cast<std::uint32_t>(rte_cryptodev_sym_get_private_session_size(id_));
    sessions_ =
        rte_cryptodev_sym_session_pool_create((name_ + "_s").c_str(), sessions, bytes, 0, 0, SOCKET_ID_ANY);
    must(sessions_ != nullptr, "the pool of sessions");
    // The engine of each queue pair keeps one burst of operations for its lifetime.
    operations_ =
        rte_crypto_op_pool_create((name_ + "_o").c_str(), RTE_CRYPTO_OP_TYPE_SYMMETRIC,
                                  queue_pairs_ * std::uint32_t{kCryptoBurst}, 0, kIvBytes, SOCKET_ID_ANY);
    must(operations_ != nullptr, "the pool of operations");
    rte_cryptodev_config config{};
    config.socket_id = SOCKET_ID_ANY;
    config.nb_queue_pairs = queue_pairs_;
    config.ff_disable = RTE_CRYPTODEV_FF_ASYMMETRIC_CRYPTO;
    must(rte_cryptodev_configure(id_, &config) == 0, "configuring");
    rte_cryptodev_qp_conf queue{};
    queue.nb_descriptors = kDescriptors;
    queue.mp_session = sessions_;
    for (std::uint16_t pair = 0; pair < queue_pairs_; ++pair)
        must(rte_cryptodev_queue_pair_setup(id_, pair, &queue, SOCKET_ID_ANY) == 0, "a queue pair");
    must(rte_cryptodev_start(id_) == 0, "starting");
}

void CryptoDevice::release() {
    if (rte_cryptodev_get_dev_id(name_.c_str()) >= 0) {
        rte_cryptodev_stop(id_);
        rte_cryptodev_close(id_);
    }
    rte_eal_hotplug_remove("vdev", name_.c_str());
    rte_mempool_free(operations_);
    rte_mempool_free(sessions_);
}

CryptoDevice::~CryptoDevice() {
    release();
}

}  // namespace weir
