// frame_fuzzer.cc - any bytes as frames with any offload metadata, from VMs and from the wire, through a
// fresh switch: classified, split and delivered; the sums hold and no buffer is lost.
//
// A frame is 10 bytes of head and its content: length (2), bytes per buffer, source, flags, l2, l3 and l4
// length, segment size (2).
#include <rte_mbuf.h>

#include <algorithm>

#include "test/fuzz/checks.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;

constexpr std::size_t kHeadBytes = 10;
constexpr std::size_t kFramesMax = 64;
constexpr std::uint64_t kFlags[] = {RTE_MBUF_F_TX_TCP_SEG,   RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM,
                                    RTE_MBUF_F_TX_UDP_CKSUM, RTE_MBUF_F_TX_IPV4,     RTE_MBUF_F_TX_IPV6,
                                    RTE_MBUF_F_RX_FDIR_ID};

/// A plain VM, one with all offloads, one whose super-frames are split before its limit, one in a VLAN that
/// bridges.
struct Switch {
    explicit Switch(RingNic& wire) : nic(wire), host({}, &nic) {
        VnicConfig limited = vm(3);
        limited.limit_bps = 900'000'000;
        VnicConfig bridge = vm(4);
        bridge.vlan = 10;
        bridge.anti_spoofing = false;
        for (const VnicConfig& config : {vm(1), vm(2), limited, bridge})
            host.add(config);
        host.port(1).taken = {.checksum = true, .tso = true};
    }
    RingNic& nic;
    SwitchHarness host;
};

rte_mbuf* read_frame(const std::uint8_t*& data, std::size_t& size, unsigned& source) {
    const std::uint8_t* head = data;
    const std::size_t bytes =
        std::clamp<std::size_t>(head[0] + head[1] * std::size_t{256}, 1, size - kHeadBytes);
    const std::uint8_t* content = data + kHeadBytes;
    rte_mbuf* frame = to_mbuf(buffer_pool(), FrameBytes(content, content + bytes), head[2]);
    source = head[3];
    for (std::size_t i = 0; i < std::size(kFlags); ++i)
        frame->ol_flags |= (head[4] >> i & 1) != 0 ? kFlags[i] : 0;
    frame->l2_len = head[5] & 0x7F;
    frame->l3_len = head[6];
    frame->l4_len = head[7];
    frame->tso_segsz = static_cast<std::uint16_t>(head[8] | head[9] << 8);
    if ((frame->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0)
        frame->hash.fdir.hi = head[5];
    data += kHeadBytes + bytes;
    size -= kHeadBytes + bytes;
    return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    buffer_pool();
    static RingNic nic;
    Switch target(nic);
    SwitchHarness& host = target.host;
    for (std::size_t frames = 0; frames < kFramesMax && size > kHeadBytes; ++frames) {
        unsigned source = 0;
        rte_mbuf* frame = read_frame(data, size, source);
        if (source % 5 == 4)
            target.nic.arrive(frame);
        else
            host.port(static_cast<VnicId>(source % 5)).offered.push_back(frame);
    }
    host.settle();
    for (int round = 0; round < 20; ++round) {
        host.run(1'000'000, 50'000);
        target.nic.drain();
    }
    for (VnicId id = 0; id < host.ids(); ++id) {
        host.port(id).drain();
        require(balanced(host.stats(id).from_vm), "every frame that a VM offered is accounted for");
        require(balanced(host.stats(id).to_vm), "every frame offered to a VM is accounted for");
        require(host.stats(id).from_vm.queued.packets == 0, "nothing waits for ever");
    }
    require(buffers_in_use() == 0, "no buffer is lost");
    return 0;
}
