// nic_port.cc - start of an ethdev, and its bursts.
#include "vswitch/ports/nic_port.h"

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "common/error.h"

namespace weir {
namespace {

bool is_pci_address(const std::string& device) {
    return !device.empty() && std::isdigit(device.front()) != 0;
}

/// The device's name in ethdev: the text before its arguments.
std::string device_name(const std::string& device) {
    return device.substr(0, device.find(','));
}

[[noreturn]] void fail(const NicSettings& settings, const std::string& what, int code) {
    throw HostError(settings.owner + ": " + what + " device " + settings.device + " (" + rte_strerror(-code) +
                    ")");
}

rte_eth_conf make_conf(const NicSettings& settings, const rte_eth_dev_info& info) {
    rte_eth_conf conf{};
    conf.rxmode.mtu = settings.mtu;
    if (settings.queues > 1 && (info.flow_type_rss_offloads & RTE_ETH_RSS_IP) != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf =
            info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
    }
    constexpr std::uint64_t kWished = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                                      RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                      RTE_ETH_TX_OFFLOAD_TCP_TSO;
    conf.txmode.offloads = info.tx_offload_capa & kWished;
    conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    return conf;
}

}  // namespace

NicDevice::NicDevice(const NicSettings& settings, rte_mempool* pool) {
    plug(settings);
    try {
        start(settings, pool);
    } catch (...) {
        close();
        throw;
    }
}

NicDevice::~NicDevice() {
    rte_eth_dev_stop(port_id_);
    close();
}

void NicDevice::plug(const NicSettings& settings) {
    const std::string name = device_name(settings.device);
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id_) == 0)
        return;
    const int code = rte_dev_probe(settings.device.c_str());
    if (code != 0) {
        throw HostError(
            settings.owner + ": cannot open device " + settings.device + " (" + rte_strerror(-code) + "); " +
            (is_pci_address(settings.device)
                 ? "bind it to a userspace driver: dpdk-devbind.py --bind=vfio-pci " + name
                 : "check the driver's name and arguments, and that the interface or socket exists"));
    }
    plugged_ = true;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id_) != 0)
        fail(settings, "no ethernet port came with", -ENODEV);
}

void NicDevice::start(const NicSettings& settings, rte_mempool* pool) {
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(port_id_, &info); code != 0)
        fail(settings, "cannot ask", code);
    driver_ = info.driver_name;
    if (info.max_rx_queues < settings.queues || info.max_tx_queues < settings.queues)
        fail(settings, "not one queue pair per worker (" + std::to_string(settings.queues) + ") at",
             -ENOTSUP);
    const rte_eth_conf conf = make_conf(settings, info);
    if (const int code = rte_eth_dev_configure(port_id_, settings.queues, settings.queues, &conf); code != 0)
        fail(settings, "cannot configure (MTU " + std::to_string(settings.mtu) + ")", code);
    std::uint16_t rx = settings.descriptors;
    std::uint16_t tx = settings.descriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &rx, &tx);
    for (std::uint16_t queue = 0; queue < settings.queues; ++queue) {
        const int socket = rte_eth_dev_socket_id(port_id_);
        const auto node = static_cast<unsigned>(socket < 0 ? SOCKET_ID_ANY : socket);
        if (const int code = rte_eth_rx_queue_setup(port_id_, queue, rx, node, nullptr, pool); code != 0)
            fail(settings, "no receive queue at", code);
        rte_eth_txconf txconf = info.default_txconf;
        txconf.offloads = conf.txmode.offloads;
        if (const int code = rte_eth_tx_queue_setup(port_id_, queue, tx, node, &txconf); code != 0)
            fail(settings, "no transmit queue at", code);
    }
    rte_eth_dev_set_mtu(port_id_, static_cast<std::uint16_t>(settings.mtu));  // some vdevs have no such call
    if (const int code = rte_eth_dev_start(port_id_); code != 0)
        fail(settings, "cannot start", code);
    rte_eth_stats_reset(port_id_);
    rte_eth_promiscuous_enable(port_id_);  // the guests' MACs are not the device's
    const std::uint64_t capa = conf.txmode.offloads;
    offloads_.checksum = (capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0 &&
                         (capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0 &&
                         (capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0;
    offloads_.tso = (capa & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0;
    poll();
}

void NicDevice::close() {
    rte_eth_dev_info info{};
    const bool known = rte_eth_dev_info_get(port_id_, &info) == 0;
    rte_eth_dev_close(port_id_);
    if (plugged_ && known && info.device != nullptr)
        rte_dev_remove(info.device);
}

std::uint64_t NicDevice::mac() const {
    rte_ether_addr address{};
    std::uint64_t bits = 0;
    if (rte_eth_macaddr_get(port_id_, &address) == 0)
        std::memcpy(&bits, address.addr_bytes, sizeof(address.addr_bytes));
    return bits;
}

void NicDevice::poll() {
    rte_eth_link link{};
    link_up_.store(rte_eth_link_get_nowait(port_id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP,
                   std::memory_order_relaxed);
    (void)missed();
}

std::uint64_t NicDevice::missed() {
    rte_eth_stats stats{};
    if (rte_eth_stats_get(port_id_, &stats) == 0) {
        ring_full_.read(stats.imissed);
        no_buffer_.read(stats.rx_nombuf);
    }
    return ring_full_.total() + no_buffer_.total();
}

std::uint16_t NicPort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    return rte_eth_rx_burst(port_, queue_, frames, max);
}

std::uint16_t NicPort::prepare(rte_mbuf** frames, std::uint16_t count) {
    return rte_eth_tx_prepare(port_, queue_, frames, count);
}

std::uint16_t NicPort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    return rte_eth_tx_burst(port_, queue_, frames, count);
}

}  // namespace weir
