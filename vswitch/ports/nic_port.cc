// nic_port.cc - start of an ethdev, and its bursts.
#include "vswitch/ports/nic_port.h"

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

#include "common/error.h"
#include "vswitch/base/limits.h"
#include "vswitch/ports/kernel_frames.h"

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

/// The MTU that the device is set to. Frames of full size have a guest's tags, and the vNIC's, besides, and
/// many drivers have room for one tag or none. An interface that the host's kernel sees keeps the MTU: its
/// other users, or a guest's kernel, would send longer packets.
std::uint32_t device_mtu(const NicSettings& settings, const rte_eth_dev_info& info) {
    constexpr std::uint32_t kTagsBytes = (limits::kFreeTags + 1) * limits::kVlanTagBytes;
    const std::uint32_t most = std::min(settings.mtu + kTagsBytes, std::uint32_t{info.max_mtu});
    return info.if_index != 0 ? settings.mtu : std::max(settings.mtu, most);
}

rte_eth_conf make_conf(const NicSettings& settings, const rte_eth_dev_info& info) {
    rte_eth_conf conf{};
    conf.rxmode.mtu = device_mtu(settings, info);
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
    conf.intr_conf.rxq = settings.interrupts ? 1 : 0;
    return conf;
}

/// With interrupts and room for tags, or without either where the device refuses that.
/// @return 0, or an error code
int configure(std::uint16_t port, const NicSettings& settings, rte_eth_conf& conf) {
    const std::uint32_t mtu = conf.rxmode.mtu;
    const std::uint32_t wished = conf.intr_conf.rxq;
    int code = 0;
    for (const std::uint32_t interrupts : {wished, 0U}) {
        for (const std::uint32_t tried : {mtu, settings.mtu}) {
            conf.intr_conf.rxq = interrupts & 1;
            conf.rxmode.mtu = tried;
            code = rte_eth_dev_configure(port, settings.queues, settings.queues, &conf);
            if (code == 0)
                return 0;
        }
    }
    return code;
}

}  // namespace

NicDevice::NicDevice(const NicSettings& settings, rte_mempool* pool)
    : NicDevice(settings, std::vector<rte_mempool*>(settings.queues, pool)) {}

NicDevice::NicDevice(const NicSettings& settings, std::span<rte_mempool* const> pools)
    : settings_(settings),
      pools_(pools.begin(), pools.end()),
      interface_(kernel_interface_of(settings.device)),
      of_kernel_(!interface_.empty()) {
    open();
}

NicDevice::~NicDevice() {
    close();
}

void NicDevice::open() {
    if (of_kernel_)
        opened_with_ = read_kernel_link(interface_).value_or(KernelLink{});
    plug();
    open_ = true;
    try {
        start();
    } catch (...) {
        close();
        throw;
    }
    stale_ = false;
    const std::uint64_t losses = link_losses_;        // a device that is opened without a link loses none
    link_up_.store(true, std::memory_order_release);  // until the kernel says otherwise
    poll_link();
    link_losses_ = losses;
}

void NicDevice::plug() {
    const std::string name = device_name(settings_.device);
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id_) == 0)
        return;
    const int code = rte_dev_probe(settings_.device.c_str());
    if (code != 0) {
        throw HostError(
            settings_.owner + ": cannot open device " + settings_.device + " (" + rte_strerror(-code) +
            "); " +
            (is_pci_address(settings_.device)
                 ? "bind it to a userspace driver: dpdk-devbind.py --bind=vfio-pci " + name
                 : "check the driver's name and arguments, and that the interface or socket exists"));
    }
    plugged_ = true;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id_) != 0)
        fail(settings_, "no ethernet port came with", -ENODEV);
}

