// ring_nic.cc - two rte_rings per queue behind an ethdev.
#include "test/vswitch/datapath/loop/ring_nic.h"

#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <stdexcept>

#include "test/support/eal_fixture.h"

namespace weir::testing {
namespace {

rte_ring* make_ring(const std::string& name, unsigned frames) {
    rte_ring* ring = rte_ring_create(name.c_str(), frames, SOCKET_ID_ANY, RING_F_EXACT_SZ);
    if (ring == nullptr)
        throw std::runtime_error("no memory for a ring");
    return ring;
}

}  // namespace

RingNic::RingNic(std::uint16_t queues, unsigned ring_frames) {
    rte_mempool* pool = buffer_pool();
    static unsigned made = 0;
    const std::string id = "wire" + std::to_string(made++);
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        from_wire_.push_back(make_ring(id + "rx" + std::to_string(queue), ring_frames));
        to_wire_.push_back(make_ring(id + "tx" + std::to_string(queue), ring_frames));
    }
    if (rte_eth_from_rings(id.c_str(), from_wire_.data(), queues, to_wire_.data(), queues, 0) < 0)
        throw std::runtime_error("no net_ring device");
    name_ = "net_ring_" + id;
    NicSettings settings;
    settings.device = name_;
    settings.queues = queues;
    settings.owner = "uplink";
    device_ = std::make_unique<NicDevice>(settings, pool);
}

RingNic::~RingNic() {
    device_.reset();
    rte_vdev_uninit(name_.c_str());
    for (std::uint16_t queue = 0; queue < to_wire_.size(); ++queue) {
        drain(0, queue);
        for (void* frame = nullptr; rte_ring_dequeue(from_wire_[queue], &frame) == 0;)
            rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
        rte_ring_free(from_wire_[queue]);
        rte_ring_free(to_wire_[queue]);
    }
}

void RingNic::set_link(bool up) {
    if (up)
        rte_eth_dev_set_link_up(device_->port_id());
    else
        rte_eth_dev_set_link_down(device_->port_id());
    device_->poll_link();
}

void RingNic::arrive(rte_mbuf* frame, std::uint16_t queue) {
    if (rte_ring_enqueue(from_wire_[queue], frame) != 0)
        throw std::runtime_error("the NIC's receive ring is full");
}

std::vector<rte_mbuf*> RingNic::take(std::uint16_t queue) {
    std::vector<rte_mbuf*> frames;
    for (void* frame = nullptr; rte_ring_dequeue(to_wire_[queue], &frame) == 0;)
        frames.push_back(static_cast<rte_mbuf*>(frame));
    return frames;
}

std::uint64_t RingNic::drain(std::uint32_t overhead, std::uint16_t queue) {
    std::uint64_t bytes = 0;
    for (rte_mbuf* frame : take(queue)) {
        bytes += frame->pkt_len + overhead;
        rte_pktmbuf_free(frame);
    }
    return bytes;
}

}  // namespace weir::testing
