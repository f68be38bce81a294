// port.cc - attaches, configures and closes a virtio-user device.
#include "bench/load/virtio/port.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace weir::load {

namespace {

constexpr unsigned kRxBuffersPerQueue = 2048;
constexpr unsigned kPoolCache = 64;

void check(int status, const std::string& what) {
    if (status < 0)
        throw std::runtime_error(what + ": " + rte_strerror(-status));
}

std::string device_args(const PortSpec& spec) {
    char mac[18];
    std::snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", spec.mac[0], spec.mac[1], spec.mac[2],
                  spec.mac[3], spec.mac[4], spec.mac[5]);
    std::string args = "path=" + spec.path + ",mac=" + mac + ",queues=" + std::to_string(spec.queues);
    args += spec.server ? ",server=1" : "";
    return spec.devargs.empty() ? args : args + "," + spec.devargs;
}

}  // namespace

Port::Port(std::size_t index, const PortSpec& spec)
    : mac_(spec.mac), queues_(static_cast<std::uint16_t>(spec.queues)) {
    const std::string name = "net_virtio_user" + std::to_string(index);
    check(rte_eal_hotplug_add("vdev", name.c_str(), device_args(spec).c_str()),
          spec.path + ": cannot attach");
    check(rte_eth_dev_get_port_by_name(name.c_str(), &id_), name);
    rx_pool_ = rte_pktmbuf_pool_create(("rx" + std::to_string(index)).c_str(), kRxBuffersPerQueue * queues_,
                                       kPoolCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (rx_pool_ == nullptr)
        throw std::runtime_error("receive pool: " + std::string(rte_strerror(rte_errno)));
    start();
}

void Port::start() {
    rte_eth_conf conf{};
    check(rte_eth_dev_configure(id_, queues_, queues_, &conf), "configure");
    for (std::uint16_t queue = 0; queue < queues_; ++queue) {
        check(rte_eth_rx_queue_setup(id_, queue, 0, rte_socket_id(), nullptr, rx_pool_), "receive queue");
        check(rte_eth_tx_queue_setup(id_, queue, 0, rte_socket_id(), nullptr), "transmit queue");
    }
    check(rte_eth_dev_start(id_), "start");
}

Port::~Port() {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
}

bool Port::link_up() const {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace weir::load