void NicDevice::start() {
    const NicSettings& settings = settings_;
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(port_id_, &info); code != 0)
        fail(settings, "cannot ask", code);
    if (info.max_rx_queues < settings.queues || info.max_tx_queues < settings.queues)
        fail(settings, "not one queue pair per worker (" + std::to_string(settings.queues) + ") at",
             -ENOTSUP);
    rte_eth_conf conf = make_conf(settings, info);
    if (const int code = configure(port_id_, settings, conf); code != 0)
        fail(settings, "cannot configure (MTU " + std::to_string(settings.mtu) + ")", code);
    std::uint16_t rx = settings.descriptors;
    std::uint16_t tx = settings.descriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &rx, &tx);
    for (std::uint16_t queue = 0; queue < settings.queues; ++queue) {
        const int socket = rte_eth_dev_socket_id(port_id_);
        const auto node = static_cast<unsigned>(socket < 0 ? SOCKET_ID_ANY : socket);
        if (const int code = rte_eth_rx_queue_setup(port_id_, queue, rx, node, nullptr, pools_[queue]);
            code != 0)
            fail(settings, "no receive queue at", code);
        rte_eth_txconf txconf = info.default_txconf;
        txconf.offloads = conf.txmode.offloads;
        if (const int code = rte_eth_tx_queue_setup(port_id_, queue, tx, node, &txconf); code != 0)
            fail(settings, "no transmit queue at", code);
    }
    rte_eth_dev_set_mtu(port_id_,
                        static_cast<std::uint16_t>(conf.rxmode.mtu));  // some vdevs have no such call
    if (const int code = rte_eth_dev_start(port_id_); code != 0)
        fail(settings, "cannot start", code);
    interrupts_ = conf.intr_conf.rxq != 0 && try_interrupts();
    rte_eth_stats_reset(port_id_);
    for (GrowingCount* count : {&ring_full_, &no_buffer_, &unsent_})
        count->begin_again();
    rte_eth_promiscuous_enable(port_id_);  // the guests' MACs are not the device's
    if (!driver_.empty())                  // workers may read the rest, which is the same each time
        return;
    driver_ = info.driver_name;
    const std::uint64_t capa = conf.txmode.offloads;
    offloads_.checksum = (capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0 &&
                         (capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0 &&
                         (capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0;
    offloads_.tso = (capa & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0;
}

/// A device of the kernel is opened anew while workers may sleep: they poll it.
bool NicDevice::try_interrupts() const {
    return !of_kernel_ && rte_eth_dev_rx_intr_enable(port_id_, 0) == 0 &&
           rte_eth_dev_rx_intr_disable(port_id_, 0) == 0 &&
           rte_eth_dev_rx_intr_ctl_q_get_fd(port_id_, 0) >= 0;
}

void NicDevice::close() {
    if (!open_)
        return;
    read_counters();
    open_ = false;
    rte_eth_dev_stop(port_id_);
    rte_eth_dev_info info{};
    const bool known = rte_eth_dev_info_get(port_id_, &info) == 0;
    rte_eth_dev_close(port_id_);
    if (plugged_ && known && info.device != nullptr)
        rte_dev_remove(info.device);
}

NumaNode NicDevice::numa_node() const {
    const int node = is_pci_address(settings_.device) ? rte_eth_dev_socket_id(port_id_) : -1;
    return node < 0 ? NumaNode() : NumaNode(static_cast<unsigned>(node));
}

std::uint64_t NicDevice::mac() const {
    rte_ether_addr address{};
    std::uint64_t bits = 0;
    if (rte_eth_macaddr_get(port_id_, &address) == 0)
        std::memcpy(&bits, address.addr_bytes, sizeof(address.addr_bytes));
    return bits;
}

void NicDevice::set_link(bool up) {
    if (!up && link_up())
        ++link_losses_;
    link_up_.store(up, std::memory_order_release);
}

bool NicDevice::poll_link() {
    read_counters();
    if (of_kernel_)
        return poll_kernel_link();
    rte_eth_link link{};
    const bool up = rte_eth_link_get_nowait(port_id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    link_fault_ = up ? "" : "the device has no link; look at its cable and its other end";
    set_link(up);
    return false;
}

/// Also when the interface was down for a moment only, between two polls: the kernel counts. One that the
/// device has made goes with it, and with it addresses and rules that others have given it: such a device
/// stays open.
bool NicDevice::poll_kernel_link() {
    const std::optional<KernelLink> link = read_kernel_link(interface_);
    if (!link)
        return false;
    std::string fault = link->fault(interface_);
    const bool makes = makes_kernel_interface(settings_.device);
    if (makes && link->index == 0)
        fault = "its interface " + interface_ +
                " was deleted; start the switch again, or remove the vNIC and add it again";
    const bool lost = !fault.empty() || link->losses != opened_with_.losses;
    stale_ = !makes &&
             (stale_ || link->index != opened_with_.index || (lost && keeps_old_frames(settings_.device)));
    set_link(open_ && !stale_ && fault.empty());
    if (open_ || !fault.empty())
        link_fault_ = std::move(fault);
    if (!stale_ || !link->running)
        return false;
    if (polls_to_retry_ == 0)
        return true;
    --polls_to_retry_;
    return false;
}

void NicDevice::reopen() {
    constexpr unsigned kPollsToRetry = 10;
    close();
    try {
        open();
    } catch (const HostError& error) {
        link_fault_ = error.what();
        polls_to_retry_ = kPollsToRetry;
    }
}

void NicDevice::read_counters() {
    rte_eth_stats stats{};
    if (!open_ || rte_eth_stats_get(port_id_, &stats) != 0)
        return;
    ring_full_.read(stats.imissed);
    no_buffer_.read(stats.rx_nombuf);
    unsent_.read(stats.oerrors);
}

std::uint64_t NicDevice::missed() {
    read_counters();
    return ring_full_.total() + no_buffer_.total();
}

std::uint64_t NicDevice::send_errors() {
    read_counters();
    return unsent_.total();
}

NicPort::~NicPort() {
    if (interrupts_ >= 0)
        wakeups_->remove(interrupts_);
}

void NicPort::serve(Wakeups* wakeups) {
    if (interrupts_ >= 0)
        wakeups_->remove(interrupts_);
    interrupts_ = -1;
    wakeups_ = device_.interrupts() ? wakeups : nullptr;
}

Port::Wake NicPort::ask_for_wake() {
    if (wakeups_ == nullptr)
        return Wake::kCannot;
    if (interrupts_ < 0) {
        const int file = rte_eth_dev_rx_intr_ctl_q_get_fd(port_, queue_);
        if (file < 0 || !wakeups_->add(file))
            return Wake::kCannot;
        interrupts_ = file;
    }
    return rte_eth_dev_rx_intr_enable(port_, queue_) == 0 ? Wake::kWill : Wake::kCannot;
}

void NicPort::forget_wake() {
    if (interrupts_ >= 0)
        rte_eth_dev_rx_intr_disable(port_, queue_);
}

std::uint16_t NicPort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    return kernel_ ? rx_from_kernel(frames, max) : rte_eth_rx_burst(port_, queue_, frames, max);
}

std::uint16_t NicPort::prepare(rte_mbuf** frames, std::uint16_t count) {
    return rte_eth_tx_prepare(kernel_ ? device_.port_id() : port_, queue_, frames, count);
}

std::uint16_t NicPort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    return kernel_ ? tx_to_kernel(frames, count) : rte_eth_tx_burst(port_, queue_, frames, count);
}

[[gnu::noinline]] std::uint16_t NicPort::rx_from_kernel(rte_mbuf** frames, std::uint16_t max) {
    if (!device_.link_up())
        return 0;
    const std::uint16_t count = rte_eth_rx_burst(device_.port_id(), queue_, frames, max);
    finish_kernel_checksums(frames, count);
    return count;
}

[[gnu::noinline]] std::uint16_t NicPort::tx_to_kernel(rte_mbuf** frames, std::uint16_t count) {
    return device_.link_up() ? rte_eth_tx_burst(device_.port_id(), queue_, frames, count) : 0;
}

}  // namespace weir
